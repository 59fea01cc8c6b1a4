use std::{cell::Cell, sync::Arc};

use super::{
    View,
    analysis::Analysis,
    recall::{NEWEST, newest},
};
use crate::{
    FindTurns, Record, RecordKind, Result, Turn,
    recall::{
        Analyzer, Language,
        index::{Cache, Coverage, Sought, find, lost},
    },
    search::Finder,
};

/// So many of the newest turns are looked at before the index is asked: what is common is among them.
const LOOK: usize = 512;

/// The newest turns that have a text in them, by the index if it has words, else by looking at all.
pub(super) fn find_turns(
    view: &mut dyn View,
    query: &FindTurns,
    language: Language,
    cache: &Cache,
) -> Result<Vec<Turn>> {
    let finder = Finder::new(query)?;
    if query.limit == 0 {
        return Ok(Vec::new());
    }
    let Some(coverage) = usable(view, language)? else {
        return Ok(look(view, query, &finder, usize::MAX)?.0);
    };
    let (found, is_all) = look(view, query, &finder, LOOK)?;
    if is_all {
        return Ok(found);
    }
    match by_index(view, query, &finder, coverage, language, cache)? {
        Some(found) => Ok(found),
        None => Ok(look(view, query, &finder, usize::MAX)?.0),
    }
}

/// What the index of turns covers, if it has words and is not far behind.
fn usable(view: &dyn View, language: Language) -> Result<Option<Coverage>> {
    let Some(blobs) = view.index(RecordKind::Turn) else { return Ok(None) };
    let coverage = Coverage::get(&*blobs, language)?;
    let behind = view.last_number(RecordKind::Turn)?.saturating_sub(coverage.last);
    Ok(Some(coverage).filter(|coverage| coverage.has_words && behind <= NEWEST))
}

/// Looks at the newest turns, `most` of them at most. Returns what was found, and whether no more was
/// to be looked at.
fn look(
    view: &mut dyn View,
    query: &FindTurns,
    finder: &Finder<'_>,
    most: usize,
) -> Result<(Vec<Turn>, bool)> {
    let seen = Cell::new(0);
    // After the last, any turn ends it.
    let wanted = |role: &str, content: &str| {
        seen.set(seen.get() + 1);
        seen.get() > most || finder.matches(role, content)
    };
    let (mut found, mut is_all) = (Vec::new(), true);
    view.newest_turns(&query.scope, &wanted, &mut |turn| {
        if seen.get() > most {
            is_all = false;
            return Ok(false);
        }
        if finder.matches(&turn.role, &turn.content) {
            found.push(turn);
        }
        Ok(found.len() < query.limit)
    })?;
    Ok((found, is_all))
}

/// None if the index cannot tell.
fn by_index(
    view: &dyn View,
    query: &FindTurns,
    finder: &Finder<'_>,
    coverage: Coverage,
    language: Language,
    cache: &Cache,
) -> Result<Option<Vec<Turn>>> {
    let Some(blobs) = view.index(RecordKind::Turn) else { return Ok(None) };
    let mut analysis = Analysis::new(Arc::new(Analyzer::new(language)));
    analysis.has_words = true;
    let numbers = coverage.last + 1..view.last_number(RecordKind::Turn)? + 1;
    let Some(newest) = newest::<Turn>(view, &query.scope, numbers, &mut analysis)? else {
        return Ok(None);
    };
    let sought = Sought {
        text: &query.text,
        workspace: query.scope.workspace().map(crate::Workspace::as_str),
        role: query.role.as_deref(),
    };
    let mut found = Vec::new();
    let has_words = find(&*blobs, cache, &newest, &sought, &mut |number| {
        match view.numbered(RecordKind::Turn, number)? {
            Some(Record::Turn(turn)) if finder.matches(&turn.role, &turn.content) => {
                found.push(turn);
            }
            Some(_) => {}
            None => return Err(lost(RecordKind::Turn, number)),
        }
        Ok(found.len() < query.limit)
    })?;
    Ok(has_words.then_some(found))
}

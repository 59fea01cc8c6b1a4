use std::{ops::Range, sync::Arc};

use super::{
    View,
    analysis::{Analysis, MAX_BYTES},
};
use crate::{
    ErrorKind, Hit, RecallQuery, RecordKind, Result, Scope,
    recall::{
        Analyzer, Language, Ranked,
        index::{Blobs, Cache, Changes, Coverage, Eligible, Memory, Question, lost, search},
    },
    search::{Ranking, Recallable},
};

/// How many records, which the index has not come to, are read as they are, unless they take more memory
/// than [`MAX_BYTES`]. If there are more, all are.
pub(super) const NEWEST: u64 = 4_096;

/// Recall over one state of the store: by its index, if there is one for the question; else over all
/// records.
pub(super) fn recall<T: Recallable>(
    view: &mut dyn View,
    query: &RecallQuery,
    language: Language,
    cache: &Cache,
) -> Result<Vec<Hit<T>>> {
    let mut analysis = Analysis::new(Arc::new(Analyzer::new(language)));
    let Some(found) = by_index::<T>(view, query, &mut analysis, cache)? else {
        return by_scan(view, query, &analysis.analyzer);
    };
    let mut hits = Vec::with_capacity(found.len());
    for Ranked { key: number, score } in found {
        let record = view.numbered(T::KIND, number)?.and_then(T::of);
        let record = record.ok_or_else(|| lost(T::KIND, number))?;
        hits.push(Hit { score, record });
    }
    Ok(hits)
}

fn by_index<T: Recallable>(
    view: &dyn View,
    query: &RecallQuery,
    analysis: &mut Analysis,
    cache: &Cache,
) -> Result<Option<Vec<Ranked<u64>>>> {
    let Some(blobs) = view.index(T::KIND) else { return Ok(None) };
    if Question::new(query, T::KIND, None).is_none() {
        return Ok(None);
    }
    let coverage = Coverage::get(&*blobs, analysis.analyzer.language())?;
    let last = view.last_number(T::KIND)?;
    if last.saturating_sub(coverage.last) > NEWEST {
        return Ok(None);
    }
    let Some(newest) = newest::<T>(view, &query.scope, coverage.last + 1..last + 1, analysis)?
    else {
        return Ok(None);
    };
    // A filter of another kind of record is none.
    let session = match query.session.as_ref().filter(|_| T::KIND == RecordKind::Turn) {
        Some(session) => match view.number(RecordKind::Session, session.as_str())? {
            Some(number) => Some(number),
            None => return Ok(Some(Vec::new())),
        },
        None => None,
    };
    let Some(question) = Question::new(query, T::KIND, session) else { return Ok(None) };
    // What no field of the question tells is read from the record.
    let mut passes = |number| {
        let record = view.numbered(T::KIND, number)?.and_then(T::of);
        record.map(|record| record.passes(query)).ok_or_else(|| lost(T::KIND, number))
    };
    let eligible: Option<&mut Eligible<'_>> =
        if Question::lacks(query, T::KIND) { Some(&mut passes) } else { None };
    // What covers nothing may be an index of another language, or of another version.
    let blobs: &dyn Blobs = if coverage.last == 0 { &Memory::default() } else { &*blobs };
    search(blobs, cache, &newest, T::KIND, &question, &analysis.analyzer, eligible).map(Some)
}

/// An index of the records of `numbers`. None if it were too large, or if one cannot be read: whether it
/// concerns the query, a scan tells.
pub(super) fn newest<T: Recallable>(
    view: &dyn View,
    scope: &Scope,
    numbers: Range<u64>,
    analysis: &mut Analysis,
) -> Result<Option<Memory>> {
    let mut newest = Changes::default();
    for number in numbers {
        let record = match view.numbered(T::KIND, number) {
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
            record => record?.and_then(T::of),
        };
        if let Some(record) = record
            && scope.includes(record.workspace())
            && let Some(document) = analysis.document(view, number, &record)?
        {
            newest.add(document);
        }
        if newest.bytes() > MAX_BYTES {
            return Ok(None);
        }
    }
    Memory::of(T::KIND, newest).map(Some)
}

fn by_scan<T: Recallable>(
    view: &mut dyn View,
    query: &RecallQuery,
    analyzer: &Analyzer,
) -> Result<Vec<Hit<T>>> {
    let mut ranking = Ranking::<T>::new(query, analyzer);
    view.each(T::KIND, &query.scope, &mut |record| {
        ranking.add(record?);
        Ok(())
    })?;
    let mut hits = Vec::new();
    for Ranked { key, score } in ranking.finish() {
        if let Some(record) = T::read(view, &query.scope, &key)? {
            hits.push(Hit { score, record });
        }
    }
    Ok(hits)
}

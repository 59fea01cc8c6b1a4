use std::{ops::Range, sync::Arc};

use super::{
    blobs::{Blobs, BlobsMut},
    changes::Changes,
    draft::{Draft, put_all},
    loose::Loose,
    merge::Merge,
    root::Root,
    segment::{Name, Sign, page_keys},
    step::{Step, Work, are_listed, replace},
};
use crate::{RecordKind, Result, Timestamp};

/// How many segments of about one size there may be while commits come in.
const WIDTH: u64 = 8;

/// While nothing is to be done the newest segments are merged with the one before them if they are at
/// least this part of it.
const IDLE_PART: u64 = 8;

/// Segments of so many documents together are merged by the commit that makes them too many.
const AT_ONCE: u64 = 512;

/// A larger segment is merged only by [`Keeper::begin_all`].
const LARGEST: u64 = 1 << 22;

/// How many pages of segments that were merged are deleted in a step.
const PAGES: usize = 512;

/// Writes what a commit changes, in its transaction, and merges the smallest segments.
pub fn append(blobs: &mut dyn BlobsMut, kind: RecordKind, changes: &mut Changes) -> Result<()> {
    changes.take(kind).map_or(Ok(()), |draft| add(blobs, kind, draft))
}

/// Writes a new segment, and merges the smallest.
pub(super) fn add(blobs: &mut dyn BlobsMut, kind: RecordKind, draft: Draft) -> Result<()> {
    draft.put(blobs)?;
    let roots = Root::all(&*blobs)?;
    let small = roots.iter().rev().take_while(|root| root.size() <= AT_ONCE).count();
    let from = roots.len() - small;
    if let Some(run) = of_one_size(&roots[from..])
        && roots[from + run.start..].iter().map(|root| root.size()).sum::<u64>() <= AT_ONCE
    {
        let start = from + run.start;
        let mut merge = Merge::new(roots[start..].to_vec(), start == 0, kind);
        while !merge.step(&*blobs)? {}
        let (pages, root) = merge.end();
        put_all(blobs, &pages)?;
        replace(blobs, &roots[start..], root)?;
    }
    Ok(())
}

/// The newest segments, if it is time to merge them.
fn due(roots: &[Arc<Root>], is_idle: bool) -> Option<Range<usize>> {
    let large = roots.iter().rposition(|root| root.size() > LARGEST).map_or(0, |at| at + 1);
    let roots = &roots[large..];
    let run = of_one_size(roots).or_else(|| if is_idle { of_some_size(roots) } else { None })?;
    Some(large + run.start..large + run.end)
}

/// The newest segments, if [`WIDTH`] of them are of about one size.
fn of_one_size(roots: &[Arc<Root>]) -> Option<Range<usize>> {
    let level = |root: &Arc<Root>| root.size().max(1).ilog(WIDTH);
    let (mut highest, mut of_highest) = (0, 0);
    for (at, root) in roots.iter().enumerate().rev() {
        match level(root) {
            level if level > highest => (highest, of_highest) = (level, 1),
            level if level == highest => of_highest += 1,
            _ => {}
        }
        let is_last = at == 0 || level(&roots[at - 1]) > highest;
        if is_last && of_highest >= WIDTH {
            return Some(at..roots.len());
        }
    }
    None
}

/// The newest segments, if together they are large beside the one before them.
fn of_some_size(roots: &[Arc<Root>]) -> Option<Range<usize>> {
    let (mut from, mut newer) = (None, 0);
    for (at, root) in roots.iter().enumerate().rev() {
        if newer >= AT_ONCE && newer * IDLE_PART >= root.size() {
            from = Some(at);
        }
        newer += root.size();
    }
    from.map(|from| from..roots.len())
}

/// Merges segments in the background, step by step.
pub struct Keeper {
    kind: RecordKind,
    merge: Option<Merge>,
    /// A merge that was given up: its pages are to be deleted.
    given_up: Option<Name>,
}

impl Keeper {
    /// A keeper of the index of `kind`.
    #[must_use]
    pub fn new(kind: RecordKind) -> Self {
        Self { kind, merge: None, given_up: None }
    }

    /// Some milliseconds' work over one state of the map, if there is any to do. If nothing else is
    /// waiting to be done (`is_idle`), segments are merged that would be left alone otherwise. After a
    /// step that was not written [`reset`](Self::reset) is called.
    pub fn step(
        &mut self,
        blobs: &dyn Blobs,
        now: Timestamp,
        is_idle: bool,
    ) -> Result<Option<Step>> {
        if let Some(name) = self.given_up.take() {
            return Ok(Some(Step(Work::Abandon(name))));
        }
        if let Some(merge) = self.merge.take() {
            return self.go_on(blobs, merge).map(Some);
        }
        if let Some(name) = Loose::garbage(blobs, now.as_micros())? {
            let keys = page_keys(blobs, &name, PAGES)?;
            let is_all = keys.len() < PAGES;
            return Ok(Some(Step(Work::Delete { name, keys, is_all })));
        }
        let roots = Root::all(blobs)?;
        let Some(run) = due(&roots, is_idle) else { return Ok(None) };
        let is_oldest = run.start == 0;
        let merge = Merge::new(roots[run].to_vec(), is_oldest, self.kind);
        self.go_on(blobs, merge).map(Some)
    }

    /// From now on merges all there is: returns whether there is anything to merge. Whatever merge was
    /// under way is given up, whoever did it.
    pub fn begin_all(&mut self, blobs: &mut dyn BlobsMut) -> Result<bool> {
        Loose::give_up_all(blobs)?;
        let roots = Root::all(&*blobs)?;
        let has_removed = |root: &Arc<Root>| root.totals(Sign::Removes).documents > 0;
        let is_due = roots.len() > 1 || roots.iter().any(has_removed);
        self.merge = is_due.then(|| Merge::new(roots, true, self.kind));
        Ok(is_due)
    }

    /// Forgets what it was about: a step was not written.
    pub fn reset(&mut self) {
        let begun = self.merge.take().filter(|merge| merge.has_begun);
        self.given_up = begun.map(|merge| merge.name()).or(self.given_up);
    }

    fn go_on(&mut self, blobs: &dyn Blobs, mut merge: Merge) -> Result<Step> {
        let (name, is_first) = (merge.name(), !merge.has_begun);
        if !are_listed(&merge.roots, &Root::names(blobs)?) {
            // Somebody else was quicker.
            return Ok(Step(Work::Abandon(name)));
        }
        let is_over = merge.step(blobs)?;
        let roots = merge.roots.clone();
        let (pages, root) = if is_over {
            merge.end()
        } else {
            let pages = merge.take_pages();
            self.merge = Some(merge);
            (pages, None)
        };
        Ok(Step(Work::Merge { name, roots, is_first, pages, is_over, root }))
    }
}

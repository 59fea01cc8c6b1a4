use std::{ops::Range, sync::Arc};

use super::{
    blobs::{Blobs, BlobsMut},
    changes::Changes,
    merge::Merge,
    root::Root,
    segment::{Sign, delete_pages, first_page},
};
use crate::{RecordKind, Result, Timestamp};

/// How many segments of about one size there may be while commits come in.
const WIDTH: u64 = 8;

/// While nothing is to be done the newest segments are merged with the one before them if they are at
/// least this part of it.
const IDLE_PART: u64 = 8;

/// Segments of so many documents together are merged by the commit that makes them too many.
const AT_ONCE: u64 = 512;

/// A larger segment is merged only by [`Keeper::finish`].
const LARGEST: u64 = 1 << 22;

/// How many pages of segments that were merged are deleted in a step.
const PAGES: usize = 512;

/// How long a merge may rest before others take it for given up, in microseconds: whoever did it has
/// ended.
const GIVEN_UP: u64 = 10 * 60 * 1_000_000;

/// The first byte of the key of a segment that has pages but is not listed: yet, or any more.
const LOOSE: u8 = 2;

fn loose_key(name: &[u8; 16]) -> Vec<u8> {
    [&[LOOSE][..], name].concat()
}

/// Why a segment is loose.
#[derive(PartialEq, Eq)]
enum Loose {
    /// It was being written at this time, in microseconds since the epoch.
    Written(i64),
    /// It is to be deleted.
    Garbage,
}

impl Loose {
    fn put(&self, blobs: &mut dyn BlobsMut, name: &[u8; 16]) -> Result<()> {
        let value = match self {
            Self::Written(at) => at.to_le_bytes().to_vec(),
            Self::Garbage => Vec::new(),
        };
        blobs.put(&loose_key(name), &value)
    }

    fn read(value: &[u8]) -> Self {
        value.try_into().map_or(Self::Garbage, |at| Self::Written(i64::from_le_bytes(at)))
    }

    fn get(blobs: &dyn Blobs, name: &[u8; 16]) -> Result<Option<Self>> {
        Ok(blobs.get(&loose_key(name))?.map(|value| Self::read(&value)))
    }

    /// The first that is to be deleted.
    fn garbage(blobs: &dyn Blobs, now: i64) -> Result<Option<[u8; 16]>> {
        let mut found = None;
        blobs.scan(&[LOOSE]..&[LOOSE + 1], false, &mut |key, value| {
            let is_garbage = match Self::read(value) {
                Self::Garbage => true,
                Self::Written(at) => now.abs_diff(at) > GIVEN_UP,
            };
            found = key.last_chunk().copied().filter(|_| is_garbage);
            Ok(found.is_none())
        })?;
        Ok(found)
    }
}

/// Writes what a commit changes, in its transaction, and merges the smallest segments.
pub fn append(blobs: &mut dyn BlobsMut, kind: RecordKind, changes: &mut Changes) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    changes.write(blobs, kind)?;
    let roots = Root::all(&*blobs)?;
    let small = roots.iter().rev().take_while(|root| root.size() <= AT_ONCE).count();
    let from = roots.len() - small;
    if let Some(run) = of_one_size(&roots[from..])
        && roots[from + run.start..].iter().map(|root| root.size()).sum::<u64>() <= AT_ONCE
    {
        let start = from + run.start;
        let mut merge = Merge::new(roots[start..].to_vec(), start == 0, kind);
        while !merge.step(blobs)? {}
        end(blobs, merge)?;
    }
    Ok(())
}

/// Puts what was merged in the place of the old segments.
fn end(blobs: &mut dyn BlobsMut, merge: Merge) -> Result<()> {
    merge.end(blobs)?.iter().try_for_each(|root| let_go(blobs, root))
}

/// Leaves the pages of a segment that is no longer listed to be deleted.
pub(super) fn let_go(blobs: &mut dyn BlobsMut, root: &Root) -> Result<()> {
    if root.has_pages() { Loose::Garbage.put(blobs, &root.name) } else { Ok(()) }
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

/// Merges segments in the background: on the thread, and in the transactions, of whoever writes.
pub struct Keeper {
    kind: RecordKind,
    merge: Option<Merge>,
}

impl Keeper {
    /// A keeper of the index of `kind`.
    #[must_use]
    pub fn new(kind: RecordKind) -> Self {
        Self { kind, merge: None }
    }

    /// Does some milliseconds' work in the open transaction, if there is any to do: returns whether
    /// there was. After a rollback [`reset`](Self::reset) is called. If nothing else is waiting to be
    /// done (`is_idle`), segments are merged that would be left alone otherwise.
    pub fn step(
        &mut self,
        blobs: &mut dyn BlobsMut,
        now: Timestamp,
        is_idle: bool,
    ) -> Result<bool> {
        let now = now.as_micros();
        match self.merge.take() {
            Some(merge) => self.go_on(blobs, merge, now).map(|()| true),
            None => self.begin(blobs, now, is_idle),
        }
    }

    /// Whether [`step`](Self::step) would find something to do.
    pub fn is_due(&self, blobs: &dyn Blobs, now: Timestamp, is_idle: bool) -> Result<bool> {
        Ok(self.merge.is_some()
            || Loose::garbage(blobs, now.as_micros())?.is_some()
            || due(&Root::all(blobs)?, is_idle).is_some())
    }

    /// What every step changes in `blobs`, unless a merge is under way: then there is none.
    pub fn trace(&self, blobs: &dyn Blobs, now: Timestamp) -> Result<Option<Vec<u8>>> {
        if self.merge.is_some() {
            return Ok(None);
        }
        let mut trace: Vec<u8> = Root::all(blobs)?.iter().flat_map(|root| root.name).collect();
        if let Some(name) = Loose::garbage(blobs, now.as_micros())? {
            trace.extend_from_slice(&name);
            trace.extend(first_page(blobs, &name)?.into_iter().flatten());
        }
        Ok(Some(trace))
    }

    /// Begins to merge all there is, in the place of what it was about.
    pub fn begin_all(&mut self, blobs: &mut dyn BlobsMut, now: Timestamp) -> Result<()> {
        if let Some(merge) = self.merge.take() {
            Loose::Garbage.put(blobs, &merge.name())?;
        }
        let roots = Root::all(&*blobs)?;
        let has_removed = |root: &Arc<Root>| root.totals(Sign::Removes).documents > 0;
        if roots.len() > 1 || roots.iter().any(has_removed) {
            self.start(blobs, roots, true, now.as_micros())?;
        }
        Ok(())
    }

    /// Forgets what it was about: the transaction was rolled back.
    pub fn reset(&mut self) {
        self.merge = None;
    }

    fn begin(&mut self, blobs: &mut dyn BlobsMut, now: i64, is_idle: bool) -> Result<bool> {
        if let Some(name) = Loose::garbage(&*blobs, now)? {
            // First of all whoever still writes it must know.
            Loose::Garbage.put(blobs, &name)?;
            if delete_pages(blobs, &name, PAGES)? {
                blobs.delete(&loose_key(&name))?;
            }
            return Ok(true);
        }
        let roots = Root::all(&*blobs)?;
        let Some(run) = due(&roots, is_idle) else { return Ok(false) };
        let is_oldest = run.start == 0;
        self.start(blobs, roots[run].to_vec(), is_oldest, now)?;
        Ok(true)
    }

    fn start(
        &mut self,
        blobs: &mut dyn BlobsMut,
        roots: Vec<Arc<Root>>,
        is_oldest: bool,
        now: i64,
    ) -> Result<()> {
        let merge = Merge::new(roots, is_oldest, self.kind);
        Loose::Written(now).put(blobs, &merge.name())?;
        self.merge = Some(merge);
        Ok(())
    }

    fn go_on(&mut self, blobs: &mut dyn BlobsMut, mut merge: Merge, now: i64) -> Result<()> {
        let name = merge.name();
        let state = Loose::get(&*blobs, &name)?;
        if !matches!(state, Some(Loose::Written(_))) || !merge.is_possible(&Root::all(&*blobs)?) {
            // Another process was quicker.
            return Loose::Garbage.put(blobs, &name);
        }
        if merge.step(blobs)? {
            blobs.delete(&loose_key(&name))?;
            return end(blobs, merge);
        }
        Loose::Written(now).put(blobs, &name)?;
        self.merge = Some(merge);
        Ok(())
    }
}

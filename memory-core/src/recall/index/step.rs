use std::sync::Arc;

use super::{
    blobs::{Blobs, BlobsMut},
    changes::Changes,
    coverage::{Coverage, unlist_all},
    draft::{Draft, put_all},
    keeper::add,
    loose::{Loose, let_go},
    root::Root,
    segment::{Blob, Name},
};
use crate::{RecordKind, Result, Timestamp, recall::Language};

/// A bit of what keeps an index in step and in shape, worked out from one state of the map and written
/// in a later one: meanwhile others may commit. If what it was worked out from no longer holds, it is
/// refused.
pub struct Step(pub(super) Work);

/// Segments never change, so little can come between.
pub(super) enum Work {
    /// Records come in that the index had not come to.
    Extend {
        kind: RecordKind,
        /// What was kept of the coverage: any change to a record that is not covered changes it.
        before: Option<Vec<u8>>,
        coverage: Coverage,
        language: Language,
        /// Whether these are the first. An index of another version or language may be there.
        is_first: bool,
        draft: Option<Draft>,
    },
    /// Pages of the segment `name`, which comes in the place of `roots`.
    Merge {
        name: Name,
        roots: Vec<Arc<Root>>,
        is_first: bool,
        pages: Vec<Blob>,
        /// Whether these are the last pages, and then the root, unless nothing stays.
        is_over: bool,
        root: Option<Root>,
    },
    /// A merge is given up.
    Abandon(Name),
    /// Pages of a segment that is not listed go: whether that is all of them.
    Delete { name: Name, keys: Vec<Vec<u8>>, is_all: bool },
}

impl Step {
    /// The records up to `coverage` come in: those that `changes` adds, as the state of `blobs` has
    /// them. If they are the first (`is_first`), whatever is there goes.
    pub fn extend(
        blobs: &dyn Blobs,
        kind: RecordKind,
        language: Language,
        coverage: Coverage,
        is_first: bool,
        changes: &mut Changes,
    ) -> Result<Self> {
        Ok(Self(Work::Extend {
            kind,
            before: Coverage::kept(blobs)?,
            coverage,
            language,
            is_first,
            draft: changes.take(kind),
        }))
    }

    /// Whether the next step can be worked out before this one is written: it is part of a merge that is
    /// not over.
    pub fn goes_on(&self) -> bool {
        matches!(self.0, Work::Merge { is_over: false, .. })
    }

    /// What no other step has in common with this one, if it was written: else what is written is lost.
    /// None in the course of a merge.
    pub fn trace(&self) -> Option<Vec<u8>> {
        match &self.0 {
            Work::Extend { before, .. } => Some(before.clone().unwrap_or_default()),
            Work::Merge { is_first: false, .. } => None,
            Work::Merge { roots, .. } => Some(roots.iter().flat_map(|root| root.name).collect()),
            Work::Abandon(name) => Some(name.to_vec()),
            Work::Delete { name, keys, .. } => {
                Some([&name[..], keys.first().map_or(&[], Vec::as_slice)].concat())
            }
        }
    }

    /// Whether it brings in records; else it is a [`Keeper`](super::Keeper)'s.
    pub fn extends(&self) -> bool {
        matches!(self.0, Work::Extend { .. })
    }

    /// Writes it in the open transaction. False if it is refused: then the keeper that worked it out, if
    /// one did, is to be [`reset`](super::Keeper::reset).
    pub fn apply(self, blobs: &mut dyn BlobsMut, now: Timestamp) -> Result<bool> {
        match self.0 {
            Work::Extend { kind, before, coverage, language, is_first, draft } => {
                if Coverage::kept(&*blobs)? != before {
                    return Ok(false);
                }
                if is_first {
                    unlist_all(blobs)?;
                }
                coverage.put(blobs, language)?;
                draft.map_or(Ok(()), |draft| add(blobs, kind, draft))?;
            }
            Work::Merge { name, roots, is_first, pages, is_over, root } => {
                let is_ours = is_first || is_written(&*blobs, &name)?;
                if !is_ours || !are_listed(&roots, &Root::names(&*blobs)?) {
                    // Somebody else was quicker: another process, or a commit that merged small ones.
                    Loose::Garbage.put(blobs, &name)?;
                    return Ok(false);
                }
                put_all(blobs, &pages)?;
                if is_over {
                    Loose::forget(blobs, &name)?;
                    replace(blobs, &roots, root)?;
                } else {
                    Loose::Written(now.as_micros()).put(blobs, &name)?;
                }
            }
            Work::Abandon(name) => Loose::Garbage.put(blobs, &name)?,
            Work::Delete { name, keys, is_all } => {
                keys.iter().try_for_each(|key| blobs.delete(key))?;
                if is_all {
                    Loose::forget(blobs, &name)?;
                } else {
                    // If it was given up, whoever still writes it must know.
                    Loose::Garbage.put(blobs, &name)?;
                }
            }
        }
        Ok(true)
    }
}

/// Lists a new segment in the place of old ones, whose pages are left to be deleted.
pub(super) fn replace(
    blobs: &mut dyn BlobsMut,
    old: &[Arc<Root>],
    new: Option<Root>,
) -> Result<()> {
    for root in old {
        root.unlist(blobs)?;
        let_go(blobs, root)?;
    }
    new.map_or(Ok(()), |root| root.put(blobs))
}

fn is_written(blobs: &dyn Blobs, name: &Name) -> Result<bool> {
    Ok(matches!(Loose::get(blobs, name)?, Some(Loose::Written(_))))
}

/// Whether `roots` are still there, side by side, among `listed`, which is all there are.
pub(super) fn are_listed(roots: &[Arc<Root>], listed: &[Name]) -> bool {
    let names: Vec<Name> = roots.iter().map(|root| root.name).collect();
    listed.windows(names.len()).any(|run| run == names)
}

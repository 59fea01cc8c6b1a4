use super::{
    blobs::{Blobs, BlobsMut},
    root::Root,
    segment::Name,
};
use crate::Result;

/// The first byte of the key of a segment that has pages but is not listed: yet, or any more.
const LOOSE: u8 = 2;

/// What is kept of what is to be deleted.
const GARBAGE: &[u8] = &[];

/// How long a merge may rest before others take it for given up, in microseconds: whoever did it has
/// ended.
const GIVEN_UP: u64 = 10 * 60 * 1_000_000;

fn loose_key(name: &Name) -> Vec<u8> {
    [&[LOOSE][..], name].concat()
}

/// Why a segment is loose.
#[derive(PartialEq, Eq)]
pub(super) enum Loose {
    /// It was being written at this time, in microseconds since the epoch.
    Written(i64),
    /// It is to be deleted.
    Garbage,
}

impl Loose {
    pub(super) fn put(&self, blobs: &mut dyn BlobsMut, name: &Name) -> Result<()> {
        let value = match self {
            Self::Written(at) => at.to_le_bytes().to_vec(),
            Self::Garbage => GARBAGE.to_vec(),
        };
        blobs.put(&loose_key(name), &value)
    }

    fn read(value: &[u8]) -> Self {
        value.try_into().map_or(Self::Garbage, |at| Self::Written(i64::from_le_bytes(at)))
    }

    pub(super) fn get(blobs: &dyn Blobs, name: &Name) -> Result<Option<Self>> {
        Ok(blobs.get(&loose_key(name))?.map(|value| Self::read(&value)))
    }

    /// All that is loose is to be deleted.
    pub(super) fn give_up_all(blobs: &mut dyn BlobsMut) -> Result<()> {
        let mut keys = Vec::new();
        blobs.scan(&[LOOSE]..&[LOOSE + 1], false, &mut |key, _| {
            keys.push(key.to_vec());
            Ok(true)
        })?;
        keys.iter().try_for_each(|key| blobs.put(key, GARBAGE))
    }

    /// It is loose no more.
    pub(super) fn forget(blobs: &mut dyn BlobsMut, name: &Name) -> Result<()> {
        blobs.delete(&loose_key(name))
    }

    /// The first that is to be deleted.
    pub(super) fn garbage(blobs: &dyn Blobs, now: i64) -> Result<Option<Name>> {
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

/// Leaves the pages of a segment that is no longer listed to be deleted.
pub(super) fn let_go(blobs: &mut dyn BlobsMut, root: &Root) -> Result<()> {
    if root.has_pages() { Loose::Garbage.put(blobs, &root.name) } else { Ok(()) }
}

//! What a segment consists of, and the form of every blob: its bytes, and a checksum over the key and
//! them. So a blob that was damaged, or is under another's key, is told from one that is right.

use std::any::Any;

use super::segment::{Sign, Totals};
use crate::{Error, Result};

/// The kinds of pages of a part. Pages of a kind are numbered from 0.
///
/// | kind | what a page is |
/// |---|---|
/// | `Workspaces` | a [`Table`](super::table::Table) by workspace: the first ordinal of its documents, how many they are, their length, and whether the newest come first |
/// | `Directory` | a table of first ordinals and numbers of documents: by session, among added turns; by record, among removed ones |
/// | `Dictionary` | a table by term: [`Term`](super::postings::Term) |
/// | `Fence` | a table of the first keys of the pages of `Workspaces` (page 0), `Directory` (1) and `Dictionary` (2) |
/// | `Values` | [`ValuesBlock`](super::values::ValuesBlock) |
/// | `Lengths` | [`Lengths`](super::lengths::Lengths) |
/// | `Places` | [`Places`](super::places::Places), of turns |
/// | `Chunk` | [`Chunk`](super::postings::Chunk) |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Workspaces = 0,
    Directory = 1,
    Dictionary = 2,
    Fence = 3,
    Values = 4,
    Chunk = 5,
    Lengths = 6,
    Places = 7,
}

/// How large a page of a table or of postings becomes, in bytes, unless one row or block is larger. With
/// its key it fits into 4 KiB, of which redb takes twice as much for what is a bit larger. SQLite keeps it
/// in one page of its own and some of the room of another.
pub(super) const PAGE_BYTES: usize = 4_040;

/// Which page of a segment: what follows the segment's name in its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PageId(pub(super) [u8; 6]);

impl PageId {
    pub(super) fn new(sign: Sign, kind: Kind, number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([sign as u8, kind as u8, a, b, c, d])
    }
}

/// A page in the form that is read.
pub(super) trait Page: Any + Send + Sync + Sized {
    /// `totals` are those of the part that the page is of. None if the bytes are no such page.
    fn decode(bytes: Vec<u8>, totals: &Totals) -> Option<Self>;

    /// About how much memory it takes.
    fn bytes(&self) -> usize;
}

fn checksum(key: &[u8], bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

/// `bytes` as they are kept under `key`.
pub(super) fn seal(key: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
    let sum = checksum(key, &bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// What was sealed.
pub(super) fn open<'a>(key: &[u8], sealed: &'a [u8]) -> Result<&'a [u8]> {
    match sealed.split_last_chunk() {
        Some((bytes, sum)) if *sum == checksum(key, bytes) => Ok(bytes),
        _ => Err(corrupt(key)),
    }
}

/// The error for a blob that cannot be read.
pub(super) fn corrupt(key: &[u8]) -> Error {
    let name = data_encoding::HEXLOWER.encode(key);
    Error::corrupt("recall index", name, "the blob is damaged")
}

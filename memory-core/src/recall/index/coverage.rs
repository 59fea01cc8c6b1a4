use super::{
    blobs::{Blobs, BlobsMut},
    bytes::{Input, put_bytes, put_number},
    loose::let_go,
    page::{corrupt, open, seal},
    root::Root,
};
use crate::{Result, recall::Language};

/// The version of the analysis and of the format. An index of another is made anew.
const VERSION: u64 = 4;

/// The key of an index's coverage.
const KEY: &[u8] = &[3];

/// Which records are in an index: those up to a number, as far as they are in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The last number that was come to.
    pub last: u64,
    /// Whether it has the words that [`find`](super::find()) goes by.
    pub has_words: bool,
}

impl Coverage {
    /// Of the index in `blobs`: nothing if it is of another version or language.
    pub fn get(blobs: &dyn Blobs, language: Language) -> Result<Self> {
        let Some(sealed) = blobs.get(KEY)? else { return Ok(Self::default()) };
        let mut input = Input(open(KEY, &sealed)?);
        let mut read = || {
            let is_current = input.number()? == VERSION && input.text()? == language.as_str();
            let (last, has_words) = (input.number()?, input.byte()? == 1);
            Some(if is_current { Self { last, has_words } } else { Self::default() })
        };
        read().ok_or_else(|| corrupt(KEY))
    }

    /// Whether the index in `blobs` is of another language, or of a later version: somebody else's.
    pub fn is_foreign(blobs: &dyn Blobs, language: Language) -> Result<bool> {
        let Some(sealed) = blobs.get(KEY)? else { return Ok(false) };
        let mut input = Input(open(KEY, &sealed)?);
        let mut read = || {
            let (version, of) = (input.number()?, input.text()?);
            Some(version > VERSION || version == VERSION && of != language.as_str())
        };
        read().ok_or_else(|| corrupt(KEY))
    }

    /// What is kept of it, of whatever version and language.
    pub(super) fn kept(blobs: &dyn Blobs) -> Result<Option<Vec<u8>>> {
        blobs.get(KEY)
    }

    /// Keeps it, never in the same form again: so a [`Step`](super::Step) is refused that was worked out
    /// before. Whoever changes a record that is not covered keeps it anew. What an index of another
    /// version or language has is dropped when the first records come into this one.
    pub fn put(self, blobs: &mut dyn BlobsMut, language: Language) -> Result<()> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, VERSION);
        put_bytes(&mut bytes, language.as_str().as_bytes());
        put_number(&mut bytes, self.last);
        bytes.push(u8::from(self.has_words));
        bytes.extend_from_slice(uuid::Uuid::now_v7().as_bytes());
        blobs.put(KEY, &seal(KEY, bytes))
    }
}

/// Empties the index in `blobs`, which covers nothing from now on. A [`Keeper`](super::Keeper) deletes the
/// pages later.
pub fn clear(blobs: &mut dyn BlobsMut, language: Language) -> Result<()> {
    unlist_all(blobs)?;
    Coverage::default().put(blobs, language)
}

/// Takes out all segments.
pub(super) fn unlist_all(blobs: &mut dyn BlobsMut) -> Result<()> {
    for root in Root::all(&*blobs)? {
        root.unlist(blobs)?;
        let_go(blobs, &root)?;
    }
    Ok(())
}

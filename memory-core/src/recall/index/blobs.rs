use std::ops::Range;

use crate::Result;

/// What [`Blobs::scan`] calls with each pair: key and value. It returns whether to go on.
pub type Visit<'f> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'f;

/// The small ordered map that the index of one kind of record is kept in, as a snapshot or a
/// transaction sees it. Keys are ordered bytewise and at most [`MAX_KEY_BYTES`] long.
pub trait Blobs {
    /// The value under `key`.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `visit` with the pairs whose key is in `range` (the start included, the end not), in the
    /// order of keys or against it, until it returns false. `visit` does not use this map.
    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()>;

    /// Where each reading takes long, so that those that are wanted are to be told before. None by default.
    fn far(&self) -> Option<&dyn Far> {
        None
    }
}

/// A map that is far away. A search of it takes note of the keys that it will ask for; it ends with an
/// error where it lacks one. Then what was noted is read, all together, and it is run again.
pub trait Far {
    /// Takes note that the value under `key` will be asked for. Returns whether it is at hand already.
    fn want(&self, key: &[u8]) -> bool;

    /// Whether all is to be told now that may be needed, though most of it will not be.
    fn hurries(&self) -> bool;
}

/// [`Blobs`] in a transaction that writes.
pub trait BlobsMut: Blobs {
    /// Puts `value` under `key`, in the place of what is there.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Deletes what is under `key`; nothing may be.
    fn delete(&mut self, key: &[u8]) -> Result<()>;
}

/// The longest key, in bytes: a workspace (1 KiB) within a segment.
pub const MAX_KEY_BYTES: usize = 1_024 + 32;

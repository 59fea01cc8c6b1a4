use std::{ops::Range, path::Path};

use memkeep_core::{BackendInfo, Error, ErrorKind, Result, verify::Problem};

/// The longest key that is ever written, in bytes.
pub const MAX_KEY_BYTES: usize = 3_076;

/// What [`Snapshot::scan`] calls with each pair: key and value. It returns whether to go on.
pub type Visit<'f> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'f;

/// An ordered map from byte strings to byte strings, with snapshots and atomic writes.
///
/// To ensure correctness:
///
/// - Keys are ordered bytewise, as slices are in Rust. They are 1 to [`MAX_KEY_BYTES`] bytes long,
///   the first byte below `0xFF`; values may be empty, and as large as the largest batch
///   ([`MAX_BATCH_BYTES`](memkeep_core::bounds::MAX_BATCH_BYTES)) and a few bytes more.
/// - The whole of the map is memkeep's. An engine that shares a file with something else opens a
///   table, a partition or a column family of its own.
/// - There is at most one [`Transaction`] at a time, and nothing else writes: an engine whose file
///   others could write to meanwhile keeps them out while it is open, and says
///   [`AlreadyOpen`](ErrorKind::AlreadyOpen) to whoever comes second.
/// - Snapshots are taken and dropped by any number of threads, while a transaction is open too.
///   Neither waits for the other.
///
/// Errors keep their cause ([`Error::caused_by`]) and have the kind that tells what to do about them:
/// `StorageFull`, `ReadOnly`, `AlreadyOpen`, `Corrupt`, `Unavailable`; else `Unexpected`. They hold
/// no keys and no values, which are content.
pub trait OrderedEngine: Send + Sync + 'static {
    /// What [`snapshot`](Self::snapshot) returns; it may borrow from the engine.
    type Snapshot<'e>: Snapshot;

    /// What [`begin`](Self::begin) returns: [`Overlay`](crate::Overlay), or the engine's own, where
    /// that can move to another thread and outlive the borrow of the engine.
    type Transaction: Transaction + Send + 'static;

    /// What kind of store it is.
    fn info(&self) -> BackendInfo;

    /// The state of the last commit, which stays as it is however much is committed meanwhile.
    fn snapshot(&self) -> Result<Self::Snapshot<'_>>;

    /// Begins to write upon the state of the last commit.
    fn begin(&self) -> Result<Self::Transaction>;

    /// What the store takes on its medium, in bytes, if it has one.
    fn bytes(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Looks for damage to what the engine itself needs, which no read of a pair may meet. Called by
    /// `verify` with `repair`, which repairs nothing then, and by `compact`, which refuses; while a
    /// transaction is open that has written nothing.
    fn inspect(&self) -> Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Gives the space of deleted pairs back. Called while no transaction is open; snapshots may be.
    fn compact(&self) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "this backend has no compact"))
    }

    /// Writes a consistent copy of the store to a new file, which is not there yet. Called while no
    /// transaction is open.
    fn backup(&self, path: &Path) -> Result<()> {
        let _ = path;
        Err(Error::new(ErrorKind::Unsupported, "this backend has no backup"))
    }
}

/// Reads of one state of the map.
pub trait Snapshot {
    /// The value under `key`.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// Calls `visit` with the pairs whose key is in `range` (the start included, the end not), in
    /// the order of keys or against it, until `visit` returns false or an error, which is returned.
    ///
    /// `range.start` is below `range.end`. `visit` does not use this snapshot: tables may be held
    /// open during the scan.
    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()>;
}

/// Writes that happen all together or not at all. Its reads see its writes. Dropping it takes all of
/// them back.
pub trait Transaction: Snapshot {
    /// Puts `value` under `key`, in the place of what is there.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Deletes what is under `key`; nothing may be.
    fn delete(&mut self, key: &[u8]) -> Result<()>;

    /// Makes the writes visible to snapshots taken from now on, durably at the level that
    /// [`OrderedEngine::info`] declares. After an error nothing has been written.
    fn commit(self) -> Result<()>;
}

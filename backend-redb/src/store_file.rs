use std::{
    fs, io,
    ops::Bound,
    path::Path,
    sync::{
        Mutex, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use memkeep_core::{
    Result,
    embedded::file::{self, Identity},
};
use redb::{BackendError, StorageBackend, backends::FileBackend};

use crate::error::failed;

/// What a redb database begins with.
const MAGIC: [u8; 9] = *b"redb\x1a\x0a\xa9\x0d\x0a";

/// The longest file that may be one which was only begun: redb begins with less.
const LONGEST_BEGUN: u64 = 16 << 20;

type Range = (Bound<u64>, Bound<u64>);

/// How much is written at once when all is written again, in bytes.
const PIECE: usize = 1 << 20;

/// The file of an open store, locked against other openers until this is dropped. One database after
/// another is opened over it, through a [`Medium`](crate::medium::Medium) each.
#[derive(Debug)]
pub(crate) struct StoreFile {
    pub(crate) storage: Box<dyn StorageBackend>,
    /// Whether it can be written. One that cannot is locked together with others that read it.
    pub(crate) is_writable: bool,
    /// How long it is, as far as this handle has read and written it.
    bytes: RwLock<u64>,
    /// Whether a sync failed: what has been written since the last may be lost although the system
    /// reads it back, and no later sync would tell.
    sync_failed: AtomicBool,
    /// Whether that is still so: what is read back has not been written once more.
    may_be_lost: AtomicBool,
    locks: Mutex<Vec<Range>>,
}

impl StoreFile {
    pub(crate) fn new(storage: impl StorageBackend, is_writable: bool) -> io::Result<Self> {
        let bytes = RwLock::new(storage.len()?);
        Ok(Self {
            storage: Box::new(storage),
            is_writable,
            bytes,
            sync_failed: AtomicBool::new(false),
            may_be_lost: AtomicBool::new(false),
            locks: Mutex::default(),
        })
    }

    /// Opens the file in `path`, and makes it if it may be written and is not there.
    pub(crate) fn open(path: &Path, read_only: bool) -> Result<(Self, Identity)> {
        let failed_there = |e| file::failed(e, path);
        let mut options = fs::OpenOptions::new();
        options.read(true);
        let (file, is_writable) = if read_only {
            (options.open(path), false)
        } else {
            match options.clone().write(true).create(true).truncate(false).open(path) {
                Err(error) if is_refused(&error) && path.exists() => (options.open(path), false),
                opened => (opened, true),
            }
        };
        let file = file.map_err(failed_there)?;
        let found = file.metadata().map_err(failed_there)?;
        if found.len() == 0 && is_writable {
            file::keep_name(path)?;
        }
        let storage = FileBackend::new(file).map_err(failed)?;
        let file = Self::new(storage, is_writable).map_err(failed_there)?;
        Ok((file, Identity::of(&found)))
    }

    /// How much of it counts: nothing of a file that whoever made it did not come to fill, which has
    /// only zeros.
    pub(crate) fn visible(&self) -> io::Result<u64> {
        let bytes = self.storage.len()?;
        let mut start = [0; MAGIC.len()];
        if bytes > LONGEST_BEGUN || bytes < start.len() as u64 {
            return Ok(bytes);
        }
        self.storage.read(0, &mut start)?;
        if start != [0; MAGIC.len()] {
            return Ok(bytes);
        }
        let mut all = vec![0; usize::try_from(bytes).unwrap_or_default()];
        self.storage.read(0, &mut all)?;
        Ok(if all.iter().all(|byte| *byte == 0) { 0 } else { bytes })
    }

    pub(crate) fn has_failed_to_sync(&self) -> bool {
        self.sync_failed.load(Ordering::Acquire)
    }

    pub(crate) fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut known = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        self.storage.set_len(bytes)?;
        *known = bytes;
        Ok(())
    }

    /// How long the file is; it stays so while the answer is held.
    pub(crate) fn bytes(&self) -> RwLockReadGuard<'_, u64> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        let synced = self.storage.sync_data();
        if synced.is_err() {
            self.sync_failed.store(true, Ordering::Release);
            self.may_be_lost.store(true, Ordering::Release);
            // If it does not help now, it may when the file is closed.
            let _ = self.write_again();
        }
        synced
    }

    /// After a failed sync, writes all that is read back once more, and syncs that: whoever opens the
    /// file next goes by what is read back, and would build upon what is not on the medium.
    fn write_again(&self) -> io::Result<()> {
        if !self.may_be_lost.load(Ordering::Acquire) {
            return Ok(());
        }
        let bytes = self.storage.len()?;
        let mut piece = vec![0; PIECE];
        let mut offset = 0;
        while offset < bytes {
            let length = usize::try_from(bytes - offset).unwrap_or(PIECE).min(PIECE);
            self.storage.read(offset, &mut piece[..length])?;
            self.storage.write(offset, &piece[..length])?;
            offset += length as u64;
        }
        self.storage.sync_data()?;
        self.may_be_lost.store(false, Ordering::Release);
        Ok(())
    }

    /// Takes a lock, unless an earlier database over this file has taken it.
    pub(crate) fn try_lock(&self, range: Range) -> Result<bool, BackendError> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if locks.contains(&range) {
            return Ok(true);
        }
        let is_taken = if self.is_writable {
            self.storage.try_lock_range(range.0, range.1)?
        } else {
            self.storage.try_lock_shared_range(range.0, range.1)?
        };
        if is_taken {
            locks.push(range);
        }
        Ok(is_taken)
    }

    pub(crate) fn unlock(&self, range: Range) -> Result<(), BackendError> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        self.storage.unlock_range(range.0, range.1)?;
        locks.retain(|held| *held != range);
        Ok(())
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // Nobody is left to be told; the locks go with the file.
        let _ = self.write_again();
        let _ = self.storage.close();
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard},
};

use crate::{
    log::{Entry, Log},
    tables::Tables,
};
use memkeep_core::{
    Clock, Error, Receipt, Result,
    decide::{Prepared, decide},
};

/// An open store. Its methods block.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    /// Whoever holds this is the one who writes. None once the store is closed.
    log: Mutex<Option<Log>>,
    /// What reads see: the state of the last commit. Locked for writing only while a commit that is
    /// already durable is applied, so that no reader waits for the disk. None once closed.
    tables: RwLock<Option<Tables>>,
}

impl Shared {
    pub(crate) fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let (log, tables) = Log::open(path)?;
        Ok(Self { clock, log: Mutex::new(Some(log)), tables: RwLock::new(Some(tables)) })
    }

    fn log(&self) -> MutexGuard<'_, Option<Log>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tables(&self) -> RwLockWriteGuard<'_, Option<Tables>> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Tables) -> Result<T>) -> Result<T> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        read(tables.as_ref().ok_or_else(Error::closed)?)
    }

    /// Load, decide, apply: to the log first, then to the tables.
    pub(crate) fn commit(&self, prepared: &Prepared) -> Result<Receipt> {
        let mut log = self.log();
        let log = log.as_mut().ok_or_else(Error::closed)?;
        let needs = prepared.needs();
        let (loaded, at) = self.read(|tables| Ok((tables.load(&needs), tables.next)))?;
        let decision = decide(prepared, loaded, self.clock.now())?;
        let entry = Entry { at, changes: decision.changes };
        if !entry.changes.is_empty() {
            log.append(&entry)?;
            if let Some(tables) = self.tables().as_mut() {
                entry.apply(tables);
            }
        }
        Ok(decision.receipt)
    }

    pub(crate) fn compact(&self) -> Result<()> {
        let mut log = self.log();
        let log = log.as_mut().ok_or_else(Error::closed)?;
        self.read(|tables| log.compact(tables))
    }

    /// Lets go of the file and of all that was read from it, when the commit at hand is done.
    pub(crate) fn close(&self) {
        let mut log = self.log();
        *log = None;
        *self.tables() = None;
    }
}

//! The in-memory engine, so that its map outlives a handle, serves several, and can be broken.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex as StdMutex,
        atomic::{AtomicBool, Ordering},
    },
};

use memkeep_conformance::Damage;
use memkeep_core::{BackendInfo, Durability, Error, ErrorKind, Result, Sharing};
use memkeep_inmem::{InmemMap, InmemSnapshot, InmemTransaction};
use memkeep_kv::{OrderedEngine, Snapshot, Transaction, Visit, test_util};
use tokio::sync::{Mutex, OwnedMutexGuard};

#[derive(Clone, Default)]
pub(crate) struct SharedMap {
    map: InmemMap,
    write: Arc<Mutex<()>>,
    broken: Arc<AtomicBool>,
    /// The folder of its place, in which nothing is kept.
    pub(crate) folder: PathBuf,
    /// What the keys of the last commit held before it.
    before: Arc<StdMutex<Vec<Pair>>>,
}

type Pair = (Vec<u8>, Option<Vec<u8>>);

/// What is in the file that a backup writes, as JSON.
pub(crate) type Copied = Vec<(Vec<u8>, Vec<u8>)>;

pub(crate) fn read_copy(path: &Path) -> Copied {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

pub(crate) fn write_copy(path: &Path, pairs: &Copied) {
    fs::write(path, serde_json::to_vec(pairs).unwrap()).unwrap();
}

/// Writing fails until this is dropped.
pub(crate) struct Fault(Arc<AtomicBool>);

impl Drop for Fault {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

impl SharedMap {
    pub(crate) fn break_writes(&self) -> Fault {
        self.broken.store(true, Ordering::SeqCst);
        Fault(self.broken.clone())
    }

    /// An empty map, at a place with this folder.
    pub(crate) fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// What a backup wrote.
    pub(crate) fn of_copy(path: &Path) -> Self {
        let copy = Self::default();
        let mut transaction = copy.map.begin().unwrap();
        for (key, value) in read_copy(path) {
            transaction.put(&key, &value).unwrap();
        }
        transaction.commit().unwrap();
        copy
    }

    pub(crate) fn damage(&self, damage: &Damage) -> Result<()> {
        match damage {
            Damage::Undecodable(record) => test_util::spoil(&self.map, record),
            Damage::Altered(record) => test_util::alter(&self.map, record),
        }
    }

    /// Loses the last commit that changed anything.
    pub(crate) fn lose_last(&self) {
        let mut transaction = self.map.begin().unwrap();
        for (key, value) in self.before.lock().unwrap().drain(..).rev() {
            match value {
                Some(value) => transaction.put(&key, &value).unwrap(),
                None => transaction.delete(&key).unwrap(),
            }
        }
        transaction.commit().unwrap();
    }
}

/// A transaction that keeps other handles out.
pub(crate) struct Locked {
    transaction: InmemTransaction,
    before: Vec<Pair>,
    last: Arc<StdMutex<Vec<Pair>>>,
    _guard: OwnedMutexGuard<()>,
}

impl Locked {
    fn remember(&mut self, key: &[u8]) -> Result<()> {
        let value = self.transaction.get(key)?;
        self.before.push((key.to_owned(), value));
        Ok(())
    }
}

impl OrderedEngine for SharedMap {
    type Snapshot<'e> = InmemSnapshot;
    type Transaction = Locked;

    fn info(&self) -> BackendInfo {
        BackendInfo::new("shared map", Durability::Process, Sharing::Machine)
    }
    fn snapshot(&self) -> Result<InmemSnapshot> {
        self.map.snapshot()
    }
    fn begin(&self) -> Result<Locked> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "the store is broken"));
        }
        let guard = self.write.clone().blocking_lock_owned();
        Ok(Locked {
            transaction: self.map.begin()?,
            before: Vec::new(),
            last: self.before.clone(),
            _guard: guard,
        })
    }
    fn compact(&self) -> Result<()> {
        self.map.compact()
    }
    fn backup(&self, path: &Path) -> Result<()> {
        let mut pairs: Copied = Vec::new();
        self.map.snapshot()?.scan(&[0][..]..&[0xFF][..], false, &mut |key, value| {
            pairs.push((key.to_vec(), value.to_vec()));
            Ok(true)
        })?;
        let refused = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => Error::new(ErrorKind::Conflict, "a file is there"),
            _ => Error::new(ErrorKind::Unavailable, "no file").caused_by(error),
        };
        File::create_new(path).map_err(refused)?;
        write_copy(path, &pairs);
        Ok(())
    }
}

impl Snapshot for Locked {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.transaction.get(key)
    }
    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        self.transaction.scan(range, reverse, visit)
    }
}

impl Transaction for Locked {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.remember(key)?;
        self.transaction.put(key, value)
    }
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.remember(key)?;
        self.transaction.delete(key)
    }
    fn commit(self) -> Result<()> {
        self.transaction.commit()?;
        if !self.before.is_empty() {
            *self.last.lock().unwrap() = self.before;
        }
        Ok(())
    }
}

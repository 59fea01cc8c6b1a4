use std::{
    ops::{Bound, Range},
    sync::{Arc, PoisonError, RwLock},
};

use memkeep_core::{BackendInfo, Durability, Result, Sharing};
use memkeep_kv::{OrderedEngine, Snapshot, Transaction, Visit};
use rpds::RedBlackTreeMapSync;

type Map = RedBlackTreeMapSync<Box<[u8]>, Box<[u8]>>;

/// An [`OrderedEngine`] over a persistent ordered map; its clones are the same map.
#[derive(Clone, Debug, Default)]
pub struct InmemMap {
    /// The state of the last commit. The lock is held to copy a pointer, never to read or write.
    committed: Arc<RwLock<Map>>,
}

impl InmemMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    fn committed(&self) -> Map {
        self.committed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl OrderedEngine for InmemMap {
    type Snapshot<'e> = InmemSnapshot;
    type Transaction = InmemTransaction;

    fn info(&self) -> BackendInfo {
        BackendInfo::new("inmem", Durability::Volatile, Sharing::Handle)
    }

    fn snapshot(&self) -> Result<InmemSnapshot> {
        Ok(InmemSnapshot(self.committed()))
    }

    fn begin(&self) -> Result<InmemTransaction> {
        Ok(InmemTransaction {
            map: InmemSnapshot(self.committed()),
            committed: self.committed.clone(),
        })
    }

    /// The map holds nothing of what was deleted, so there is nothing to give back.
    fn compact(&self) -> Result<()> {
        Ok(())
    }
}

/// One state of an [`InmemMap`].
#[derive(Debug)]
pub struct InmemSnapshot(Map);

impl Snapshot for InmemSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).map(|value| value.to_vec()))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
        let mut pairs = self.0.range::<[u8], _>(bounds);
        while let Some((key, value)) = if reverse { pairs.next_back() } else { pairs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

/// A version of an [`InmemMap`] that its commit puts in the place of the last.
#[derive(Debug)]
pub struct InmemTransaction {
    map: InmemSnapshot,
    committed: Arc<RwLock<Map>>,
}

impl Snapshot for InmemTransaction {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.map.get(key)
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        self.map.scan(range, reverse, visit)
    }
}

impl Transaction for InmemTransaction {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.map.0.insert_mut(key.into(), value.into());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.map.0.remove_mut(key);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        let mut committed = self.committed.write().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *committed, self.map.0);
        // What only the last version held may be much: it is freed after the lock is.
        drop(committed);
        drop(last);
        Ok(())
    }
}

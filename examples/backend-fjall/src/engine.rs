use std::{ops::Range, path::Path};

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use memkeep_core::{BackendInfo, Durability, Result, Sharing};
use memkeep_kv::{Changes, OrderedEngine, Overlay, Snapshot, Visit};

use crate::error::failed;

/// An ordered map from bytes to bytes: one keyspace of a fjall database that is memkeep's alone.
pub struct FjallEngine {
    database: Database,
    keys: Keyspace,
}

impl FjallEngine {
    /// Opens the database in the folder `path`, or makes it.
    pub fn open(path: &Path) -> Result<Self> {
        let database = Database::builder(path).open().map_err(failed)?;
        let keys = database.keyspace("memkeep", KeyspaceCreateOptions::default).map_err(failed)?;
        Ok(Self { database, keys })
    }
}

impl OrderedEngine for FjallEngine {
    type Snapshot<'e> = FjallSnapshot;
    type Transaction = Overlay<FjallSnapshot>;

    fn info(&self) -> BackendInfo {
        BackendInfo::new("fjall", Durability::Power, Sharing::Handle)
    }

    fn snapshot(&self) -> Result<FjallSnapshot> {
        Ok(FjallSnapshot { state: self.database.snapshot(), keys: self.keys.clone() })
    }

    /// fjall has atomic batches that do not read, and transactions that borrow: the overlay reads
    /// its own writes and becomes one batch at its commit.
    fn begin(&self) -> Result<Overlay<FjallSnapshot>> {
        let (database, keys) = (self.database.clone(), self.keys.clone());
        let store = move |changes| store(&database, &keys, changes);
        Ok(Overlay::new(self.snapshot()?, store))
    }

    fn bytes(&self) -> Result<Option<u64>> {
        self.database.disk_space().map(Some).map_err(failed)
    }
}

/// Writes all changes or none, and returns when they are on the disk.
fn store(database: &Database, keys: &Keyspace, changes: Changes) -> Result<()> {
    let mut batch = database.batch().durability(Some(PersistMode::SyncAll));
    for (key, value) in changes {
        match value {
            Some(value) => batch.insert(keys, key, value),
            None => batch.remove(keys, key),
        }
    }
    batch.commit().map_err(failed)
}

/// One state of a [`FjallEngine`].
pub struct FjallSnapshot {
    state: fjall::Snapshot,
    keys: Keyspace,
}

impl Snapshot for FjallSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let value = self.state.get(&self.keys, key).map_err(failed)?;
        Ok(value.map(|value| value.to_vec()))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let mut pairs = self.state.range(&self.keys, range);
        while let Some(pair) = if reverse { pairs.next_back() } else { pairs.next() } {
            let (key, value) = pair.into_inner().map_err(failed)?;
            if !visit(&key, &value)? {
                break;
            }
        }
        Ok(())
    }
}

//! The contract, clause by clause.

use std::{path::Path, sync::Arc};

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Result};
use memkeep_kv::test_util;
use memkeep_redb::{RedbConfig, RedbEngine};

struct Redb;

#[async_trait::async_trait]
impl Factory for Redb {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let config = RedbConfig::new(place.path().join("memory.redb")).clock(clock);
        Ok(Handle::new(Arc::new(config.open().await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().kill().damage().copy()
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        let engine = RedbEngine::open(RedbConfig::new(place.path().join("memory.redb")))?;
        match damage {
            Damage::Undecodable(record) => test_util::spoil(&engine, record),
            Damage::Altered(record) => test_util::alter(&engine, record),
        }
    }

    async fn open_copy(&self, path: &Path, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(RedbConfig::new(path).clock(clock).open().await?)))
    }
}

memkeep_conformance::suite!(
    Redb,
    lacks_second_handle = "one process has the file, by one handle",
    lacks_faults = "what hinders a write from outside, such as a full disk, cannot be made without \
                    the system's help; the backend's own tests inject it below redb",
);

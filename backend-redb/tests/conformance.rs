//! The contract, clause by clause.

use std::sync::Arc;

use memkeep_conformance::{Abilities, Factory, Handle, Place};
use memkeep_core::{Clock, Result};
use memkeep_redb::RedbConfig;

struct Redb;

#[async_trait::async_trait]
impl Factory for Redb {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let config = RedbConfig::new(place.path().join("memory.redb")).clock(clock);
        Ok(Handle::new(Arc::new(config.open().await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().kill()
    }
}

memkeep_conformance::suite!(
    Redb,
    lacks_second_handle = "one process has the file, by one handle",
    lacks_faults = "what hinders a write from outside, such as a full disk, cannot be made without \
                    the system's help; the backend's own tests inject it below redb",
);

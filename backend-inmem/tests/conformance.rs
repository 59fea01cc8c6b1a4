//! The contract, clause by clause.

use std::sync::Arc;

use memkeep_conformance::{Factory, Handle, Place};
use memkeep_core::{Clock, Result};
use memkeep_inmem::InmemConfig;

struct Inmem;

#[async_trait::async_trait]
impl Factory for Inmem {
    async fn open(&self, _: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(InmemConfig::new().clock(clock).open().await?)))
    }
}

memkeep_conformance::suite!(
    Inmem,
    lacks_reopen = "volatile",
    lacks_second_handle = "one handle has the map for itself",
    lacks_kill = "volatile",
    lacks_faults = "a map does not fail",
);

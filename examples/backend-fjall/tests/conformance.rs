//! The contract, clause by clause.

use std::sync::Arc;

use memkeep_conformance::{Abilities, Factory, Handle, Place};
use memkeep_core::{Clock, Result, embedded::EmbeddedOptions};

struct Fjall;

#[async_trait::async_trait]
impl Factory for Fjall {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let mut options = EmbeddedOptions::default();
        options.clock = clock;
        let store = example_backend_fjall::open(place.path().join("memory"), options).await?;
        Ok(Handle::new(Arc::new(store)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().kill()
    }
}

memkeep_conformance::suite!(
    Fjall,
    lacks_second_handle = "fjall locks its folder",
    lacks_faults = "a write that failed poisons a fjall database until it is opened again",
);

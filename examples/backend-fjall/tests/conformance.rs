//! The contract, clause by clause.

use std::sync::Arc;

use example_backend_fjall::FjallEngine;
use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Result, embedded::EmbeddedOptions};
use memkeep_kv::test_util;

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
        Abilities::new().reopen().kill().damage()
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        let engine = FjallEngine::open(&place.path().join("memory"))?;
        match damage {
            Damage::Undecodable(record) => test_util::spoil(&engine, record),
            Damage::Altered(record) => test_util::alter(&engine, record),
        }
    }
}

memkeep_conformance::suite!(
    Fjall,
    lacks_second_handle = "fjall locks its folder",
    lacks_faults = "a write that failed poisons a fjall database until it is opened again",
    lacks_copy = "fjall writes no copies",
);

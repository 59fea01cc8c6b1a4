//! The contract, clause by clause.

use std::sync::Arc;

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Result};

mod support;

struct Postgres;

#[async_trait::async_trait]
impl Factory for Postgres {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(support::open(place, clock).await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().second_handle().kill().faults().damage()
    }

    async fn destroy(&self, place: &Place) -> Result<()> {
        support::destroy(place).await
    }

    /// Another client locks the tables.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        support::break_writes(place).await
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        support::damage(place, damage).await
    }
}

memkeep_postgres_testing::suite!(
    Postgres,
    lacks_copy = "a server is copied with pg_dump or pg_basebackup",
);

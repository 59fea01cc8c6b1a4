//! The contract, clause by clause, through `PgBouncer` in transaction mode.

use std::sync::Arc;

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Result};
use memkeep_postgres_testing::Pooler;

mod support;

struct Pooled;

#[async_trait::async_trait]
impl Factory for Pooled {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        support::socket(place).await?;
        // The child of a crash clause has the pooler of another process.
        let pooler = support::remembered(place, "pooler", async || {
            Ok(Pooler::shared().socket().display().to_string())
        })
        .await?;
        Ok(Handle::new(Arc::new(support::open_at(&pooler, place, clock).await?)))
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

memkeep_postgres_testing::pooled_suite!(
    Pooled,
    lacks_copy = "a server is copied with pg_dump or pg_basebackup",
);

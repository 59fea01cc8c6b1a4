//! The contract, clause by clause.

use std::{sync::Arc, time::Duration};

use memkeep_conformance::{Abilities, Factory, Handle, Place};
use memkeep_core::{Clock, Error, ErrorKind, Result};
use memkeep_sqlite::SqliteConfig;
use rusqlite::Connection;

struct Sqlite;

#[async_trait::async_trait]
impl Factory for Sqlite {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let config = SqliteConfig::new(place.path().join("memory.db")).clock(clock);
        // Long enough for many writers, short enough for the clauses whose writes must fail.
        let config = config.busy_timeout(Duration::from_secs(2));
        Ok(Handle::new(Arc::new(config.open().await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().second_handle().kill().faults()
    }

    /// Another program holds the write lock.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        let failed = |e| Error::new(ErrorKind::Unexpected, "no lock").caused_by(e);
        let other = Connection::open(place.path().join("memory.db")).map_err(failed)?;
        other.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(Box::new(other))
    }
}

memkeep_conformance::suite!(Sqlite);

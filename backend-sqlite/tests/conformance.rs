//! The contract, clause by clause.

use std::{path::Path, sync::Arc, time::Duration};

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Error, ErrorKind, Record, RecordKind, Result};
use memkeep_sqlite::SqliteConfig;
use rusqlite::{Connection, params};

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
        Abilities::new().reopen().second_handle().kill().faults().damage().copy()
    }

    /// Another program holds the write lock.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        let other = Connection::open(place.path().join("memory.db")).map_err(failed)?;
        other.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        Ok(Box::new(other))
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        let other = Connection::open(place.path().join("memory.db")).map_err(failed)?;
        let changed = match damage {
            Damage::Undecodable(record) => {
                let (table, name, json) = match record.kind() {
                    RecordKind::Session => ("sessions", "id", "metadata"),
                    RecordKind::Turn => ("turns", "id", "metadata"),
                    RecordKind::Step => ("steps", "id", "payload"),
                    RecordKind::Episode => ("episodes", "id", "metadata"),
                    RecordKind::Note => ("notes", "id", "sources"),
                    RecordKind::State => ("states", "key", "value"),
                    RecordKind::Audit => ("audit", "id", "detail"),
                };
                let sql = format!(
                    "UPDATE {table} SET {json} = '{{' WHERE {name} = ?1 AND workspace = ?2"
                );
                other.execute(&sql, [record.id(), record.workspace().as_str()])
            }
            Damage::Altered(Record::Session(session)) => other.execute(
                "UPDATE sessions SET turn_count = ?2, step_count = ?3, total_tokens = ?4, \
                 next_turn = ?5, next_step = ?6, last_active = ?7 WHERE id = ?1",
                params![
                    session.id.as_str(),
                    session.turn_count,
                    session.step_count,
                    session.total_tokens,
                    session.next_turn,
                    session.next_step,
                    session.last_active.as_micros(),
                ],
            ),
            Damage::Altered(Record::Audit(audit)) => other.execute(
                "UPDATE audit SET decision = ?2, hash = ?3 WHERE id = ?1",
                params![audit.id.as_str(), audit.decision, audit.hash.0],
            ),
            Damage::Altered(_) => Ok(0),
        };
        match changed.map_err(failed)? {
            1 => Ok(()),
            _ => Err(Error::new(ErrorKind::Unexpected, "not one row was damaged")),
        }
    }

    async fn open_copy(&self, path: &Path, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(SqliteConfig::new(path).clock(clock).open().await?)))
    }
}

fn failed(error: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Unexpected, "SQLite failed").caused_by(error)
}

memkeep_conformance::suite!(Sqlite);

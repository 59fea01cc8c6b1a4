//! Writes, over the one connection that makes them.

mod apply;
mod backup;
mod load;

use std::{collections::HashMap, path::Path};

use memkeep_core::{
    Error, ErrorKind, Result, SessionId,
    decide::{Change, Loaded, Needs},
    embedded::{View, Writer},
};
use rusqlite::Connection;

use crate::{
    connect::{Access, Connector},
    error::failed,
    schema,
    view::SqliteView,
};

/// The connection that writes.
pub struct SqliteWriter {
    view: SqliteView,
    access: Access,
    /// The `pk` of the sessions that the batch at hand has loaded or inserted.
    sessions: HashMap<SessionId, i64>,
}

impl SqliteWriter {
    pub(crate) fn new(connector: &Connector, connection: Connection) -> Self {
        Self {
            view: SqliteView::new(connection, connector.path.clone()),
            access: connector.access,
            sessions: HashMap::new(),
        }
    }

    fn writable(&self) -> Result<()> {
        if self.access == Access::ReadWrite {
            return Ok(());
        }
        Err(Error::new(ErrorKind::ReadOnly, "the store was opened to be read only"))
    }
}

impl Writer for SqliteWriter {
    fn begin(&mut self) -> Result<()> {
        self.writable()?;
        self.view.run("BEGIN IMMEDIATE")?;
        // Another process, with a newer program, may have migrated the store since it was opened.
        let version = self.view.value("PRAGMA user_version", ())?.unwrap_or_default();
        if version > schema::current_version() {
            self.rollback();
            return Err(schema::too_new(version));
        }
        Ok(())
    }

    fn load(&mut self, needs: &Needs) -> Result<Loaded> {
        self.load_rows(needs)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<()> {
        changes.iter().try_for_each(|change| self.apply_one(change))
    }

    fn commit(&mut self) -> Result<()> {
        self.view.run("COMMIT")
    }

    fn rollback(&mut self) {
        // SQLite may have rolled back by itself. If it cannot, the next `BEGIN` fails.
        if !self.view.connection().is_autocommit() {
            let _ = self.view.run("ROLLBACK");
        }
    }

    fn view(&mut self) -> &mut dyn View {
        &mut self.view
    }

    fn rebuild(&mut self) -> Result<()> {
        let sql = "REINDEX; DELETE FROM turn_tags WHERE turn NOT IN (SELECT pk FROM turns)";
        self.view.connection().execute_batch(sql).map_err(failed)
    }

    fn compact(&mut self) -> Result<()> {
        self.writable()?;
        self.view.connection().execute_batch("VACUUM").map_err(failed)?;
        // What was deleted is still in the log, until it is cut.
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let blocked: bool =
            self.view.connection().query_row(checkpoint, [], |row| row.get(0)).map_err(failed)?;
        if blocked {
            let message = "others are reading the store, so that its log cannot be cut";
            return Err(Error::new(ErrorKind::Timeout, message));
        }
        Ok(())
    }

    fn backup(&mut self, path: &Path) -> Result<()> {
        backup::backup(self.view.connection(), path)
    }
}

#[cfg(test)]
mod tests {
    use memkeep_core::{Batch, NewEpisode, RecordKind, Scan, Timestamp, decide::decide};

    use super::*;
    use crate::SqliteConfig;

    fn add(writer: &mut SqliteWriter, text: &str) -> Result<()> {
        let prepared = Batch::from(NewEpisode::new(text, "")).prepare()?;
        writer.begin()?;
        let loaded = writer.load(&prepared.needs())?;
        let decision = decide(&prepared, loaded, Timestamp::default())?;
        let written = writer.apply(&decision.changes).and_then(|()| writer.commit());
        if written.is_err() {
            writer.rollback();
        }
        written
    }

    /// A full medium (cberner/redb#620): it is said, what was there can be read, and with room again
    /// the store goes on.
    #[test]
    fn a_full_store_goes_on_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("agent.db"));
        let (connector, connection) = Connector::open(&config).unwrap();
        let mut writer = SqliteWriter::new(&connector, connection);
        let limit = |writer: &SqliteWriter, pages: u32| {
            let connection = writer.view.connection();
            connection
                .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        };
        add(&mut writer, "first").unwrap();
        limit(&writer, 1);
        let large = "x".repeat(1 << 20);
        let error = add(&mut writer, &large).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error:?}");
        let there = |writer: &mut SqliteWriter| {
            writer.view().scan(&Scan::new(RecordKind::Episode)).unwrap().items.len()
        };
        assert_eq!(there(&mut writer), 1);
        limit(&writer, 1_000_000);
        add(&mut writer, &large).unwrap();
        assert_eq!(there(&mut writer), 2);
    }
}

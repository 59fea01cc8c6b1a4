//! Writes, over the one connection that makes them.

mod apply;
mod backup;
mod load;

use std::{collections::HashMap, path::Path, time::Duration};

use memkeep_core::{
    Error, ErrorKind, RecordKind, Result, SessionId,
    decide::{Change, Loaded, Needs},
    embedded::{View, Writer},
    recall::index::BlobsMut,
};
use rusqlite::Connection;

use crate::{
    blobs::IndexBlobs,
    connect::{Access, Connector},
    error::failed,
    place::Place,
    view::SqliteView,
};

/// The connection that writes.
pub struct SqliteWriter {
    view: SqliteView,
    access: Access,
    /// The `pk` of the sessions that the open transaction has loaded or inserted.
    sessions: HashMap<SessionId, i64>,
    /// What others had committed when the path last named the file: `PRAGMA data_version`.
    others: Option<i64>,
}

impl Drop for SqliteWriter {
    /// A log that stays beside another file is taken for that file's, and spoils it. As long as
    /// nobody else has written to it, all of it is the old file's, which is where it belongs.
    fn drop(&mut self) {
        let left = self.view.place().is_some_and(Place::left_its_log);
        if left && self.access == Access::ReadWrite && self.others == self.data_version() {
            let connection = self.view.connection();
            // Nobody is left to be told.
            let _ = connection.busy_timeout(Duration::ZERO);
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        }
    }
}

impl SqliteWriter {
    pub(crate) fn new(connector: &Connector, connection: Connection) -> Self {
        let mut writer = Self {
            view: SqliteView::new(connection, connector.place.clone()),
            access: connector.access,
            sessions: HashMap::new(),
            others: None,
        };
        writer.others = writer.data_version();
        writer
    }

    /// Changes with each commit of another connection; none in memory, where there is no other.
    fn data_version(&self) -> Option<i64> {
        self.view.place()?;
        self.view.value("PRAGMA data_version", ()).ok().flatten()
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
        self.sessions.clear();
        self.view.begin("BEGIN IMMEDIATE")?;
        self.others = self.data_version();
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
        // If it cannot be taken back, the next one does not begin.
        let _ = self.view.rollback();
    }

    fn view(&mut self) -> &mut dyn View {
        &mut self.view
    }

    fn index(&mut self, kind: RecordKind) -> Option<Box<dyn BlobsMut + '_>> {
        Some(Box::new(IndexBlobs::new(self.view.connection(), kind)))
    }

    fn rebuild(&mut self) -> Result<()> {
        let sql = "REINDEX; DELETE FROM turn_tags WHERE turn NOT IN (SELECT pk FROM turns)";
        self.view.connection().execute_batch(sql).map_err(failed)
    }

    fn compact(&mut self) -> Result<()> {
        self.writable()?;
        self.view.look()?;
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
        self.view.look()?;
        backup::backup(self.view.connection(), path)
    }
}

#[cfg(test)]
mod tests {
    use memkeep_core::{Batch, NewEpisode, Scan, Timestamp, decide::decide};

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

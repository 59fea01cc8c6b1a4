use memkeep_core::{
    BackendInfo, Durability, Result, Sharing,
    embedded::{Embedded, Engine, Reader, View},
};
use rusqlite::Connection;

use crate::{connect::Connector, view::SqliteView, writer::SqliteWriter};

/// A memory in an SQLite file, or in memory. Opened by [`SqliteConfig`](crate::SqliteConfig).
pub type SqliteBackend = Embedded<SqliteEngine>;

/// SQLite as an engine of [`Embedded`].
#[derive(Debug)]
pub struct SqliteEngine {
    connector: Connector,
    readers: usize,
}

impl SqliteEngine {
    pub(crate) fn new(
        connector: Connector,
        connection: Connection,
        readers: usize,
    ) -> (Self, SqliteWriter) {
        let writer = SqliteWriter::new(&connector, connection);
        (Self { connector, readers: readers.max(1) }, writer)
    }
}

impl Engine for SqliteEngine {
    type Reader = SqliteReader;
    type Writer = SqliteWriter;

    fn info(&self) -> BackendInfo {
        let (durability, sharing) = match self.connector.path {
            None => (Durability::Volatile, Sharing::Handle),
            Some(_) => (self.connector.synchronous.durability(), Sharing::Machine),
        };
        BackendInfo::new("sqlite", durability, sharing)
    }

    fn readers(&self) -> usize {
        if self.connector.path.is_some() { self.readers } else { 0 }
    }

    fn reader(&self) -> Result<SqliteReader> {
        let connection = self.connector.reader()?;
        Ok(SqliteReader(SqliteView::new(connection, self.connector.place.clone())))
    }
}

/// A connection that reads.
pub struct SqliteReader(SqliteView);

impl Reader for SqliteReader {
    fn snapshot(&mut self, read: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        self.0.begin("BEGIN")?;
        let outcome = read(&mut self.0);
        outcome.and(self.0.rollback())
    }
}

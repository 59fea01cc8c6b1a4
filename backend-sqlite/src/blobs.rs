use std::ops::Range;

use memkeep_core::{
    RecordKind, Result,
    recall::index::{Blobs, BlobsMut, Visit},
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::failed;

/// The recall index of a kind, in the table `recall`.
pub(crate) struct IndexBlobs<'c> {
    connection: &'c Connection,
    kind: i64,
}

impl<'c> IndexBlobs<'c> {
    pub(crate) fn new(connection: &'c Connection, kind: RecordKind) -> Self {
        let kind = match kind {
            RecordKind::Session => 1,
            RecordKind::Turn => 2,
            RecordKind::Step => 3,
            RecordKind::Episode => 4,
            RecordKind::Note => 5,
            RecordKind::State => 6,
            RecordKind::Audit => 7,
        };
        Self { connection, kind }
    }
}

impl Blobs for IndexBlobs<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT value FROM recall WHERE kind = ?1 AND key = ?2";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut get| get.query_row(params![self.kind, key], |row| row.get(0)).optional())
            .map_err(failed)
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let sql = if reverse {
            "SELECT key, value FROM recall WHERE kind = ?1 AND key >= ?2 AND key < ?3 \
             ORDER BY key DESC"
        } else {
            "SELECT key, value FROM recall WHERE kind = ?1 AND key >= ?2 AND key < ?3 \
             ORDER BY key"
        };
        let mut scan = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = scan.query(params![self.kind, range.start, range.end]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let blob =
                |column| row.get_ref(column).and_then(|value| Ok(value.as_blob()?)).map_err(failed);
            if !visit(blob(0)?, blob(1)?)? {
                break;
            }
        }
        Ok(())
    }
}

impl BlobsMut for IndexBlobs<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO recall (kind, key, value) VALUES (?1, ?2, ?3)";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut put| put.execute(params![self.kind, key, value]))
            .map_err(failed)
            .map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let sql = "DELETE FROM recall WHERE kind = ?1 AND key = ?2";
        self.connection
            .prepare_cached(sql)
            .and_then(|mut delete| delete.execute(params![self.kind, key]))
            .map_err(failed)
            .map(drop)
    }
}

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, Row};

use super::cells::Cells;
use crate::{Error, ErrorKind, Result, import::item::Place};

/// A table, and the columns of it that are read.
#[derive(Clone, Copy)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [&'static str],
}

/// The table in which velune notes its migrations.
const VERSIONS: &str = "episodic_schema_version";

/// An open copy of a source.
pub(super) struct Database {
    connection: Connection,
    /// The columns of each table, all names in lower case.
    tables: BTreeMap<String, HashSet<String>>,
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|e| failed("", &e))?;
        // A source is data: nothing in its schema may run.
        let tables = connection
            .pragma_update(None, "trusted_schema", false)
            .and_then(|()| schema(&connection))
            .map_err(|e| failed("sqlite_schema", &e))?;
        Ok(Self { connection, tables })
    }

    /// The names of all tables, in order.
    pub(super) fn names(&self) -> Vec<&str> {
        self.tables.keys().map(String::as_str).collect()
    }

    /// Whether the table is there with its columns.
    pub(super) fn has(&self, table: &Table) -> bool {
        let columns = self.tables.get(table.name);
        columns.is_some_and(|there| table.columns.iter().all(|name| there.contains(*name)))
    }

    /// The names of the tables that are not among `known`, or not with their columns.
    pub(super) fn unread(&self, known: &[Table]) -> Vec<&str> {
        let is_read = |name: &str| known.iter().any(|table| table.name == name && self.has(table));
        let mut names = self.names();
        names.retain(|name| !is_read(name) && *name != VERSIONS);
        names
    }

    /// Calls `f` with each row of a table in order of rowid; a table that is not there has none.
    pub(super) fn each(
        &self,
        table: &Table,
        mut f: impl FnMut(Cells<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.has(table) {
            return Ok(());
        }
        let mut last = 0;
        let failed = |last: i64, e| failed(table.name, &e).with("after_row", last);
        let columns = table.columns.join("\", \"");
        let sql = format!("SELECT rowid, \"{columns}\" FROM \"{}\" ORDER BY rowid", table.name);
        let mut statement = self.connection.prepare(&sql).map_err(|e| failed(last, e))?;
        let mut rows = statement.query([]).map_err(|e| failed(last, e))?;
        while let Some(row) = rows.next().map_err(|e| failed(last, e))? {
            last = row.get(0).map_err(|e| failed(last, e))?;
            f(Cells::new(Place { table: table.name, rowid: last }, row, table.columns))?;
        }
        Ok(())
    }

    /// The name of the first of the tables whose rows have no rowid, by which all are told and put in
    /// order.
    pub(super) fn without_rowid(&self, tables: &[Table]) -> Result<Option<&'static str>> {
        let sql = "SELECT lower(name) FROM pragma_table_list WHERE schema = 'main' AND wr";
        let mut statement = self.connection.prepare(sql).map_err(|e| failed("", &e))?;
        let names = statement.query_map([], |row| row.get(0)).and_then(Iterator::collect);
        let names: HashSet<String> = names.map_err(|e| failed("", &e))?;
        let is_one = |table: &&Table| self.has(table) && names.contains(table.name);
        Ok(tables.iter().find(is_one).map(|table| table.name))
    }

    /// Reads all rows of the tables. Returns how many there are.
    pub(super) fn check(&self, tables: &[Table]) -> Result<u64> {
        let mut rows = 0;
        for table in tables {
            self.each(table, |_| {
                rows += 1;
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Answers a query of one row and one column, if it has a value.
    pub(super) fn real(&self, sql: &str) -> Result<Option<f64>> {
        let value = |row: &Row<'_>| row.get(0);
        self.connection.query_row(sql, [], value).map_err(|e| failed("", &e))
    }
}

fn schema(connection: &Connection) -> rusqlite::Result<BTreeMap<String, HashSet<String>>> {
    let sql = "SELECT lower(t.name), lower(c.name) FROM sqlite_schema t, pragma_table_info(t.name) c \
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut tables: BTreeMap<String, HashSet<String>> = BTreeMap::new();
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        tables.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(tables)
}

fn failed(table: &str, error: &rusqlite::Error) -> Error {
    let (kind, what) = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt) => (ErrorKind::Corrupt, "a damaged SQLite database"),
        Some(ErrorCode::NotADatabase) => {
            (ErrorKind::Corrupt, "a SQLite database that is damaged or encrypted")
        }
        Some(ErrorCode::DiskFull) => (ErrorKind::StorageFull, "a database whose copy has no room"),
        Some(
            ErrorCode::CannotOpen
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::OutOfMemory
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly
            | ErrorCode::SystemIoFailure,
        ) => (ErrorKind::Unexpected, "a SQLite database whose copy cannot be read"),
        // What is asked is always the same and the copy is nobody else's: it is what is in the file.
        _ => (ErrorKind::Corrupt, "a SQLite database that cannot be read"),
    };
    let error_text = error.to_string();
    let mut failed = Error::new(kind, format!("the file is {what}: {error_text}"));
    if !table.is_empty() {
        failed = failed.with("table", table);
    }
    failed
}

//! The tables, and how a file of an older version becomes one of this version.

use std::cmp::Ordering;

use memkeep_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::failed;

/// What tells a store from other programs' SQLite files: "memk" as `PRAGMA application_id`.
pub(crate) const APPLICATION_ID: i32 = 0x6d65_6d6b;

/// The steps from each version to the next: the first makes version 1 of an empty file. A step that
/// has been released is never edited.
pub(crate) const MIGRATIONS: &[&[&str]] = &[VERSION_1, VERSION_2];

/// The version that this program reads and writes, kept as `PRAGMA user_version`.
pub(crate) fn current_version() -> i64 {
    version_after(MIGRATIONS)
}

fn version_after(migrations: &[&[&str]]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

/// In every table `pk` is the order of insertion. Times are microseconds since 1970. In an index the
/// `pk` follows by itself, in ascending order: it settles ties. Large columns stand last, so that
/// reading the others does not walk through them.
const VERSION_1: &[&str] = &[
    "CREATE TABLE sessions (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        started_at INTEGER NOT NULL,
        ended_at INTEGER,
        last_active INTEGER NOT NULL,
        next_turn INTEGER NOT NULL,
        next_step INTEGER NOT NULL,
        turn_count INTEGER NOT NULL,
        step_count INTEGER NOT NULL,
        total_tokens INTEGER NOT NULL,
        origin BLOB,
        model TEXT,
        mode TEXT,
        summary TEXT,
        metadata TEXT NOT NULL
    ) STRICT",
    "CREATE INDEX sessions_workspace ON sessions (workspace)",
    "CREATE INDEX sessions_started ON sessions (started_at DESC)",
    "CREATE INDEX sessions_active ON sessions (last_active DESC)",
    "CREATE INDEX sessions_workspace_started ON sessions (workspace, started_at DESC)",
    "CREATE INDEX sessions_workspace_active ON sessions (workspace, last_active DESC)",
    "CREATE TABLE turns (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        session INTEGER NOT NULL REFERENCES sessions (pk) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        role TEXT NOT NULL,
        tokens INTEGER,
        embedding_id TEXT,
        origin BLOB,
        model TEXT,
        content TEXT NOT NULL,
        metadata TEXT NOT NULL,
        UNIQUE (session, position)
    ) STRICT",
    "CREATE INDEX turns_workspace ON turns (workspace)",
    "CREATE INDEX turns_newest ON turns (created_at DESC)",
    "CREATE INDEX turns_workspace_newest ON turns (workspace, created_at DESC)",
    "CREATE INDEX turns_prompts ON turns (session, position) WHERE role = 'user'",
    "CREATE TABLE turn_tags (
        turn INTEGER NOT NULL REFERENCES turns (pk) ON DELETE CASCADE,
        name TEXT NOT NULL,
        value TEXT,
        PRIMARY KEY (turn, name)
    ) STRICT, WITHOUT ROWID",
    "CREATE TABLE steps (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        session INTEGER NOT NULL REFERENCES sessions (pk) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        name TEXT NOT NULL,
        status TEXT NOT NULL,
        payload TEXT NOT NULL,
        UNIQUE (session, position)
    ) STRICT",
    "CREATE INDEX steps_workspace ON steps (workspace)",
    "CREATE TABLE episodes (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        open INTEGER NOT NULL,
        closed_at INTEGER,
        origin BLOB,
        problem TEXT NOT NULL,
        summary TEXT NOT NULL,
        metadata TEXT NOT NULL
    ) STRICT",
    "CREATE INDEX episodes_workspace ON episodes (workspace)",
    "CREATE INDEX episodes_created ON episodes (created_at)",
    "CREATE INDEX episodes_workspace_created ON episodes (workspace, created_at)",
    "CREATE INDEX episodes_open ON episodes (open, created_at)",
    "CREATE INDEX episodes_workspace_open ON episodes (workspace, open, created_at)",
    "CREATE TABLE notes (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        sources TEXT NOT NULL,
        text TEXT NOT NULL
    ) STRICT",
    "CREATE INDEX notes_workspace ON notes (workspace)",
    "CREATE INDEX notes_created ON notes (created_at)",
    "CREATE INDEX notes_workspace_created ON notes (workspace, created_at)",
    "CREATE TABLE states (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL,
        workspace TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        expires_at INTEGER,
        version INTEGER NOT NULL,
        value TEXT,
        UNIQUE (workspace, key)
    ) STRICT",
    "CREATE INDEX states_workspace ON states (workspace)",
    "CREATE INDEX states_live ON states (workspace, key) WHERE value IS NOT NULL",
    "CREATE TABLE audit (
        pk INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        workspace TEXT NOT NULL,
        seq INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        hash BLOB NOT NULL,
        action TEXT NOT NULL,
        decision TEXT NOT NULL,
        detail TEXT NOT NULL,
        UNIQUE (workspace, seq)
    ) STRICT",
    "CREATE INDEX audit_workspace ON audit (workspace)",
    "CREATE TABLE receipts (
        key TEXT PRIMARY KEY,
        at INTEGER NOT NULL,
        digest BLOB NOT NULL,
        marks TEXT NOT NULL
    ) STRICT",
    "CREATE INDEX receipts_at ON receipts (at)",
];

/// The recall indexes, which are made by and by of what is there.
const VERSION_2: &[&str] = &["CREATE TABLE recall (
        kind INTEGER NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (kind, key)
    ) STRICT, WITHOUT ROWID"];

/// The version of the store behind `connection`: 0 if the file is new. Nothing is written.
///
/// Errors: `SchemaTooNew`; `Corrupt` if it is another program's file, or no SQLite database.
pub(crate) fn version(connection: &Connection) -> Result<i64> {
    // One statement, so that a migration that ends meanwhile is seen as a whole or not at all.
    let sql = "SELECT (SELECT application_id FROM pragma_application_id), user_version,
                      EXISTS (SELECT 1 FROM sqlite_schema)
               FROM pragma_user_version";
    let read = connection.query_row(sql, [], |row| {
        Ok((row.get::<_, i32>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
    });
    let (application, version, filled) = read.map_err(failed)?;
    let is_new = application == 0 && version == 0 && !filled;
    if !is_new && application != APPLICATION_ID {
        let message = "the file is an SQLite database of another program";
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    if version > current_version() {
        return Err(too_new(version));
    }
    Ok(version)
}

/// Whether an open store, which has `version` now, still has the tables that this program knows.
pub(crate) fn still(version: i64) -> Result<()> {
    match version.cmp(&current_version()) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(too_new(version)),
        Ordering::Less => {
            let message = "the store has lost its tables since it was opened";
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

/// `SchemaTooNew`, for a store of `version`.
fn too_new(version: i64) -> Error {
    let current = current_version();
    let message = format!(
        "the store has schema version {version}; this program knows versions up to {current}"
    );
    Error::new(ErrorKind::SchemaTooNew, message)
}

/// Brings the store to the version after the last of `migrations`, each in a transaction of its own:
/// a crash leaves the version it had, and opening again goes on from there. Others who migrate at
/// the same time wait for each other.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&[&str]]) -> Result<()> {
    while version(connection)? < version_after(migrations) {
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let from = version(&transaction)?;
        let step = usize::try_from(from).ok().and_then(|from| migrations.get(from));
        for sql in step.copied().unwrap_or_default() {
            transaction.execute_batch(sql).map_err(failed)?;
        }
        if step.is_some() {
            let identity = format!(
                "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}",
                from + 1
            );
            transaction.execute_batch(&identity).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a migration: it fails after each statement, and opening again completes it.
    #[test]
    fn a_migration_that_stops_anywhere_is_completed_later() {
        let folder = tempfile::tempdir().unwrap();
        for stop in 0..=VERSION_1.len() {
            let path = folder.path().join(format!("{stop}.db"));
            let statements = [&VERSION_1[..stop], &["SELECT no_such_column"]].concat();
            migrate(&mut Connection::open(&path).unwrap(), &[&statements]).unwrap_err();

            let mut again = Connection::open(&path).unwrap();
            assert_eq!(version(&again).unwrap(), 0);
            migrate(&mut again, MIGRATIONS).unwrap();
            assert_eq!(version(&again).unwrap(), current_version());
        }
    }

    #[test]
    fn a_later_migration_that_fails_leaves_the_version_it_started_from() {
        let mut connection = Connection::open_in_memory().unwrap();
        let next: &[&str] = &["DROP TABLE notes", "SELECT no_such_column"];
        migrate(&mut connection, &[MIGRATIONS, &[next]].concat()).unwrap_err();
        assert_eq!(version(&connection).unwrap(), current_version());
        connection.prepare("SELECT * FROM notes").unwrap();
    }
}

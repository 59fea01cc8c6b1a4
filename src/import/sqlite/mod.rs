//! Databases of other systems.

mod cells;
mod database;
mod muse;
mod scratch;
mod snapshot;
mod tier1;
mod velune;

use std::path::Path;

use super::{
    SourceFormat,
    item::{Item, Sink},
    source::foreign,
};
use crate::{Result, Workspace};
use database::{Database, Table};

/// Reads a database.
pub(super) fn read(
    path: &Path,
    from: Option<SourceFormat>,
    workspace: Option<&Workspace>,
    sink: &mut Sink,
) -> Result<()> {
    let snapshot = snapshot::take(path)?;
    let database = Database::open(snapshot.path())?;
    let has = |tables: &[Table]| tables.iter().any(|table| database.has(table));
    // Tags and state have columns that any database might have.
    let is_muse = has(&[muse::EPISODES, muse::NOTES, muse::AUDIT]);
    let is_velune = has(&[velune::SESSIONS, velune::TURNS, tier1::TURNS, tier1::STEPS]);
    let format = match (from, is_muse, is_velune) {
        (Some(SourceFormat::Muse) | None, true, false) | (Some(SourceFormat::Muse), true, true) => {
            SourceFormat::Muse
        }
        (Some(SourceFormat::Velune) | None, false, true)
        | (Some(SourceFormat::Velune), true, true) => SourceFormat::Velune,
        (_, true, true) => {
            let what = "a database of both muse and velune; say which part to import";
            return Err(foreign(path, what));
        }
        _ => {
            let wanted = from.map_or("muse or velune", SourceFormat::as_str);
            let tables = database.names();
            let what = if tables.is_empty() {
                format!("a SQLite database without tables, not one of {wanted}")
            } else {
                let tables = tables.join(", ");
                format!("a SQLite database, but not of {wanted}: its tables are {tables}")
            };
            return Err(foreign(path, &what));
        }
    };
    let tables: &[Table] = match format {
        SourceFormat::Muse => &muse::TABLES,
        _ => &velune::TABLES,
    };
    if let Some(name) = database.without_rowid(tables)? {
        let what =
            format!("a database whose table `{name}` is WITHOUT ROWID, as none of {format} is");
        return Err(foreign(path, &what));
    }
    // All of it is read once before anything is stored: a damaged file stores nothing.
    let rows = database.check(tables)?;
    sink.push(Item::Format { format, rows: Some(rows) })?;
    let unread = database.unread(tables);
    if !unread.is_empty() {
        sink.push(Item::Remark(format!("not read, being of another kind: {}", unread.join(", "))))?;
    }
    match format {
        SourceFormat::Muse => muse::read(&database, workspace, sink),
        _ => velune::read(&database, workspace, sink),
    }
}

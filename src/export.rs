//! Everything in a store as JSON lines, and the format of these lines.
//!
//! The first line names the format's version: `{"memkeep_export":1}`. Each other line is a
//! [`Record`] with its kind under `kind`: all sessions, then turns, steps, episodes, notes, state
//! and audit (the order of [`RecordKind::ALL`]), each kind in order of insertion. So a record
//! follows what it refers to, and exporting an imported export gives the same bytes.
//!
//! The last line says how many records there are: `{"memkeep_export_end":3}`. A file without it was
//! cut short, or its export failed. [`import`](mod@crate::import) reads such a file as far as it
//! goes, and remarks on the missing line and on a number of records that is another.
//!
//! An export reads a live store page by page. What is written meanwhile may be in it or not, but a
//! turn or step is only in it if its session is. For a consistent copy see
//! [`Backend::backup`](crate::Backend::backup).

use std::{collections::HashSet, io::Write};

use crate::{Error, ErrorKind, MemoryBackend, Record, RecordKind, Result, Scan, Scope, SessionId};

/// The version of the format that [`export`] writes. [`import`](mod@crate::import) reads it and
/// older ones.
pub const EXPORT_VERSION: u64 = 1;
/// The key of the format-version line.
pub(crate) const VERSION_KEY: &str = "memkeep_export";
/// The key of the last line, which has the number of records.
pub(crate) const END_KEY: &str = "memkeep_export_end";

/// How many records are read at a time.
const PAGE: usize = 500;

/// Writes the records in `scope` to `out` as JSON lines and flushes it. Returns how many records
/// there were.
///
/// Errors: `StorageFull` or `Unexpected` if `out` fails, and those of [`Backend::scan`](crate::Backend::scan).
pub async fn export(
    store: &dyn MemoryBackend,
    scope: &Scope,
    mut out: impl Write + Send,
) -> Result<u64> {
    let records = export_lines(store, scope, |line| {
        out.write_all(line.as_bytes()).and_then(|()| out.write_all(b"\n")).map_err(write_failed)
    })
    .await?;
    out.flush().map_err(write_failed)?;
    Ok(records)
}

/// Calls `emit` with each line of an export of `scope`, without the line's end; the first error
/// that it returns ends the export. Returns how many records there were: two lines less than lines.
pub async fn export_lines(
    store: &dyn MemoryBackend,
    scope: &Scope,
    mut emit: impl FnMut(&str) -> Result<()> + Send,
) -> Result<u64> {
    emit(&serde_json::json!({ VERSION_KEY: EXPORT_VERSION }).to_string())?;
    let kinds = store.info().kinds;
    let mut sessions = HashSet::new();
    let mut records: u64 = 0;
    for kind in RecordKind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
        let mut scan = Scan::new(kind).scope(scope.clone()).limit(PAGE);
        loop {
            let page = store.scan(&scan).await?;
            for record in page.items {
                if let Record::Session(session) = &record {
                    sessions.insert(session.id.clone());
                }
                if session_of(&record).is_some_and(|session| !sessions.contains(session)) {
                    continue;
                }
                emit(&line(&record)?)?;
                records += 1;
            }
            match page.next {
                None => break,
                next => scan.after = next,
            }
        }
    }
    emit(&serde_json::json!({ END_KEY: records }).to_string())?;
    Ok(records)
}

/// The session that a turn or step belongs to.
pub(crate) fn session_of(record: &Record) -> Option<&SessionId> {
    match record {
        Record::Turn(turn) => Some(&turn.session),
        Record::Step(step) => Some(&step.session),
        _ => None,
    }
}

fn line(record: &Record) -> Result<String> {
    serde_json::to_string(record).map_err(|e| {
        Error::new(ErrorKind::Unexpected, "a record cannot be written as JSON")
            .during("export")
            .caused_by(e)
    })
}

fn write_failed(error: std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::StorageFull => ErrorKind::StorageFull,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, "the export cannot be written").during("export").caused_by(error)
}

//! SQLite's errors as memkeep's.

use std::{io, path::Path};

use memkeep_core::{Error, ErrorKind};
use rusqlite::{ErrorCode, ffi};

/// What an error of SQLite means to a caller. Its own text names tables, columns and files, never
/// values; it is kept as the source.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    let (kind, message) = match &error {
        rusqlite::Error::SqliteFailure(code, _)
        | rusqlite::Error::SqlInputError { error: code, .. } => meaning(*code),
        rusqlite::Error::InvalidPath(_) | rusqlite::Error::NulError(_) => {
            (ErrorKind::InvalidArgument, "the path cannot be one of a file")
        }
        _ => (ErrorKind::Unexpected, "SQLite was not used as it wants to be"),
    };
    Error::new(kind, message).caused_by(error)
}

fn meaning(error: ffi::Error) -> (ErrorKind, &'static str) {
    match error.extended_code {
        ffi::SQLITE_IOERR_SHMSIZE => {
            return (ErrorKind::StorageFull, "no room for the shared-memory file");
        }
        ffi::SQLITE_IOERR_CORRUPTFS => {
            return (ErrorKind::Corrupt, "the file system is damaged");
        }
        ffi::SQLITE_READONLY_DBMOVED => {
            return (ErrorKind::Unavailable, "the file was moved or deleted while it was open");
        }
        _ => {}
    }
    match error.code {
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => {
            (ErrorKind::Timeout, "the store was locked by another writer for too long")
        }
        ErrorCode::ReadOnly => (ErrorKind::ReadOnly, "the store can only be read"),
        ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            (ErrorKind::ReadOnly, "access to the store is not permitted")
        }
        ErrorCode::DiskFull => (ErrorKind::StorageFull, "no room is left for the store"),
        ErrorCode::NotADatabase => (ErrorKind::Corrupt, "the file is not an SQLite database"),
        ErrorCode::DatabaseCorrupt => (ErrorKind::Corrupt, "the SQLite database is damaged"),
        ErrorCode::CannotOpen => (ErrorKind::Unavailable, "the file cannot be opened"),
        ErrorCode::SystemIoFailure => {
            (ErrorKind::Unavailable, "reading or writing the file failed")
        }
        ErrorCode::ConstraintViolation => {
            (ErrorKind::Unexpected, "a row contradicts the tables' constraints")
        }
        _ => (ErrorKind::Unexpected, "SQLite failed"),
    }
}

/// What an error of the file system about `path` means to a caller.
pub(crate) fn file_failed(error: io::Error, path: &Path) -> Error {
    let (kind, message) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::StorageFull, "no room is left")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            (ErrorKind::ReadOnly, "it may not be written there")
        }
        _ => (ErrorKind::Unavailable, "the path cannot be used"),
    };
    Error::new(kind, message).with("path", path.display()).caused_by(error)
}

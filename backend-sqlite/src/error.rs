//! SQLite's errors as memkeep's.

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
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..) => {
            (ErrorKind::Corrupt, "a stored value is not what it must be")
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
        ErrorCode::TooBig => (
            ErrorKind::InvalidArgument,
            "a value or a row is larger than SQLite can store: 10^9 bytes",
        ),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_what_a_caller_can_act_on() {
        for (code, kind, retryable) in [
            (ffi::SQLITE_BUSY, ErrorKind::Timeout, true),
            (ffi::SQLITE_BUSY_SNAPSHOT, ErrorKind::Timeout, true),
            (ffi::SQLITE_LOCKED, ErrorKind::Timeout, true),
            (ffi::SQLITE_READONLY_DIRECTORY, ErrorKind::ReadOnly, false),
            (ffi::SQLITE_READONLY_DBMOVED, ErrorKind::Unavailable, true),
            (ffi::SQLITE_FULL, ErrorKind::StorageFull, false),
            (ffi::SQLITE_IOERR_SHMSIZE, ErrorKind::StorageFull, false),
            (ffi::SQLITE_IOERR_FSYNC, ErrorKind::Unavailable, true),
            (ffi::SQLITE_CORRUPT_VTAB, ErrorKind::Corrupt, false),
            (ffi::SQLITE_NOTADB, ErrorKind::Corrupt, false),
            (ffi::SQLITE_CANTOPEN, ErrorKind::Unavailable, true),
            (ffi::SQLITE_TOOBIG, ErrorKind::InvalidArgument, false),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, ErrorKind::Unexpected, false),
            (ffi::SQLITE_MISUSE, ErrorKind::Unexpected, false),
        ] {
            let error = failed(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{error:?}");
            assert!(std::error::Error::source(&error).is_some());
        }
    }
}

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use memkeep_core::{Error, ErrorKind, Result};

/// What a failure of redb means to a caller. Its own words name tables and pages, never values; they
/// stay as the cause.
pub(crate) fn failed(error: impl Into<redb::Error>) -> Error {
    let error = error.into();
    let (kind, message) = match &error {
        redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch => {
            (ErrorKind::AlreadyOpen, "another handle or process has the store open")
        }
        redb::Error::UpgradeRequired(_) => {
            (ErrorKind::Unsupported, "the file has an old format of redb, which is not read")
        }
        redb::Error::Corrupted(_) => (ErrorKind::Corrupt, "the redb database is damaged"),
        redb::Error::TableTypeMismatch { .. }
        | redb::Error::TableIsMultimap(_)
        | redb::Error::TypeDefinitionChanged { .. } => {
            (ErrorKind::Corrupt, "the file is a redb database of another program")
        }
        redb::Error::ValueTooLarge(_) => {
            (ErrorKind::InvalidArgument, "a value is larger than redb can store: 3 GiB")
        }
        redb::Error::Io(error) => of_io(error),
        redb::Error::PreviousIo
        | redb::Error::DatabaseClosed
        | redb::Error::TransactionPoisoned => {
            (ErrorKind::Unavailable, "an earlier read or write of the file failed")
        }
        _ => (ErrorKind::Unexpected, "redb failed"),
    };
    Error::new(kind, message).caused_by(error)
}

/// What an error of the file means to a caller.
pub(crate) fn io_failed(error: io::Error) -> Error {
    failed(redb::Error::Io(error))
}

fn of_io(error: &io::Error) -> (ErrorKind, &'static str) {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::StorageFull, "no room is left for the store")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            (ErrorKind::ReadOnly, "access to the store is not permitted")
        }
        io::ErrorKind::InvalidData => (ErrorKind::Corrupt, "the file is not a redb database"),
        io::ErrorKind::UnexpectedEof => (ErrorKind::Corrupt, "the file has been cut"),
        _ => (ErrorKind::Unavailable, "reading or writing the file failed"),
    }
}

/// Runs a call of redb, which panics on some files that are not as it left them.
pub(crate) fn guarded<T, E: Into<redb::Error>>(
    call: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(failed),
        Err(_) => {
            Err(Error::new(ErrorKind::Corrupt, "redb cannot make sense of what is in the file"))
        }
    }
}

use std::io;

use fjall::Error as FjallError;
use memkeep_core::{Error, ErrorKind};

/// What a failure of fjall means to a caller. Its own words stay as the cause.
pub(crate) fn failed(error: FjallError) -> Error {
    let (kind, message) = match &error {
        FjallError::Locked => (ErrorKind::AlreadyOpen, "another handle has the store open"),
        // What was written before can be read; opening the store again is what helps.
        FjallError::Poisoned => (ErrorKind::Unavailable, "an earlier write failed"),
        FjallError::InvalidVersion(_)
        | FjallError::InvalidTag(_)
        | FjallError::InvalidTrailer
        | FjallError::JournalRecovery(_)
        | FjallError::Decompress(_)
        | FjallError::Unrecoverable => (ErrorKind::Corrupt, "the files cannot be read"),
        FjallError::Io(error) => (of_io(error), "the file system failed"),
        _ => (ErrorKind::Unexpected, "fjall failed"),
    };
    Error::new(kind, message).caused_by(error)
}

fn of_io(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::StorageFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => ErrorKind::ReadOnly,
        _ => ErrorKind::Unexpected,
    }
}

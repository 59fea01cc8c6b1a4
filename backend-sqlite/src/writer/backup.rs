use std::{fs, io, path::Path};

use memkeep_core::{Error, ErrorKind, Result};
use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};

use crate::error::{failed, file_failed};

/// Copies the store page by page into a new file. Other writers of the store are not kept out, but
/// the copy is of one state.
pub(super) fn backup(from: &Connection, path: &Path) -> Result<()> {
    let path = std::path::absolute(path).map_err(|e| file_failed(e, path))?;
    // The name is taken first, so that nothing that is there is ever overwritten.
    fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error
        .kind()
    {
        io::ErrorKind::AlreadyExists => {
            Error::new(ErrorKind::Conflict, "there is a file already").with("path", path.display())
        }
        _ => file_failed(error, &path),
    })?;
    copy(from, &path).map_err(|error| {
        // What is left is no store; if it cannot be removed, the error is the same.
        let _ = fs::remove_file(&path);
        error.with("path", path.display())
    })
}

fn copy(from: &Connection, path: &Path) -> Result<()> {
    let mut to = Connection::open(path).map_err(failed)?;
    let backup = Backup::new(from, &mut to).map_err(failed)?;
    match backup.step(-1).map_err(failed)? {
        StepResult::Done => Ok(()),
        _ => Err(Error::new(ErrorKind::Timeout, "the store or the copy was locked")),
    }
}

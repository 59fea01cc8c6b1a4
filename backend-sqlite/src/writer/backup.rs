use std::path::Path;

use memkeep_core::{Error, ErrorKind, Result, embedded::file};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use crate::{connect::open_to_write, error::failed};

/// Copies the store page by page into a new file. Other writers of the store are not kept out, but
/// the copy is of one state.
pub(super) fn backup(from: &Connection, path: &Path) -> Result<()> {
    file::fill_new(path, |path| copy(from, path))
}

fn copy(from: &Connection, path: &Path) -> Result<()> {
    let mut to = open_to_write(path, OpenFlags::default()).map_err(failed)?;
    let backup = Backup::new(from, &mut to).map_err(failed)?;
    match backup.step(-1).map_err(failed)? {
        StepResult::Done => Ok(()),
        _ => Err(Error::new(ErrorKind::Timeout, "the store or the copy was locked")),
    }
}

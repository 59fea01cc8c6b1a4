//! The files of an open store. SQLite goes on with a file that its path no longer names: what is
//! committed then is stored nowhere.

use std::path::Path;

use memkeep_core::{
    Result,
    embedded::file::{Identity, OpenedFile, with_suffix},
};
use rusqlite::Connection;

use crate::{connect::Access, error::failed};

/// What stands before the frames in a log, and before the page in a frame.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// Where an open store is, and which files were found there.
#[derive(Debug)]
pub(crate) struct Place {
    file: OpenedFile,
    log: Option<OpenedFile>,
    index: Option<OpenedFile>,
    page: u64,
}

impl Place {
    /// The place of the store in `path`, of which `file` was opened and has been read.
    pub(crate) fn new(
        path: &Path,
        file: Identity,
        access: Access,
        connection: &Connection,
    ) -> Result<Self> {
        let page = connection.query_row("PRAGMA page_size", [], |row| row.get(0));
        // Nobody removes these two while a connection that shares them is open.
        let beside = |suffix| {
            let path = with_suffix(path, suffix);
            let there = access != Access::Immutable;
            let identity = if there { Identity::at(&path)? } else { None };
            Ok(identity.map(|identity| OpenedFile::new(path, identity)))
        };
        Ok(Self {
            file: OpenedFile::new(path, file),
            log: beside("-wal")?,
            index: beside("-shm")?,
            page: page.map_err(failed)?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Whether the path names the file that was opened, and there is something in it. To be asked
    /// before SQLite reads: it deletes the log of a file that is empty.
    pub(crate) fn look_at_file(&self) -> Result<u64> {
        let bytes = self.file.look()?.len();
        if bytes < self.page { Err(self.file.cut(bytes)) } else { Ok(bytes) }
    }

    /// Whether all files of the store are those that were opened; gives the size of the file and of
    /// its log.
    ///
    /// Errors: `Unavailable` if one was deleted or replaced; `Corrupt` if the file was cut.
    pub(crate) fn look(&self) -> Result<(u64, u64)> {
        let file = self.look_at_file()?;
        if let Some(index) = &self.index {
            index.look()?;
        }
        let log = self.log.as_ref().map(OpenedFile::look).transpose()?;
        Ok((file, log.map_or(0, |log| log.len())))
    }

    /// Like [`look`](Self::look), and whether a store of `pages` pages, as a transaction sees it,
    /// has room there: what is not in the file is in the log.
    pub(crate) fn holds(&self, pages: u64) -> Result<()> {
        let (file, log) = self.look()?;
        let frames = log.saturating_sub(LOG_HEADER) / (FRAME_HEADER + self.page);
        // The page where SQLite's locks are is never written.
        let written = file / self.page + frames + 1;
        if written < pages { Err(self.file.cut(file)) } else { Ok(()) }
    }

    /// Whether the path does not name the file any more, but the log and its index are still those
    /// that were opened with it: whoever opens what is there now reads them with it.
    pub(crate) fn left_its_log(&self) -> bool {
        let is_there =
            |opened: &Option<OpenedFile>| opened.as_ref().is_some_and(|o| o.look().is_ok());
        self.file.look().is_err() && is_there(&self.log) && is_there(&self.index)
    }
}

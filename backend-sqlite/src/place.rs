//! The files of an open store. SQLite goes on with a file that its path no longer names: what is
//! committed then is stored nowhere.

use std::{
    fs::{self, Metadata},
    io,
    path::{Path, PathBuf},
};

use memkeep_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use crate::{
    connect::Access,
    error::{failed, file_failed},
};

/// What stands before the frames in a log, and before the page in a frame.
const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// Where an open store is, and which files were found there.
#[derive(Debug)]
pub(crate) struct Place {
    file: Opened,
    log: Option<Opened>,
    index: Option<Opened>,
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
            let identity = if there { identity(&path)? } else { None };
            Ok(identity.map(|identity| Opened { path, identity }))
        };
        Ok(Self {
            file: Opened { path: path.to_owned(), identity: file },
            log: beside("-wal")?,
            index: beside("-shm")?,
            page: page.map_err(failed)?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Whether the path names the file that was opened, and there is something in it. To be asked
    /// before SQLite reads: it deletes the log of a file that is empty.
    pub(crate) fn look_at_file(&self) -> Result<u64> {
        let bytes = self.file.look()?.len();
        if bytes < self.page { Err(self.cut(bytes)) } else { Ok(bytes) }
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
        let log = self.log.as_ref().map(Opened::look).transpose()?;
        Ok((file, log.map_or(0, |log| log.len())))
    }

    /// Like [`look`](Self::look), and whether a store of `pages` pages, as a transaction sees it,
    /// has room there: what is not in the file is in the log.
    pub(crate) fn holds(&self, pages: u64) -> Result<()> {
        let (file, log) = self.look()?;
        let frames = log.saturating_sub(LOG_HEADER) / (FRAME_HEADER + self.page);
        // The page where SQLite's locks are is never written.
        let written = file / self.page + frames + 1;
        if written < pages { Err(self.cut(file)) } else { Ok(()) }
    }

    /// Whether the path does not name the file any more, but the log and its index are still those
    /// that were opened with it: whoever opens what is there now reads them with it.
    pub(crate) fn left_its_log(&self) -> bool {
        let is_there = |opened: &Option<Opened>| opened.as_ref().is_some_and(|o| o.look().is_ok());
        self.file.look().is_err() && is_there(&self.log) && is_there(&self.index)
    }

    fn cut(&self, bytes: u64) -> Error {
        let message = format!("the file has been cut: {bytes} bytes are left");
        Error::new(ErrorKind::Corrupt, message).with("path", self.path().display())
    }
}

/// A file that was opened.
#[derive(Debug)]
struct Opened {
    path: PathBuf,
    identity: Identity,
}

impl Opened {
    fn look(&self) -> Result<Metadata> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => Some(found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => {
                let error = Error::new(ErrorKind::Unavailable, "the file cannot be reached");
                return Err(error.with("path", self.path.display()).caused_by(e));
            }
        };
        found.filter(|found| identity_of(found) == self.identity).ok_or_else(|| {
            let message = "the file was deleted or replaced while the store was open";
            Error::new(ErrorKind::Unavailable, message).with("path", self.path.display())
        })
    }
}

/// What tells a file from another that takes its name: device and inode.
pub(crate) type Identity = (u64, u64);

/// The identity of what has the name `path` now, if there is anything. (Only asked for: opening and
/// closing a file of SQLite's would take away the locks that this process has on it.)
pub(crate) fn identity(path: &Path) -> Result<Option<Identity>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(identity_of(&found))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(file_failed(e, path)),
    }
}

#[cfg(unix)]
fn identity_of(found: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (found.dev(), found.ino())
}

/// Elsewhere an open file is neither deleted nor replaced.
#[cfg(not(unix))]
fn identity_of(_: &Metadata) -> Identity {
    (0, 0)
}

/// How many links may lead to a store.
const LINKS: usize = 40;

/// The path that SQLite comes to from the absolute path `path`: it follows symbolic links, and keeps
/// its log beside what they lead to.
pub(crate) fn resolve(mut path: PathBuf) -> PathBuf {
    if cfg!(not(unix)) {
        return path;
    }
    for _ in 0..LINKS {
        if let Ok(resolved) = fs::canonicalize(&path) {
            return resolved;
        }
        let Some(folder) = path.parent() else { break };
        // It may be a link to what is not there yet.
        if let Ok(target) = fs::read_link(&path) {
            path = folder.join(target);
            continue;
        }
        if let (Ok(folder), Some(name)) = (fs::canonicalize(folder), path.file_name()) {
            path = folder.join(name);
        }
        break;
    }
    path
}

/// The path of a file beside the store in `path`.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

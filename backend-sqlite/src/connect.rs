//! How connections to a store are made.

use std::{
    error::Error as _,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use memkeep_core::{
    Error, ErrorKind, Result,
    embedded::file::{self, Identity, with_suffix},
};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, config::DbConfig, ffi};

use crate::{SqliteConfig, Synchronous, error::failed, place::Place, schema};

/// How many statements a connection keeps prepared: more than there are.
const STATEMENTS: usize = 256;

/// How much of the file a connection remembers: enough for what merging a recall index goes back to.
const CACHE_KIB: u32 = 16 << 10;

/// The longest time that SQLite can be told to wait: 2^31 - 1 milliseconds.
const LONGEST_WAIT: Duration = Duration::from_millis(0x7fff_ffff);

/// How long an opener that met a lock waits before it tries again.
const RETRY: Duration = Duration::from_millis(5);

/// Where a store is, and how it may be used.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    /// The absolute path, without links once the store is open; none in memory.
    pub(crate) path: Option<PathBuf>,
    /// Where the store that is open was found; none in memory.
    pub(crate) place: Option<Arc<Place>>,
    pub(crate) synchronous: Synchronous,
    busy_timeout: Duration,
    pub(crate) access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadWrite,
    ReadOnly,
    /// Read only, in a folder where SQLite cannot make the files that it shares with writers. There
    /// are none of them then, and the file is taken to stay as it is.
    Immutable,
}

impl Connector {
    /// Opens the store and brings it to this program's version. The connection is the writer's.
    pub(crate) fn open(config: &SqliteConfig) -> Result<(Self, Connection)> {
        let mut connector = Self {
            path: config.path.as_deref().map(file::absolute).transpose()?,
            place: None,
            synchronous: config.synchronous,
            busy_timeout: config.busy_timeout.min(LONGEST_WAIT),
            access: if config.read_only { Access::ReadOnly } else { Access::ReadWrite },
        };
        let opened = connector.open_retrying();
        let connection = opened.map_err(|e| match &connector.path {
            Some(path) if e.get("path").is_none() => e.with("path", path.display()),
            _ => e,
        })?;
        Ok((connector, connection))
    }

    /// Not every lock that openers of one new file meet is waited for inside SQLite: the switch to
    /// WAL is not.
    fn open_retrying(&mut self) -> Result<Connection> {
        let started = Instant::now();
        loop {
            match self.open_once() {
                Err(error)
                    if error.kind() == ErrorKind::Timeout
                        && started.elapsed() < self.busy_timeout =>
                {
                    thread::sleep(RETRY);
                }
                opened => return opened,
            }
        }
    }

    fn open_once(&mut self) -> Result<Connection> {
        let Some(named) = self.path.clone() else {
            let mut connection = Connection::open_in_memory().map_err(failed)?;
            self.configure(&connection)?;
            schema::migrate(&mut connection, schema::MIGRATIONS)?;
            return Ok(connection);
        };
        let path = file::approach(&named, self.access == Access::ReadWrite)?;
        self.path = Some(path.clone());
        match self.open_file(&path) {
            Err(error) if is_refused(&error) && self.becomes_immutable(&path, &error)? => {
                self.open_file(&path)
            }
            opened => opened,
        }
    }

    fn open_file(&mut self, path: &Path) -> Result<Connection> {
        // The log is asked for first: nobody makes one for a file that is empty.
        if has_log(path) && fs::metadata(path).is_ok_and(|file| file.len() == 0) {
            let message = "the file is empty, but there is a store's log beside it";
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if self.access == Access::ReadWrite && has_journal(path) {
            self.look_at_unfinished(path)?;
        }
        let (mut connection, file) = self.connect_to_one(path)?;
        // If the store is refused, closing it must not move into the file what another program
        // left in its log.
        let has_log = self.access == Access::ReadWrite && has_log(path);
        let keep_log = |keep| keep_log(&connection, keep && has_log);
        keep_log(true)?;
        let version = schema::version(&connection)?;
        keep_log(false)?;
        if connection.is_readonly(MAIN_DB).map_err(failed)? && self.access == Access::ReadWrite {
            self.access = Access::ReadOnly;
        }
        if self.access == Access::ReadWrite {
            switch_to_wal(&connection)?;
            self.configure(&connection)?;
            schema::migrate(&mut connection, schema::MIGRATIONS)?;
        } else {
            if version < schema::current_version() {
                let message = format!(
                    "the store has schema version {version} and must be written to be used by \
                     this program, which has version {}",
                    schema::current_version()
                );
                return Err(Error::new(ErrorKind::ReadOnly, message));
            }
            self.configure(&connection)?;
        }
        self.place = Some(Arc::new(Place::new(path, file, self.access, &connection)?));
        Ok(connection)
    }

    /// A connection that has read nothing yet, and the identity of its file.
    fn connect_to_one(&self, path: &Path) -> Result<(Connection, Identity)> {
        loop {
            let before = Identity::at(path)?;
            let connection = self.connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
            // If it was replaced meanwhile, it is not known which of the two was opened.
            match Identity::at(path)? {
                Some(file) if before.is_none_or(|before| before == file) => {
                    return Ok((connection, file));
                }
                _ => {}
            }
        }
    }

    /// Refuses a file that is no store but has a transaction that its program did not finish: to
    /// open it for writing would take that back.
    fn look_at_unfinished(&self, path: &Path) -> Result<()> {
        let version = |access| {
            let connection = Self { access, ..self.clone() }.connect(path, OpenFlags::empty())?;
            keep_log(&connection, true)?;
            schema::version(&connection)
        };
        // A connection that may not write leaves it, but cannot read either.
        match version(Access::ReadOnly) {
            Err(error) if extended_code(&error) == Some(ffi::SQLITE_READONLY_ROLLBACK) => {}
            _ => return Ok(()),
        }
        // Nobody is writing there, so that no lock matters. What is half-written may be unreadable,
        // which says nothing about whose it is.
        match version(Access::Immutable) {
            Err(error) if error.source().is_none() => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether the store can be read if it is taken to be immutable; if not because of the folder,
    /// the error says so.
    fn becomes_immutable(&mut self, path: &Path, refused: &Error) -> Result<bool> {
        let Err(error) = try_to_write_beside(path) else { return Ok(false) };
        if !path.exists() {
            return Err(file::failed(error, path));
        }
        if has_log(path) || has_journal(path) {
            let message = "the folder cannot be written, and the store's log must be read with it";
            return Err(Error::new(ErrorKind::Unavailable, message).caused_by(refused.clone()));
        }
        self.access = Access::Immutable;
        Ok(true)
    }

    /// A connection for reading.
    pub(crate) fn reader(&self) -> Result<Connection> {
        let Some(path) = &self.path else {
            let message = "a store in memory has no second connection";
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        // It is not opened where it is gone, and what was opened is not read where it is another.
        let look = || self.place.as_ref().map_or(Ok(()), |place| place.look().map(drop));
        look()?;
        let connection = self.connect(path, OpenFlags::empty())?;
        look()?;
        self.configure(&connection)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        Ok(connection)
    }

    fn connect(&self, path: &Path, create: OpenFlags) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match self.access {
            Access::ReadWrite => {
                let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | create;
                open_to_write(path, flags)
            }
            Access::ReadOnly => {
                Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)
            }
            Access::Immutable => {
                let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(immutable_uri(path)?, flags)
            }
        };
        let connection = opened.map_err(failed)?;
        connection.busy_timeout(self.busy_timeout).map_err(failed)?;
        Ok(connection)
    }

    fn configure(&self, connection: &Connection) -> Result<()> {
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let pragmas = format!(
            "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; \
             PRAGMA cache_size = -{CACHE_KIB}; PRAGMA synchronous = {}",
            self.synchronous.as_str()
        );
        connection.execute_batch(&pragmas).map_err(failed)
    }
}

/// A connection that writes, if the file can be written.
///
/// If opening a file for writing fails, for whatever reason, SQLite says nothing and opens it for
/// reading. What has passed meanwhile does not fail a second time.
pub(crate) fn open_to_write(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    if !connection.is_readonly(MAIN_DB)? {
        return Ok(connection);
    }
    Connection::open_with_flags(path, flags)
}

fn switch_to_wal(connection: &Connection) -> Result<()> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(failed)?;
    if mode == "wal" {
        return Ok(());
    }
    let message = "the file system does not allow a write-ahead log";
    Err(Error::new(ErrorKind::Unsupported, message).with("journal_mode", mode))
}

/// Whether closing the connection leaves the log as it is.
pub(crate) fn keep_log(connection: &Connection, keep: bool) -> Result<()> {
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)
        .map(drop)
        .map_err(failed)
}

fn sqlite_error(error: &Error) -> Option<&rusqlite::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

fn extended_code(error: &Error) -> Option<std::ffi::c_int> {
    Some(sqlite_error(error)?.sqlite_error()?.extended_code)
}

/// Whether SQLite was not let in, or could not make one of its files.
fn is_refused(error: &Error) -> bool {
    matches!(
        sqlite_error(error).and_then(rusqlite::Error::sqlite_error_code),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// Permissions say too little (a file system may be mounted read-only), so it is tried.
fn try_to_write_beside(path: &Path) -> io::Result<()> {
    let probe = with_suffix(path, &format!("-probe-{}", std::process::id()));
    match OpenOptions::new().write(true).create(true).truncate(false).open(&probe) {
        Ok(_) => fs::remove_file(&probe),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(error)
        }
        // Something else is wrong, which the first error tells better.
        Err(_) => Ok(()),
    }
}

/// Whether there is something in the write-ahead log of the store in `path`.
fn has_log(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// Whether there is something to take back an unfinished transaction with. A store has it only for
/// the moment in which its file is made.
fn has_journal(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-journal")).is_ok_and(|journal| journal.len() > 0)
}

fn immutable_uri(path: &Path) -> Result<String> {
    let text = path.to_str().ok_or_else(|| {
        Error::invalid("path", "a store in a folder that cannot be written needs a path in UTF-8")
    })?;
    let mut uri = "file:".to_owned();
    if !text.starts_with('/') {
        uri.push('/');
    }
    for c in text.chars() {
        match c {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            '\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push(c),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

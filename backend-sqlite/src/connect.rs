//! How connections to a store are made.

use std::{
    error::Error as _,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use memkeep_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, config::DbConfig};

use crate::{
    SqliteConfig, Synchronous,
    error::{failed, file_failed},
    schema,
};

/// How many statements a connection keeps prepared: more than there are.
const STATEMENTS: usize = 256;

/// The longest time that SQLite can be told to wait: 2^31 - 1 milliseconds.
const LONGEST_WAIT: Duration = Duration::from_millis(0x7fff_ffff);

/// How long an opener that met a lock waits before it tries again.
const RETRY: Duration = Duration::from_millis(5);

/// Where a store is, and how it may be used.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    /// The absolute path; none in memory.
    pub(crate) path: Option<PathBuf>,
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
        let absolute = |path| {
            std::path::absolute(path)
                .map_err(|e| Error::invalid("path", "not a path of a file").caused_by(e))
        };
        let mut connector = Self {
            path: config.path.as_ref().map(absolute).transpose()?,
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
        let Some(path) = self.path.clone() else {
            let mut connection = Connection::open_in_memory().map_err(failed)?;
            self.configure(&connection)?;
            schema::migrate(&mut connection, schema::MIGRATIONS)?;
            return Ok(connection);
        };
        if path.is_dir() {
            return Err(Error::new(ErrorKind::Corrupt, "the path is that of a folder"));
        }
        if self.access == Access::ReadWrite
            && let Some(folder) = path.parent()
        {
            fs::create_dir_all(folder).map_err(|e| file_failed(e, folder))?;
        } else if !path.exists() {
            return Err(Error::new(ErrorKind::NotFound, "there is no such file"));
        }
        match self.open_file(&path) {
            Err(error) if is_refused(&error) && self.becomes_immutable(&path, &error)? => {
                self.open_file(&path)
            }
            opened => opened,
        }
    }

    fn open_file(&mut self, path: &Path) -> Result<Connection> {
        let mut connection = self.connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        // If the store is refused, closing it must not move into the file what another program
        // left in its log.
        let has_log = self.access == Access::ReadWrite && has_log(path);
        let keep_log = |keep| {
            connection
                .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep && has_log)
                .map_err(failed)
        };
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
        Ok(connection)
    }

    /// Whether the store can be read if it is taken to be immutable; if not because of the folder,
    /// the error says so.
    fn becomes_immutable(&mut self, path: &Path, refused: &Error) -> Result<bool> {
        let Err(error) = try_to_write_beside(path) else { return Ok(false) };
        if !path.exists() {
            return Err(file_failed(error, path));
        }
        if has_log(path) {
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
        let connection = self.connect(path, OpenFlags::empty())?;
        self.configure(&connection)?;
        connection.pragma_update(None, "query_only", true).map_err(failed)?;
        Ok(connection)
    }

    fn connect(&self, path: &Path, create: OpenFlags) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match self.access {
            Access::ReadWrite => {
                let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | create;
                Connection::open_with_flags(path, flags)
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
             PRAGMA synchronous = {}",
            self.synchronous.as_str()
        );
        connection.execute_batch(&pragmas).map_err(failed)
    }
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

/// Whether SQLite was not let in, or could not make one of its files.
fn is_refused(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<rusqlite::Error>());
    matches!(
        source.and_then(rusqlite::Error::sqlite_error_code),
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

fn has_log(path: &Path) -> bool {
    log_bytes(path) > 0
}

/// The size of the write-ahead log of the store in `path`. (Only asked for: opening and closing a
/// file of SQLite's would take away the locks that this process has on it.)
pub(crate) fn log_bytes(path: &Path) -> u64 {
    fs::metadata(with_suffix(path, "-wal")).map_or(0, |log| log.len())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
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

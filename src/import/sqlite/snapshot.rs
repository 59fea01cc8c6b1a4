use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use super::scratch::Scratch;
use crate::{
    Error, ErrorKind, Result,
    import::{source::unreadable, source_file::SourceFile},
};

/// How often, and how far apart, a copy is tried while a program writes.
const TRIES: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// A private copy of a database with its log, gone when it is dropped.
///
/// SQLite itself must not open the source: even a reader makes a `-shm` file beside a database in
/// WAL mode, or changes the one that is there.
pub(super) struct Snapshot {
    _scratch: Scratch,
    path: PathBuf,
}

impl Snapshot {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Copies the database `path` as it was at one moment, also while a program writes to it.
///
/// In WAL mode the database is copied first and the log after it. Every page that a checkpoint
/// changed meanwhile is then in the log's copy, unless the log was begun anew, which its header
/// shows. A rollback journal is copied after the database likewise, and without a log nothing may
/// have changed.
pub(super) fn take(path: &Path) -> Result<Snapshot> {
    let source = fs::canonicalize(path).map_err(|e| unreadable(path, e))?;
    let scratch = Scratch::new().map_err(not_copied)?;
    let copy = scratch.path().join("source.db");
    for attempt in 0..TRIES {
        if attempt > 0 {
            thread::sleep(PAUSE);
        }
        let before = State::of(&source).map_err(|e| unreadable(path, e))?;
        copy_file(&source, &copy).map_err(not_copied)?;
        for suffix in ["-wal", "-journal"] {
            copy_file(&beside(&source, suffix), &beside(&copy, suffix)).map_err(not_copied)?;
        }
        let after = State::of(&source).map_err(|e| unreadable(path, e))?;
        if before.agrees_with(&after) {
            return Ok(Snapshot { _scratch: scratch, path: copy });
        }
    }
    let message = "the file is written to without a pause; try again when the program rests";
    Err(Error::new(ErrorKind::Unavailable, message).with("path", path.display()))
}

/// What tells whether a copy is of one moment.
#[derive(PartialEq)]
struct State {
    /// The header holds a counter of changes, except for those that go through a log.
    header: Vec<u8>,
    stamp: Option<Stamp>,
    /// The header of the write-ahead log, with the salts of its present run.
    log: Option<Vec<u8>>,
    journal: Option<Stamp>,
}

type Stamp = (u64, Option<SystemTime>);

impl State {
    fn of(source: &Path) -> io::Result<Self> {
        Ok(Self {
            header: head(source, 100)?.ok_or(io::ErrorKind::NotFound)?,
            stamp: stamp(source)?,
            log: head(&beside(source, "-wal"), 32)?,
            journal: stamp(&beside(source, "-journal"))?,
        })
    }

    fn agrees_with(&self, after: &Self) -> bool {
        if self.log.is_some() {
            self.log == after.log && self.journal == after.journal
        } else {
            self == after
        }
    }
}

/// The first bytes of a file, if it is there.
fn head(path: &Path, bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = if_there(SourceFile::open(path))? else { return Ok(None) };
    let mut head = Vec::new();
    file.take(bytes).read_to_end(&mut head)?;
    Ok(Some(head))
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let meta = if_there(fs::metadata(path))?;
    Ok(meta.map(|meta| (meta.len(), meta.modified().ok())))
}

fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Copies a file's content, or removes the copy of one that is not there. Its permissions are not
/// copied: the copy is written to when its log is folded in.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    match if_there(SourceFile::open(from))? {
        Some(mut file) => io::copy(&mut file, &mut File::create(to)?).map(drop),
        None => if_there(fs::remove_file(to)).map(drop),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn not_copied(error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull => ErrorKind::StorageFull,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, "the file cannot be copied to the folder for temporary files").caused_by(error)
}

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead, BufReader, BufWriter, Write},
    path::{Path, PathBuf},
};

use memkeep_core::{Error, ErrorKind, Result, decide::Change};
use serde::{Deserialize, Serialize};

use crate::tables::Tables;

/// The version of the format that this program writes.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Header {
    memkeep_log: u32,
}

/// Every other line: the changes of one commit, and the number that its first new row gets.
#[derive(Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    pub(crate) changes: Vec<Change>,
}

impl Entry {
    pub(crate) fn apply(self, tables: &mut Tables) {
        tables.next = self.at;
        self.changes.into_iter().for_each(|change| tables.apply(change));
    }
}

/// The file, open to be appended to.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// Where the last commit ends.
    len: u64,
    /// Holds the lock for as long as it is open. It is a file of its own, because `compact` puts
    /// another in the place of the log.
    _lock: File,
}

impl Log {
    /// Opens the log, and makes the tables that it tells of.
    pub(crate) fn open(path: &Path) -> Result<(Self, Tables)> {
        fs::create_dir_all(folder(path)).map_err(failed)?;
        let lock = lock(path)?;
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut log =
            Self { path: path.to_owned(), file: file.map_err(failed)?, len: 0, _lock: lock };
        let mut tables = Tables::default();
        log.replay(&mut tables)?;
        Ok((log, tables))
    }

    fn replay(&mut self, tables: &mut Tables) -> Result<()> {
        let header = line(&Header { memkeep_log: FORMAT })?;
        let mut reader = BufReader::new(&self.file);
        let mut bytes = Vec::new();
        for number in 1.. {
            bytes.clear();
            let read = reader.read_until(b'\n', &mut bytes).map_err(failed)? as u64;
            let corrupt = |message| Error::corrupt("log", format_args!("line {number}"), message);
            let json = checked(&bytes);
            if number == 1 {
                let begun = json.is_none() && header.starts_with(&bytes);
                let version = json
                    .and_then(|json| serde_json::from_slice(json).ok())
                    .map(|h: Header| h.memkeep_log);
                match version {
                    Some(FORMAT) => {}
                    Some(newer) if newer > FORMAT => {
                        let message = format!("the file has format {newer}, known is {FORMAT}");
                        return Err(Error::new(ErrorKind::SchemaTooNew, message));
                    }
                    _ if begun => break,
                    _ => return Err(corrupt("this is no log of memkeep")),
                }
            } else if let Some(json) = json {
                let unknown = |e| corrupt("no such change is known").caused_by(e);
                serde_json::from_slice::<Entry>(json).map_err(unknown)?.apply(tables);
            } else if reader.fill_buf().map_err(failed)?.is_empty() {
                // The last line, or the end: a commit that did not return.
                break;
            } else {
                return Err(corrupt("the line is not what was written"));
            }
            self.len += read;
        }
        if self.len == 0 {
            self.cut().map_err(failed)?;
            self.write(&header)?;
            sync_folder(&self.path).map_err(failed)?;
        }
        self.cut().map_err(failed)
    }

    /// Appends one commit: it is on the disk when this returns, or not in the log.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<()> {
        let line = line(entry)?;
        // A line that goes to a file which was moved away would be acknowledged and lost.
        let there = fs::metadata(&self.path).is_ok_and(|file| file.len() == self.len);
        if !there {
            let message = "the file was moved, or another program wrote to it";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        self.write(&line)
    }

    fn write(&mut self, line: &[u8]) -> Result<()> {
        let written = self.file.write_all(line).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If this fails too, the length tells the next commit that something is wrong.
            let _ = self.cut();
            return Err(failed(error));
        }
        self.len += line.len() as u64;
        Ok(())
    }

    /// Cuts off what comes after the last commit.
    fn cut(&self) -> io::Result<()> {
        if self.file.metadata()?.len() > self.len {
            self.file.set_len(self.len)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Writes the file anew, without what has been deleted.
    pub(crate) fn compact(&mut self, tables: &Tables) -> Result<()> {
        let path = beside(&self.path, ".new");
        // One may be there, left behind by a crash.
        File::create(&path).map_err(failed)?;
        let file = OpenOptions::new().append(true).open(&path).map_err(failed)?;
        let mut out = BufWriter::new(&file);
        let mut write = |line: Vec<u8>| out.write_all(&line).map_err(failed);
        write(line(&Header { memkeep_log: FORMAT })?)?;
        for (at, change) in tables.snapshot() {
            write(line(&Entry { at, changes: vec![change] })?)?;
        }
        // Numbers go on where they were, though the last rows may be gone.
        write(line(&Entry { at: tables.next, changes: Vec::new() })?)?;
        out.flush().and_then(|()| file.sync_all()).map_err(failed)?;
        drop(out);
        let len = file.metadata().map_err(failed)?.len();
        fs::rename(&path, &self.path).map_err(failed)?;
        (self.file, self.len) = (file, len);
        sync_folder(&self.path).map_err(failed)
    }
}

/// A line: the checksum of the JSON, a space, the JSON, which holds no line break.
fn line(value: &impl Serialize) -> Result<Vec<u8>> {
    let unexpected = |e| Error::new(ErrorKind::Unexpected, "not to be written").caused_by(e);
    let json = serde_json::to_string(value).map_err(unexpected)?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())).into_bytes())
}

/// The JSON of a line, if it is whole.
fn checked(line: &[u8]) -> Option<&[u8]> {
    let (checksum, json) = line.strip_suffix(b"\n")?.split_at_checked(9)?;
    let checksum = std::str::from_utf8(checksum).ok()?.strip_suffix(' ')?;
    (u32::from_str_radix(checksum, 16) == Ok(crc32fast::hash(json))).then_some(json)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Makes the names in the folder of `path` durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

fn lock(path: &Path) -> Result<File> {
    let file = File::create(beside(path, ".lock")).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(error)) => Err(failed(error)),
        Err(TryLockError::WouldBlock) => {
            let message = "another handle has the store open";
            Err(Error::new(ErrorKind::AlreadyOpen, message))
        }
    }
}

/// What a failure of the file system means to a caller. Its own words stay as the cause.
fn failed(error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::StorageFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => ErrorKind::ReadOnly,
        _ => ErrorKind::Unexpected,
    };
    Error::new(kind, "the file system failed").caused_by(error)
}

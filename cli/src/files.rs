//! Files that commands write, and those of the store, which they must leave alone.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use memkeep::{Error, ErrorKind, Json, Result};

/// What SQLite keeps beside a store.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// What an error of the system is to memkeep.
pub(crate) fn kind(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::StorageFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => ErrorKind::ReadOnly,
        io::ErrorKind::IsADirectory | io::ErrorKind::InvalidFilename => ErrorKind::InvalidArgument,
        _ => ErrorKind::Unexpected,
    }
}

/// What the system said, without the name of a temporary file that was added to it.
pub(crate) fn plain(error: io::Error) -> io::Error {
    let said = error.to_string();
    match said.split_once(" at path \"") {
        Some((said, _)) if error.raw_os_error().is_none() => io::Error::new(error.kind(), said),
        _ => error,
    }
}

/// The file `path` cannot be written.
pub(crate) fn unwritable(error: io::Error, path: &Path) -> Error {
    let message = "the file cannot be written";
    Error::new(kind(&error), message).with("path", path.display()).caused_by(plain(error))
}

/// The folder that the file `path` is in.
pub(crate) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file that is written if `path` is: what links lead to, whether it is there yet or not.
pub(crate) fn target(path: &Path) -> PathBuf {
    /// How many links may lead to a file.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => break,
        }
    }
    match (fs::canonicalize(folder(&path)), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// `Conflict` if writing to `path` would write to the store in `store`, by whatever name.
pub(crate) fn keep_off(store: Option<&Path>, path: &Path) -> Result<()> {
    let Some(store) = store.map(target) else { return Ok(()) };
    let (target, identity) = (target(path), identity(path));
    let is_store = SUFFIXES.into_iter().any(|suffix| {
        let mut file = store.clone().into_os_string();
        file.push(suffix);
        let file = PathBuf::from(file);
        file == target || identity.is_some() && identity == self::identity(&file)
    });
    if is_store {
        let message = "the file is one of the store itself, and is not overwritten";
        return Err(Error::new(ErrorKind::Conflict, message).with("path", path.display()));
    }
    Ok(())
}

/// What tells a file from all others, whatever its names. It is only asked for: to open and close a
/// file of SQLite's would take away the locks that this process has on it.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// Whether the file is an export, by its first line.
pub(crate) fn is_export(path: &Path) -> io::Result<bool> {
    /// Longer than the first line of any export.
    const LINE: u64 = 1_024;
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(LINE)).read_until(b'\n', &mut line)?;
    let header = serde_json::from_slice::<Json>(&line);
    Ok(header.is_ok_and(|header| header.get("memkeep_export").is_some_and(Json::is_u64)))
}

//! What the engines that keep a store in a file have in common: which file it is, and whether it
//! still is that file. An open file can be read and written after its path names another; what is
//! committed to it then is stored nowhere.

use std::{
    fs::{self, File, Metadata},
    io,
    path::{Path, PathBuf},
};

use crate::{Error, ErrorKind, Result};

/// How many symbolic links may lead to a store.
const LINKS: usize = 40;

/// A file that was opened under a path.
#[derive(Debug)]
pub struct OpenedFile {
    path: PathBuf,
    identity: Identity,
}

impl OpenedFile {
    /// The file `identity`, which was found under `path` when it was opened.
    pub fn new(path: impl Into<PathBuf>, identity: Identity) -> Self {
        Self { path: path.into(), identity }
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file system says of it now.
    ///
    /// Errors: `Unavailable` if it was deleted or replaced, or cannot be reached.
    pub fn look(&self) -> Result<Metadata> {
        let found = match fs::metadata(&self.path) {
            Ok(found) => Some(found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => {
                let error = Error::new(ErrorKind::Unavailable, "the file cannot be reached");
                return Err(error.with("path", self.path.display()).caused_by(e));
            }
        };
        found.filter(|found| Identity::of(found) == self.identity).ok_or_else(|| {
            let message = "the file was deleted or replaced while the store was open";
            Error::new(ErrorKind::Unavailable, message).with("path", self.path.display())
        })
    }

    /// `Corrupt`: only `bytes` are left of it.
    pub fn cut(&self, bytes: u64) -> Error {
        let message = format!("the file has been cut: {bytes} bytes are left");
        Error::new(ErrorKind::Corrupt, message).with("path", self.path.display())
    }
}

/// What tells a file from another that takes its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// That of the file which `found` is about.
    #[cfg(unix)]
    pub fn of(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(found.dev(), found.ino())
    }

    /// Elsewhere an open file is neither deleted nor replaced.
    #[cfg(not(unix))]
    pub fn of(_: &Metadata) -> Self {
        Self(0, 0)
    }

    /// That of what has the name `path` now, if there is anything. (Only asked for: opening and
    /// closing a file may take away the locks that this process has on it.)
    pub fn at(path: &Path) -> Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(found) => Ok(Some(Self::of(&found))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed(e, path)),
        }
    }
}

/// The absolute form of `path`.
///
/// Errors: `InvalidArgument` for one that is no path of a file.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|e| Error::invalid("path", "not a path of a file").caused_by(e))
}

/// The path that opening the absolute path `path` comes to, whether or not there is a file yet:
/// symbolic links are followed.
pub fn resolve(mut path: PathBuf) -> PathBuf {
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

/// Makes ready to open the store that the absolute path `path` names, and tells where that is, with
/// links resolved. Its folder is made if the store is `writable`, and then stays after a power cut.
///
/// Errors: `Corrupt` for a folder, `NotFound` for a file that is only to be read and does not exist,
/// and those of [`failed`].
pub fn approach(path: &Path, writable: bool) -> Result<PathBuf> {
    if path.is_dir() {
        return Err(Error::new(ErrorKind::Corrupt, "the path is that of a folder"));
    }
    if writable {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
    } else if !path.exists() {
        return Err(Error::new(ErrorKind::NotFound, "there is no such file"));
    }
    Ok(resolve(path.to_owned()))
}

/// Makes the folder of the absolute path `folder` and those that it is in, as far as they are not
/// there, so that a power cut takes none of them away.
fn make_folder(folder: &Path) -> Result<()> {
    let made: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    let kept = fs::create_dir_all(folder)
        .map_err(|e| failed(e, folder))
        .and_then(|()| made.iter().rev().try_for_each(|folder| keep_name(folder)));
    if kept.is_err() {
        // Whoever comes next must not take them for folders that stay.
        for folder in made {
            // One that is not empty is somebody else's too.
            let _ = fs::remove_dir(folder);
        }
    }
    kept
}

/// The path of a file beside that in `path`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Fills a file that is not there yet, such as a backup; `fill` is given its absolute path. What a
/// failure leaves is removed.
///
/// Errors: `Conflict` if there is a file, and those of [`failed`] and of `fill`.
pub fn fill_new(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let path = std::path::absolute(path).map_err(|e| failed(e, path))?;
    // The name is taken first, so that nothing that is there is ever overwritten.
    File::create_new(&path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Error::new(ErrorKind::Conflict, "there is a file already").with("path", path.display())
        }
        _ => failed(error, &path),
    })?;
    fill(&path).and_then(|()| keep_name(&path)).map_err(|error| {
        // What is left is no store; if it cannot be removed, the error is the same.
        let _ = fs::remove_file(&path);
        if error.get("path").is_none() { error.with("path", path.display()) } else { error }
    })
}

/// Makes sure that a power cut does not take the name of the file or folder `path` away.
pub fn keep_name(path: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|e| failed(e, folder))?;
    }
    let _ = path;
    Ok(())
}

/// What an error of the file system about `path` means to a caller.
pub fn failed(error: io::Error, path: &Path) -> Error {
    let (kind, message) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::StorageFull, "no room is left")
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            (ErrorKind::ReadOnly, "it may not be written there")
        }
        _ => (ErrorKind::Unavailable, "the path cannot be used"),
    };
    Error::new(kind, message).with("path", path.display()).caused_by(error)
}

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Result;

/// Where the stores of a run are; removed at its end.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new(parent: Option<&Path>) -> Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        Ok(Self(tempfile::Builder::new().prefix("memkeep-bench-").tempdir_in(parent)?))
    }

    /// The path of `name` in it, where nothing needs to be.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A new folder called `name`.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        fs::create_dir(&path)?;
        Ok(path)
    }
}

/// The bytes of a file and of those that SQLite keeps beside it, or of all files in a folder.
pub(crate) fn bytes(path: &Path) -> Result<u64> {
    if path.is_dir() {
        return fs::read_dir(path)?.map(|entry| Ok(entry?.metadata()?.len())).sum();
    }
    let beside = ["", "-wal", "-shm"].map(|suffix| {
        let mut path = path.as_os_str().to_owned();
        path.push(suffix);
        fs::metadata(path).map_or(0, |file| file.len())
    });
    Ok(beside.iter().sum())
}

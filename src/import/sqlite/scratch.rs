use std::{
    fs::{self, File, Metadata},
    io,
    path::Path,
};

use tempfile::TempDir;

/// What the folders are called, before what tells one from another.
const PREFIX: &str = "memkeep-import-";

/// The file that is locked in each while it is used.
const LOCK: &str = "lock";

/// A private folder for temporary files, gone when it is dropped.
///
/// What ends the process before leaves it, with the copy of a whole database in it. So it is locked
/// while it is used, and whoever makes another first removes those of this user that no living
/// process has locked.
pub(super) struct Scratch {
    // The folder goes before the lock does.
    folder: TempDir,
    _lock: File,
}

impl Scratch {
    pub(super) fn new() -> io::Result<Self> {
        loop {
            let scratch = Self::made()?;
            // One that was taken for a left one, before it was locked, has been removed.
            if let Some(scratch) = scratch {
                scratch.clear_up();
                return Ok(scratch);
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// None if somebody else was quicker to lock it.
    fn made() -> io::Result<Option<Self>> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o700));
        }
        let folder = builder.tempdir()?;
        let path = folder.path().join(LOCK);
        let lock = File::create_new(&path)?;
        let is_ours = lock.try_lock().is_ok() && path.exists();
        Ok(is_ours.then_some(Self { folder, _lock: lock }))
    }

    /// Removes what others left. What cannot be removed stays: that is no reason not to go on.
    fn clear_up(&self) {
        let Some(parent) = self.path().parent() else { return };
        let (Ok(own), Ok(others)) = (fs::symlink_metadata(self.path()), fs::read_dir(parent))
        else {
            return;
        };
        for other in others.flatten() {
            let is_named_so = other.file_name().to_string_lossy().starts_with(PREFIX);
            if is_named_so && other.metadata().is_ok_and(|found| is_of_same_user(&found, &own)) {
                let _ = remove_if_left(&other.path());
            }
        }
    }
}

/// The folder is locked while it is removed: nobody begins to use it meanwhile.
fn remove_if_left(folder: &Path) -> io::Result<()> {
    // One without a lock is just being made.
    let lock = File::options().write(true).open(folder.join(LOCK))?;
    lock.try_lock()?;
    fs::remove_dir_all(folder)
}

/// Whether `found` is a folder, and nobody else's: anybody may put anything into a folder for
/// temporary files.
fn is_of_same_user(found: &Metadata, own: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        found.is_dir() && found.uid() == own.uid()
    }
    #[cfg(not(unix))]
    {
        let _ = own;
        found.is_dir()
    }
}

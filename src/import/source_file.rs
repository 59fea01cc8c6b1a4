use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    sync::Arc,
};

/// A source file, opened for reading.
///
/// On Unix, closing a file drops all locks that the process has on it, those of a database included
/// that the same process has open: a store, or the source itself. So it is closed only when nobody
/// else here has it open; until then it is kept.
pub(super) struct SourceFile {
    file: Arc<File>,
    at: u64,
}

impl SourceFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: kept::open(path)?, at: 0 })
    }
}

impl Read for SourceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = kept::read_at(&self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Drop for SourceFile {
    fn drop(&mut self) {
        kept::close(&self.file);
    }
}

#[cfg(unix)]
mod kept {
    use std::{
        fs::{self, File, Metadata},
        io,
        os::{
            fd::AsRawFd as _,
            unix::fs::{FileExt as _, MetadataExt as _},
        },
        path::Path,
        sync::{Arc, Mutex, MutexGuard, PoisonError},
    };

    /// All source files that are open: those in use, and those that had to be kept.
    static OPEN: Mutex<Vec<Arc<File>>> = Mutex::new(Vec::new());

    fn all() -> MutexGuard<'static, Vec<Arc<File>>> {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn identity(file: &Metadata) -> (u64, u64) {
        (file.dev(), file.ino())
    }

    /// Several readers share one open file, so that none closes it under another.
    pub(super) fn open(path: &Path) -> io::Result<Arc<File>> {
        let wanted = identity(&fs::metadata(path)?);
        let mut all = all();
        let is_wanted = |file: &&Arc<File>| file.metadata().is_ok_and(|m| identity(&m) == wanted);
        if let Some(file) = all.iter().find(is_wanted) {
            return Ok(file.clone());
        }
        let file = Arc::new(File::open(path)?);
        all.push(file.clone());
        Ok(file)
    }

    /// Its offset belongs to all who share the file.
    pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        file.read_at(buffer, at)
    }

    /// Closes this file and others that were kept, as far as that is harmless now.
    pub(super) fn close(closing: &Arc<File>) {
        all().retain(|file| {
            // One count is the list's; the file being closed has one more.
            let users = Arc::strong_count(file) - 1 - usize::from(Arc::ptr_eq(file, closing));
            users > 0 || is_open_elsewhere(file)
        });
    }

    /// Whether this process has the file open under another descriptor. Where that cannot be told,
    /// it may be.
    fn is_open_elsewhere(file: &File) -> bool {
        let (Ok(own), Ok(descriptors)) = (file.metadata(), fs::read_dir("/dev/fd")) else {
            return true;
        };
        let number = file.as_raw_fd().to_string();
        descriptors.flatten().filter(|entry| entry.file_name() != number.as_str()).any(|entry| {
            fs::metadata(entry.path()).is_ok_and(|other| identity(&other) == identity(&own))
        })
    }
}

#[cfg(not(unix))]
mod kept {
    use std::{
        fs::File,
        io::{self, Read as _, Seek as _, SeekFrom},
        path::Path,
        sync::Arc,
    };

    pub(super) fn open(path: &Path) -> io::Result<Arc<File>> {
        File::open(path).map(Arc::new)
    }

    pub(super) fn read_at(mut file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        file.seek(SeekFrom::Start(at))?;
        file.read(buffer)
    }

    pub(super) fn close(_: &Arc<File>) {}
}

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use memkeep_core::{Clock, Durability, ManualClock, MemoryBackend, Result, SystemClock, Timestamp};
use memkeep_redb::{RedbConfig, RedbDurability};
use memkeep_sqlite::{SqliteConfig, Synchronous};
use tempfile::TempDir;

use crate::{
    calls::{self, Watch},
    disk::{Image, Recorder},
};

/// The name of the store in its folder.
pub const STORE: &str = "memory.db";

type Open = fn(PathBuf, Arc<dyn Clock>) -> Opening;
type Opening = Pin<Box<dyn Future<Output = Result<Arc<dyn MemoryBackend>>> + Send>>;

/// A backend that keeps its stores in files.
#[derive(Clone)]
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// What a commit that returned has survived.
    pub durability: Durability,
    open: Open,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.name, self.durability)
    }
}

impl Subject {
    /// SQLite.
    pub fn sqlite() -> Self {
        Self {
            name: "sqlite",
            durability: Durability::Power,
            open: |path, clock| Box::pin(open_sqlite(path, clock, Synchronous::Full)),
        }
    }

    /// SQLite with `synchronous=normal`: a power cut may take the last commits away.
    pub fn sqlite_normal() -> Self {
        Self {
            name: "sqlite-normal",
            durability: Durability::Process,
            open: |path, clock| Box::pin(open_sqlite(path, clock, Synchronous::Normal)),
        }
    }

    /// redb.
    pub fn redb() -> Self {
        Self {
            name: "redb",
            durability: Durability::Power,
            open: |path, clock| Box::pin(open_redb(path, clock, RedbDurability::Immediate)),
        }
    }

    /// redb with `durability=none`: a power cut may take away all since the store was opened.
    pub fn redb_none() -> Self {
        Self {
            name: "redb-none",
            durability: Durability::Volatile,
            open: |path, clock| Box::pin(open_redb(path, clock, RedbDurability::None)),
        }
    }

    /// Opens the store in the file `path`, or makes it, with the system's clock.
    pub async fn open(&self, path: &Path) -> Result<Arc<dyn MemoryBackend>> {
        (self.open)(path.to_owned(), Arc::new(SystemClock)).await
    }

    /// Every backend that promises to keep what it acknowledged when the power is cut.
    pub fn durable() -> Vec<Self> {
        vec![Self::sqlite(), Self::redb()]
    }

    /// The same, with another promise.
    #[must_use]
    pub fn promising(self, durability: Durability) -> Self {
        Self { durability, ..self }
    }

    /// A new folder with the files of `image`, where `recorder` sees what is done from then on.
    pub fn place(&self, image: &Image, recorder: Arc<Recorder>) -> io::Result<Place> {
        let folder = in_memory()?;
        image.write_to(folder.path())?;
        let path = fs::canonicalize(folder.path())?;
        let watch = calls::watch(&path, recorder)?;
        Ok(Place { open: self.open, path, _watch: watch, _folder: folder })
    }
}

async fn open_sqlite(
    path: PathBuf,
    clock: Arc<dyn Clock>,
    level: Synchronous,
) -> Result<Arc<dyn MemoryBackend>> {
    let config = SqliteConfig::new(path).synchronous(level).readers(1).clock(clock);
    Ok(Arc::new(config.open().await?))
}

async fn open_redb(
    path: PathBuf,
    clock: Arc<dyn Clock>,
    level: RedbDurability,
) -> Result<Arc<dyn MemoryBackend>> {
    let config = RedbConfig::new(path).durability(level).readers(1).clock(clock);
    Ok(Arc::new(config.open().await?))
}

/// A new folder, where possible in a file system that is held in memory: a sync costs nothing there.
fn in_memory() -> io::Result<TempDir> {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }
}

/// A watched folder with stores, which is removed when this is dropped.
#[derive(Debug)]
pub struct Place {
    open: Open,
    path: PathBuf,
    // Watching ends before the folder goes.
    _watch: Watch,
    _folder: TempDir,
}

impl Place {
    /// Opens the store `name`, which is made if it is not there. Its clock stands at [`now`].
    pub async fn open(&self, name: &str) -> Result<Arc<dyn MemoryBackend>> {
        self.open_with(name, Arc::new(clock())).await
    }

    /// Opens the store `name` with another clock.
    pub async fn open_with(
        &self,
        name: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<dyn MemoryBackend>> {
        (self.open)(self.path(name), clock).await
    }

    /// The path of the file `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// The instant at which all clocks stand, so that two stores that took the same batches are equal.
pub fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000).unwrap_or_default()
}

/// A clock that stands at [`now`].
pub(crate) fn clock() -> ManualClock {
    ManualClock::new(now())
}

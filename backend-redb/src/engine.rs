use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use memkeep_core::{
    BackendInfo, Error, ErrorKind, Result, Sharing,
    embedded::file::{self, Identity, OpenedFile, with_suffix},
    verify::Problem,
};
use memkeep_kv::{OrderedEngine, Overlay};

use crate::{
    RedbConfig, RedbDurability, RedbSnapshot, open_database::OpenDatabase, store_file::StoreFile,
};

/// What stands behind the name of a store's file in that of the file which takes its place when the
/// store has been compacted.
const COMPACTING: &str = "-compacting";

/// An ordered map from bytes to bytes in a redb file: its only table.
pub struct RedbEngine {
    config: RedbConfig,
    current: RwLock<Current>,
}

/// The file that is open now, and the database over it.
#[derive(Debug)]
struct Current {
    opened: OpenedFile,
    database: Arc<OpenDatabase>,
}

impl RedbEngine {
    /// Opens the file of `config`, or makes it.
    pub fn open(config: RedbConfig) -> Result<Self> {
        Self::open_with(config, StoreFile::open)
    }

    /// The same, with a file that `open_file` opens.
    pub(crate) fn open_with(
        config: RedbConfig,
        open_file: impl Fn(&Path, bool) -> Result<(StoreFile, Identity)>,
    ) -> Result<Self> {
        let named = file::absolute(&config.path)?;
        let path = file::approach(&named, !config.read_only)
            .and_then(|path| open_at(&path, &config, open_file).map(|current| (path, current)));
        let (path, current) = path.map_err(|e| with_path(e, &named))?;
        if current.database.medium.file().is_writable {
            // Left by somebody who ended while compacting: nobody else has the store now. If it
            // cannot be removed, compacting says so.
            let _ = fs::remove_file(with_suffix(&path, COMPACTING));
        }
        Ok(Self { config, current: RwLock::new(current) })
    }

    /// The database, if its file is still there: whole, and under its name.
    fn database(&self) -> Result<Arc<OpenDatabase>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let database = current.database.clone();
        {
            // A commit makes the file longer or shorter: not between the two looks at its length.
            let bytes = database.medium.file().bytes();
            let found = current.opened.look()?;
            if found.len() < *bytes {
                return Err(current.opened.cut(found.len()));
            }
        }
        drop(current);
        if database.medium.has_failed() { self.open_anew() } else { Ok(database) }
    }

    /// After a failure redb works no more until its file is opened again.
    fn open_anew(&self) -> Result<Arc<OpenDatabase>> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let last = &current.database.medium;
        if last.has_failed() {
            last.retire();
            let database = OpenDatabase::over(last.file().clone(), &self.config)
                .map_err(|e| with_path(e, current.opened.path()))?;
            current.database = Arc::new(database);
        }
        Ok(current.database.clone())
    }

    fn path(&self) -> PathBuf {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.opened.path().to_owned()
    }
}

fn with_path(error: Error, path: &Path) -> Error {
    if error.get("path").is_none() { error.with("path", path.display()) } else { error }
}

fn open_at(
    path: &Path,
    config: &RedbConfig,
    open_file: impl Fn(&Path, bool) -> Result<(StoreFile, Identity)>,
) -> Result<Current> {
    loop {
        let (file, identity) = open_file(path, config.read_only)?;
        let database = OpenDatabase::over(Arc::new(file), config)?;
        // Whoever had it until now may have put another in its place before this lock was taken.
        if Identity::at(path)? == Some(identity) {
            let opened = OpenedFile::new(path, identity);
            return Ok(Current { opened, database: Arc::new(database) });
        }
    }
}

fn writable(database: &OpenDatabase) -> Result<()> {
    let file = database.medium.file();
    if !file.is_writable {
        return Err(Error::new(ErrorKind::ReadOnly, "the store was opened to be read only"));
    }
    if file.has_failed_to_sync() {
        let message = "the file could not be synced, so that what is in it is not certain to last: \
                       close the store and open it again";
        return Err(Error::new(ErrorKind::Unavailable, message));
    }
    Ok(())
}

impl fmt::Debug for RedbEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbEngine").field("current", &self.current).finish_non_exhaustive()
    }
}

impl OrderedEngine for RedbEngine {
    type Snapshot<'e> = RedbSnapshot;
    type Transaction = Overlay<RedbSnapshot>;

    fn info(&self) -> BackendInfo {
        BackendInfo::new("redb", self.config.durability.declared(), Sharing::Handle)
    }

    fn snapshot(&self) -> Result<RedbSnapshot> {
        self.database()?.snapshot()
    }

    fn begin(&self) -> Result<Overlay<RedbSnapshot>> {
        let base = self.snapshot()?;
        writable(base.database())?;
        let (database, config) = (base.database().clone(), self.config.clone());
        Ok(Overlay::new(base, move |changes| database.store(changes, &config)))
    }

    fn bytes(&self) -> Result<Option<u64>> {
        let database = self.database()?;
        Ok(Some(*database.medium.file().bytes()))
    }

    /// Every page that the last durable commit leads to, and the account of those that are free, as
    /// redb checks them when it opens a file: by opening it once more. It cannot check the database
    /// that is open, since snapshots may be.
    fn inspect(&self) -> Result<Vec<Problem>> {
        let database = self.database()?;
        match OpenDatabase::checked(database.medium.file().clone(), &self.config) {
            Ok(()) => Ok(Vec::new()),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Ok(vec![Problem::new("file", error.to_string())])
            }
            Err(error) => Err(error),
        }
    }

    /// Copies what is there into a new file, which then takes the place of the old: redb's own
    /// compaction leaves in the file what was deleted.
    fn compact(&self) -> Result<()> {
        let snapshot = self.snapshot()?;
        writable(snapshot.database())?;
        let path = self.path();
        let beside = with_suffix(&path, COMPACTING);
        match fs::remove_file(&beside) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(file::failed(e, &beside));
            }
            _ => {}
        }
        file::fill_new(&beside, |beside| {
            keep_owner(&path, beside)?;
            let (database, identity) = copy(&snapshot, beside, &self.config)?;
            let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
            current.opened.look()?;
            fs::rename(beside, &path).map_err(|e| file::failed(e, &path))?;
            *current =
                Current { opened: OpenedFile::new(&path, identity), database: Arc::new(database) };
            Ok(())
        })
    }

    fn backup(&self, path: &Path) -> Result<()> {
        let snapshot = self.snapshot()?;
        file::fill_new(path, |path| {
            let (database, _) = copy(&snapshot, path, &self.config)?;
            database.close()
        })
    }
}

/// Copies all of `snapshot` into the empty file `path`.
fn copy(
    snapshot: &RedbSnapshot,
    path: &Path,
    config: &RedbConfig,
) -> Result<(OpenDatabase, Identity)> {
    let config = config.clone().durability(RedbDurability::Immediate);
    let (file, identity) = StoreFile::open(path, false)?;
    let database = OpenDatabase::over(Arc::new(file), &config)?;
    database.fill(snapshot, &config)?;
    Ok((database, identity))
}

/// Gives the file `to` the permissions of `from`, and its owner.
fn keep_owner(from: &Path, to: &Path) -> Result<()> {
    let found = fs::metadata(from).map_err(|e| file::failed(e, from))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let made = fs::metadata(to).map_err(|e| file::failed(e, to))?;
        if (made.uid(), made.gid()) != (found.uid(), found.gid()) {
            chown(to, Some(found.uid()), Some(found.gid())).map_err(|e| file::failed(e, to))?;
        }
    }
    fs::set_permissions(to, found.permissions()).map_err(|e| file::failed(e, to))
}

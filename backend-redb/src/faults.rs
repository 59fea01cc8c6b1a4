//! Failures of the medium, injected below redb.

use std::{
    fs, io,
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
};

use memkeep_core::{
    Backend, EpisodicBackend, ErrorKind, NewEpisode, RecordKind, Result, Scan, embedded::Embedded,
    verify::Verify,
};
use memkeep_kv::{KvEngine, OrderedEngine as _, Snapshot as _};
use redb::{BackendError, StorageBackend, backends::FileBackend};

use crate::{RedbBackend, RedbConfig, RedbEngine, store_file::StoreFile};

const WORKS: u8 = 0;
const FULL: u8 = 1;
const BROKEN: u8 = 2;
const UNREADABLE: u8 = 3;
const UNSYNCED: u8 = 4;

/// A file whose medium fails as it is told to.
#[derive(Debug)]
struct Failing {
    file: FileBackend,
    how: Arc<AtomicU8>,
    /// Set when it is closed.
    closed: Arc<AtomicBool>,
}

impl Failing {
    fn fails(&self, at: &[u8]) -> io::Result<()> {
        let how = self.how.load(Ordering::SeqCst);
        if !at.contains(&how) {
            return Ok(());
        }
        Err(match how {
            FULL => io::ErrorKind::StorageFull.into(),
            _ => io::Error::other("the medium is broken"),
        })
    }
}

impl StorageBackend for Failing {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.fails(&[UNREADABLE])?;
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.fails(&[BROKEN])?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.fails(&[UNSYNCED])?;
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.fails(&[FULL, BROKEN])?;
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.closed.store(true, Ordering::SeqCst);
        self.file.close()
    }

    fn try_lock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<bool, BackendError> {
        self.file.try_lock_range(start, end)
    }

    fn unlock_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> std::result::Result<(), BackendError> {
        self.file.unlock_range(start, end)
    }
}

/// The engine over the store of `config`, on a medium that fails as `how` says.
fn engine(config: RedbConfig, how: &Arc<AtomicU8>, closed: &Arc<AtomicBool>) -> Result<RedbEngine> {
    RedbEngine::open_with(config, |path, read_only| {
        let (_, identity) = StoreFile::open(path, read_only)?;
        let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let file = FileBackend::new(file).unwrap();
        let failing = Failing { file, how: how.clone(), closed: closed.clone() };
        Ok((StoreFile::new(failing, true).unwrap(), identity))
    })
}

struct Store {
    backend: RedbBackend,
    how: Arc<AtomicU8>,
    closed: Arc<AtomicBool>,
}

impl Store {
    /// The store in `path`, with as little in memory as redb can do with.
    async fn open(path: &Path) -> Self {
        let (how, closed) = (Arc::new(AtomicU8::new(WORKS)), Arc::default());
        let config = RedbConfig::new(path).cache_bytes(0);
        let options = config.options.clone();
        let (told, noted) = (how.clone(), Arc::clone(&closed));
        let backend =
            Embedded::open(options, move |_| KvEngine::open(engine(config, &told, &noted)?, 2))
                .await
                .unwrap();
        Self { backend, how, closed }
    }

    fn set(&self, how: u8) {
        self.how.store(how, Ordering::SeqCst);
    }

    async fn add(&self, id: &str) -> Result<()> {
        let episode = NewEpisode::new("x".repeat(50_000), "").id(id);
        self.backend.add_episode(episode).await.map(drop)
    }

    async fn ids(&self) -> Result<Vec<String>> {
        let scan = Scan::new(RecordKind::Episode).limit(usize::MAX);
        let page = self.backend.scan(&scan).await?;
        Ok(page.items.iter().map(|record| record.id().to_owned()).collect())
    }
}

/// redb works no more after a failure (cberner/redb#620); the store does.
#[tokio::test]
async fn a_store_that_could_not_be_written_is_read_and_goes_on() {
    for (how, kind) in [(FULL, ErrorKind::StorageFull), (BROKEN, ErrorKind::Unavailable)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.redb");
        let store = Store::open(&path).await;
        store.add("first").await.unwrap();
        for round in 0..3 {
            store.set(how);
            for _ in 0..2 {
                let error = store.add("lost").await.unwrap_err();
                assert_eq!(error.kind(), kind, "{error:?}");
                assert!(!store.ids().await.unwrap().contains(&"lost".to_owned()));
                // Nobody else gets in meanwhile.
                let other = RedbConfig::new(&path).open().await.err().unwrap();
                assert_eq!(other.kind(), ErrorKind::AlreadyOpen);
            }
            store.set(WORKS);
            store.add(&format!("again {round}")).await.unwrap();
        }
        let ids = ["first", "again 0", "again 1", "again 2"];
        assert_eq!(store.ids().await.unwrap(), ids);
        assert!(store.backend.verify(&Verify::new()).await.unwrap().is_clean());
        store.backend.close().await.unwrap();
        assert!(store.closed.load(Ordering::SeqCst));
        let store = Store::open(&path).await;
        assert_eq!(store.ids().await.unwrap(), ids);
    }
}

#[tokio::test]
async fn a_store_that_could_not_be_read_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("agent.redb")).await;
    store.add("first").await.unwrap();
    store.set(UNREADABLE);
    for _ in 0..2 {
        let error = store.ids().await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        assert_eq!(store.add("second").await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
    store.set(WORKS);
    store.add("second").await.unwrap();
    assert_eq!(store.ids().await.unwrap(), ["first", "second"]);
}

/// After a failed sync the system may read back what never reaches the medium, and report no further
/// failure: nothing built upon it would be durable.
#[tokio::test]
async fn a_store_that_could_not_be_synced_takes_no_more_commits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let store = Store::open(&path).await;
    store.add("first").await.unwrap();
    store.set(UNSYNCED);
    assert_eq!(store.add("unknown").await.unwrap_err().kind(), ErrorKind::Unavailable);
    store.set(WORKS);
    for _ in 0..2 {
        let error = store.add("second").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("close the store and open it again"), "{error:?}");
        assert_eq!(store.ids().await.unwrap()[0], "first");
    }
    assert_eq!(store.backend.compact().await.unwrap_err().kind(), ErrorKind::Unavailable);
    store.backend.close().await.unwrap();
    let store = Store::open(&path).await;
    store.add("second").await.unwrap();
    assert!(store.backend.verify(&Verify::new()).await.unwrap().is_clean());
}

/// A new store whose first commit fails, wherever, is a new store for whoever opens it next.
#[tokio::test]
async fn a_store_that_was_only_begun_can_be_begun_again() {
    for how in [FULL, BROKEN, UNSYNCED] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.redb");
        let config = RedbConfig::new(&path);
        let failing = Arc::new(AtomicU8::new(how));
        let engine = engine(config.clone(), &failing, &Arc::default()).unwrap();
        assert!(KvEngine::open(engine, 1).is_err());
        let store = config.open().await.unwrap();
        store.add_episode(NewEpisode::new("p", "s")).await.unwrap();
    }
}

/// A state that is being read when the store is opened anew is not mixed with what comes after.
#[test]
fn a_snapshot_from_before_a_failure_is_refused_rather_than_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let how = Arc::new(AtomicU8::new(WORKS));
    let config = RedbConfig::new(&path).cache_bytes(0);
    let engine = engine(config, &how, &Arc::default()).unwrap();
    let put = |value: u8| {
        use memkeep_kv::Transaction as _;
        let mut transaction = engine.begin()?;
        for key in 0..100_u8 {
            transaction.put(&[key], &[value; 5_000])?;
        }
        transaction.commit()
    };
    put(1).unwrap();
    let before = engine.snapshot().unwrap();
    how.store(FULL, Ordering::SeqCst);
    put(2).unwrap_err();
    how.store(WORKS, Ordering::SeqCst);
    for value in 3..10 {
        put(value).unwrap();
    }
    for key in 0..100_u8 {
        match before.get(&[key]) {
            Ok(value) => assert_eq!(value.unwrap(), [1; 5_000]),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}"),
        }
    }
    assert_eq!(engine.snapshot().unwrap().get(&[7]).unwrap().unwrap(), [9; 5_000]);
}

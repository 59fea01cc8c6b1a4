use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use memkeep::{
    ImportAction, ImportIssue, ImportOptions, ImportReport, Json, MemoryBackend, Scope, Timestamp,
    export, import, verify::Verify,
};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) type Store = Arc<dyn MemoryBackend>;

/// A fresh store of each backend.
pub(crate) async fn store(url: &str) -> Store {
    memkeep::open(url).await.unwrap()
}

/// Each function becomes a test on each backend.
macro_rules! on_every_backend {
    ($($(#[$attribute:meta])* async fn $name:ident($store:ident: Store) $body:block)*) => {
        $($(#[$attribute])* async fn $name($store: $crate::support::Store) $body)*

        mod inmem {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::support::store("inmem:").await).await;
            })*
        }

        mod redb {
            $(#[tokio::test]
            async fn $name() {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("redb:{}", folder.path().join("agent.redb").display());
                super::$name($crate::support::store(&url).await).await;
            })*
        }

        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::support::store("sqlite::memory:").await).await;
            })*
        }
    };
}
pub(crate) use on_every_backend;

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// What a reference system answered, as JSON.
pub(crate) fn expected(name: &str) -> Json {
    serde_json::from_str(&std::fs::read_to_string(fixture(name)).unwrap()).unwrap()
}

/// Seconds as the reference has them.
pub(crate) fn micros(seconds: &Json) -> Timestamp {
    #[allow(clippy::cast_possible_truncation)]
    Timestamp::from_micros((seconds.as_f64().unwrap() * 1e6).round() as i64).unwrap()
}

pub(crate) async fn import_all(store: &Store, path: impl AsRef<Path>) -> ImportReport {
    import_with(store, path, ImportOptions::new()).await
}

/// Imports, and checks what holds of every import.
pub(crate) async fn import_with(
    store: &Store,
    path: impl AsRef<Path>,
    options: ImportOptions,
) -> ImportReport {
    let report = import(store.as_ref(), path, options).await.unwrap();
    let verified = store.verify(&Verify::new()).await.unwrap();
    assert!(verified.is_clean(), "{:?}", verified.problems);
    let total = report.counts.total();
    let skips = of_action(&report, ImportAction::Skipped).len() as u64;
    assert_eq!(total.skipped, skips, "every skip has a reason");
    let repairs = of_action(&report, ImportAction::Repaired).len() as u64;
    assert!(total.repaired <= repairs, "every repair has a reason");
    report
}

pub(crate) fn of_action(report: &ImportReport, action: ImportAction) -> Vec<&ImportIssue> {
    report.issues.iter().filter(|issue| issue.action == action).collect()
}

/// Everything in a store, as an export has it.
pub(crate) async fn dump(store: &Store) -> String {
    let mut lines = Vec::new();
    export(store.as_ref(), &Scope::All, &mut lines).await.unwrap();
    String::from_utf8(lines).unwrap()
}

/// A second import adds nothing and changes nothing.
pub(crate) async fn imports_again(store: &Store, path: &Path, options: ImportOptions) {
    let before = dump(store).await;
    let report = import_with(store, path, options).await;
    let total = report.counts.total();
    assert_eq!((total.stored, total.skipped), (0, 0), "{:?}", report.issues);
    assert_eq!(dump(store).await, before);
}

/// A source file of the test's own.
pub(crate) struct Source {
    pub(crate) folder: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) db: Connection,
}

impl Source {
    pub(crate) fn new(schema: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source.db");
        let db = Connection::open(&path).unwrap();
        db.execute_batch(schema).unwrap();
        Self { folder, path, db }
    }

    pub(crate) fn muse() -> Self {
        Self::new(MUSE)
    }

    pub(crate) fn velune() -> Self {
        Self::new(VELUNE)
    }

    /// The second part of velune alone.
    pub(crate) fn tier1() -> Self {
        Self::new(TIER1)
    }

    pub(crate) fn run(&self, sql: &str) -> &Self {
        self.db.execute_batch(sql).unwrap();
        self
    }
}

/// The tables as far as they matter: any of these columns may hold anything.
const MUSE: &str = "
    CREATE TABLE episodes(id TEXT PRIMARY KEY, problem TEXT, summary TEXT, is_open INTEGER,
        created_at REAL);
    CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT, source_episode_ids TEXT, created_at REAL);
    CREATE TABLE state(key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE audit(id INTEGER PRIMARY KEY, at REAL, action TEXT, decision TEXT, detail TEXT);";
const VELUNE: &str = "
    CREATE TABLE sessions(id TEXT PRIMARY KEY, workspace_root TEXT, started_at REAL, ended_at REAL,
        model_used TEXT, mode TEXT, total_tokens INTEGER, summary TEXT);
    CREATE TABLE turns(id TEXT PRIMARY KEY, session_id TEXT, turn_index INTEGER, role TEXT,
        content TEXT, model_used TEXT, tokens_used INTEGER, created_at REAL, embedding_id TEXT);
    CREATE TABLE memory_tags(turn_id TEXT, tag TEXT, value TEXT, PRIMARY KEY(turn_id, tag));";
const TIER1: &str = "
    CREATE TABLE conversation_turns(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT,
        timestamp REAL, metadata TEXT);
    CREATE TABLE execution_steps(id INTEGER PRIMARY KEY, session_id TEXT, step_name TEXT,
        status TEXT, payload TEXT, timestamp REAL);";

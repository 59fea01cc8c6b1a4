//! Writers that go on through whatever happens to their server, and what must be there afterwards.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use memkeep_core::{
    Backend as _, Batch, ListTurns, NewAudit, NewEpisode, NewNote, NewSession, NewTurn, Op,
    PutState, Record, RecordKind, Scan, Scope, SessionStore as _, verify::Verify,
};
use memkeep_postgres::PostgresBackend;
use serde_json::json;
use tokio::task::JoinSet;

/// The session that all batches add to.
const SESSION: &str = "shared";

/// Tasks that commit batches, each under a key, and retry what fails, until they are stopped.
pub(crate) struct Writers {
    tasks: JoinSet<Vec<String>>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicUsize>,
    failed: Arc<AtomicUsize>,
}

/// The batch of a name: a record of each kind.
fn batch(name: &str) -> Batch {
    let ops = [
        Op::EnsureSession(NewSession::new().id(SESSION)),
        NewTurn::new(SESSION, "user", "text ".repeat(20)).id(name).tokens(1).into(),
        NewTurn::new(SESSION, "assistant", name).tokens(1).into(),
        NewEpisode::new("problem", name).id(name).into(),
        NewNote::new("lesson").id(name).sources([name.into()]).into(),
        PutState::new(name, json!(name)).into(),
        PutState::new("last", json!(name)).into(),
        NewAudit::new("run", "allow").id(name).into(),
    ];
    ops.into_iter().collect::<Batch>().key(name)
}

impl Writers {
    /// Starts `count` tasks, whose batches' names begin with `name`.
    pub(crate) fn start(store: &Arc<PostgresBackend>, name: &str, count: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (acknowledged, failed) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        let mut tasks = JoinSet::new();
        for task in 0..count {
            let (store, stop) = (Arc::clone(store), Arc::clone(&stop));
            let (acknowledged, failed) = (Arc::clone(&acknowledged), Arc::clone(&failed));
            let name = format!("{name}-{task}");
            tasks.spawn(async move {
                let mut names = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let name = format!("{name}-{}", names.len());
                    // A server that comes back needs a moment.
                    while let Err(error) = store.commit(batch(&name)).await {
                        assert!(error.is_retryable(), "{error:?}");
                        failed.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    names.push(name);
                }
                names
            });
        }
        Self { tasks, stop, acknowledged, failed }
    }

    /// Waits for so many more acknowledged batches.
    pub(crate) async fn acknowledge(&mut self, more: usize) {
        let wanted = self.acknowledged.load(Ordering::Relaxed) + more;
        while self.acknowledged.load(Ordering::Relaxed) < wanted {
            tokio::select! {
                ended = self.tasks.join_next() => panic!("a writer ended: {ended:?}"),
                () = tokio::time::sleep(Duration::from_millis(5)) => {}
            }
        }
    }

    /// How many calls have failed.
    pub(crate) fn failed(&self) -> usize {
        self.failed.load(Ordering::Relaxed)
    }

    /// Lets the tasks end; returns the names of all batches that were acknowledged.
    pub(crate) async fn stop(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.tasks.join_all().await.into_iter().flatten().collect()
    }
}

async fn scanned(store: &PostgresBackend, kind: RecordKind) -> BTreeSet<String> {
    let page = store.scan(&Scan::new(kind)).await.unwrap();
    page.items.iter().map(Record::id).map(str::to_owned).collect()
}

/// All batches with these names are there, whole and once; nothing else is.
pub(crate) async fn check(store: &PostgresBackend, names: &BTreeSet<String>) {
    assert_eq!(&scanned(store, RecordKind::Episode).await, names, "episodes");
    assert_eq!(&scanned(store, RecordKind::Note).await, names, "notes");
    assert_eq!(&scanned(store, RecordKind::Audit).await, names, "audit");
    let mut states = scanned(store, RecordKind::State).await;
    states.remove("last");
    assert_eq!(&states, names, "state");
    let turns = store.turns(&ListTurns::new(SESSION).limit(usize::MAX)).await.unwrap().items;
    let indexes: Vec<u64> = turns.iter().map(|turn| turn.index).collect();
    assert_eq!(indexes, (0..names.len() as u64 * 2).collect::<Vec<_>>(), "indexes");
    for pair in turns.chunks(2) {
        assert_eq!(pair[0].id.as_str(), pair[1].content, "a batch is in one piece");
    }
    let session = store.session(&Scope::All, &SESSION.into()).await.unwrap().unwrap();
    assert_eq!(session.total_tokens, turns.len().cast_signed() as i64);
    let report = store.verify(&Verify::new()).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}

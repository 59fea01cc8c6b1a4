use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::{
    Engine, View, Writer, find::find_turns, group::Group, pool::Pool, recall, tender::Urge, verify,
};
use crate::{
    AuditHead, AuditRecord, Backend, BackendInfo, Batch, Clock, Counts, Episode, EpisodeId,
    EpisodicBackend, Error, ErrorKind, Feed, FindTurns, Hit, ListAudit, ListEpisodes, ListNotes,
    ListSessions, ListStates, ListSteps, ListTurns, Note, NoteId, Page, RecallQuery, Receipt,
    Record, ReflectiveStore, Result, Scan, Scope, Session, SessionId, SessionStore, StateEntry,
    Stats, Step, StepId, SystemClock, Turn, TurnId, Workspace, WorkspaceCounts,
    decide::Prepared,
    recall::{
        Language,
        index::{CACHE_BYTES, Cache},
    },
    search::Recallable,
    verify::{Verify, VerifyReport},
};

/// What the embedded backends have in common to be set.
#[derive(Clone)]
#[non_exhaustive]
pub struct EmbeddedOptions {
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// How many commits may wait for the writer; the next waits for a place.
    pub queue: usize,
    /// How long a call waits for a reader or for a place in the writer's queue before `Timeout`.
    pub patience: Duration,
    /// The language that recall stems in.
    pub language: Language,
    /// Whether an index of words is kept for `find_turns`.
    pub find_index: bool,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            queue: 4_096,
            patience: Duration::from_secs(30),
            language: Language::default(),
            find_index: false,
        }
    }
}

/// A [`MemoryBackend`](crate::MemoryBackend) over an [`Engine`].
///
/// Blocking work happens on threads of its own, never on the async runtime's, and no particular
/// runtime is needed. Dropping the last handle waits for the batches that were accepted.
pub struct Embedded<E: Engine> {
    info: BackendInfo,
    clock: Arc<dyn Clock>,
    // Readers go before the writer, which is the last to let go of the store.
    pool: Option<Pool<E>>,
    group: Group<E::Writer>,
    /// Of the recall indexes' pages.
    cache: Arc<Cache>,
}

impl<E: Engine> Embedded<E> {
    /// Opens an engine, on a thread of its own, and starts its writer.
    pub async fn open(
        options: EmbeddedOptions,
        open: impl FnOnce(&dyn Clock) -> Result<(E, E::Writer)> + Send + 'static,
    ) -> Result<Self> {
        let (reply, answer) = oneshot::channel();
        let opening = options.clock.clone();
        thread::Builder::new()
            .name("memkeep-open".to_owned())
            .spawn(move || reply.send(open(&*opening)))
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no thread to open").caused_by(e))?;
        let died = |_| Error::new(ErrorKind::Unexpected, "opening the store was cut short");
        let (engine, writer) = answer.await.map_err(died)?.map_err(|e| e.during("open"))?;
        let engine = Arc::new(engine);
        Ok(Self {
            info: engine.info().language(options.language),
            group: Group::start(&engine, writer, &options)?,
            pool: (engine.readers() > 0).then(|| Pool::new(engine, options.patience)),
            clock: options.clock,
            cache: Arc::new(Cache::new(CACHE_BYTES)),
        })
    }

    /// Reads one state of the store on a reader thread, or on the writer's where there is none.
    async fn read<T: Send + 'static>(
        &self,
        operation: &'static str,
        read: impl FnOnce(&mut dyn View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = match &self.pool {
            Some(pool) => pool.read(read).await,
            None => self.group.run(|writer, _| read(writer.view())).await,
        };
        answer.map_err(|e| e.during(operation))
    }

    async fn recall_kind<T>(&self, query: &RecallQuery) -> Result<Vec<Hit<T>>>
    where
        T: Recallable + 'static,
    {
        let (query, cache) = (query.clone(), self.cache.clone());
        let language = self.info.language;
        self.read("recall", move |view| recall::recall(view, &query, language, &cache)).await
    }
}

#[async_trait]
impl<E: Engine> Backend for Embedded<E> {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.commit_prepared(batch.prepare()?).await
    }

    async fn commit_prepared(&self, prepared: Prepared) -> Result<Receipt> {
        self.group.commit(prepared).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        let scan = scan.clone();
        self.read("scan", move |view| view.scan(&scan)).await
    }

    async fn close(&self) -> Result<()> {
        if let Some(pool) = &self.pool {
            pool.close().await;
        }
        self.group.close().await
    }

    async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        self.read("workspaces", |view| view.workspaces()).await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let scope = scope.clone();
        self.read("stats", move |view| {
            let mut counts = Counts::default();
            for row in view.workspaces()? {
                if scope.includes(&row.workspace) {
                    counts += row.counts;
                }
            }
            let bytes = if scope == Scope::All { view.bytes()? } else { None };
            Ok(Stats { counts, bytes })
        })
        .await
    }

    async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
        if !verify.repair {
            let language = self.info.language;
            let check = move |view: &mut dyn View| Ok(verify::check(view, language)?.finish().0);
            return self.read("verify", check).await;
        }
        self.group.run(verify::repair).await.map_err(|e| e.during("verify"))
    }

    async fn compact(&self) -> Result<()> {
        let now = self.clock.now();
        let compact = self.group.run(move |writer, indexer| {
            // The file that comes in the place of this one would have no trace of what is lost.
            verify::refuse_damaged(writer)?;
            indexer.merge_all(writer, now)?;
            writer.compact()
        });
        compact.await.map_err(|e| e.during("compact"))
    }

    async fn reindex(&self) -> Result<()> {
        let clock = self.clock.clone();
        let during = |e: Error| e.during("reindex");
        self.group.run(|writer, indexer| indexer.begin_anew(writer)).await.map_err(during)?;
        loop {
            let now = clock.now();
            let step = self.group.run(move |writer, indexer| indexer.tend(writer, now, Urge::All));
            if !step.await.map_err(during)? {
                return Ok(());
            }
        }
    }

    async fn backup(&self, path: &Path) -> Result<()> {
        let path = PathBuf::from(path);
        let backup = self.group.run(move |writer, _| writer.backup(&path));
        backup.await.map_err(|e| e.during("backup"))
    }

    fn subscribe(&self) -> Result<Feed> {
        self.group.subscribe()
    }
}

#[async_trait]
impl<E: Engine> EpisodicBackend for Embedded<E> {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read("episode", move |view| view.episode(&scope, &id)).await
    }

    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        let list = list.clone();
        self.read("episodes", move |view| view.episodes(&list)).await
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Hit<Episode>>> {
        self.recall_kind(query).await
    }
}

#[async_trait]
impl<E: Engine> SessionStore for Embedded<E> {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read("session", move |view| view.session(&scope, &id)).await
    }

    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        let list = list.clone();
        self.read("sessions", move |view| view.sessions(&list)).await
    }

    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read("turn", move |view| view.turn(&scope, &id)).await
    }

    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        let list = list.clone();
        self.read("turns", move |view| view.turns(&list)).await
    }

    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read("step", move |view| view.step(&scope, &id)).await
    }

    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        let list = list.clone();
        self.read("steps", move |view| view.steps(&list)).await
    }

    async fn find_turns(&self, find: &FindTurns) -> Result<Vec<Turn>> {
        let find = find.clone();
        let (language, cache) = (self.info.language, self.cache.clone());
        let find = move |view: &mut dyn View| find_turns(view, &find, language, &cache);
        self.read("find_turns", find).await
    }

    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        self.recall_kind(query).await
    }
}

#[async_trait]
impl<E: Engine> ReflectiveStore for Embedded<E> {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        let (scope, id) = (scope.clone(), id.clone());
        self.read("note", move |view| view.note(&scope, &id)).await
    }

    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        let list = list.clone();
        self.read("notes", move |view| view.notes(&list)).await
    }

    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        let (workspace, key) = (workspace.clone(), key.to_owned());
        let slot = self.read("state", move |view| view.state(&workspace, &key)).await?;
        Ok(slot.and_then(|slot| slot.live(self.clock.now())))
    }

    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        let (list, now) = (list.clone(), self.clock.now());
        self.read("states", move |view| view.states(&list, now)).await
    }

    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        let list = list.clone();
        self.read("audit_log", move |view| view.audit_log(&list)).await
    }

    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        let workspace = workspace.clone();
        self.read("audit_head", move |view| view.audit_head(&workspace)).await
    }

    async fn recall_notes(&self, query: &RecallQuery) -> Result<Vec<Hit<Note>>> {
        self.recall_kind(query).await
    }
}

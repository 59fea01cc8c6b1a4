use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::{Engine, View, Writer, group::Group, pool::Pool};
use crate::{
    AuditHead, AuditRecord, Backend, BackendInfo, Batch, Clock, Counts, Episode, EpisodeId,
    EpisodicBackend, Error, ErrorKind, Feed, FindTurns, Hit, ListAudit, ListEpisodes, ListNotes,
    ListSessions, ListStates, ListSteps, ListTurns, Note, NoteId, Page, RecallQuery, Receipt,
    Record, RecordKind, ReflectiveStore, Result, Scan, Scope, Session, SessionId, SessionStore,
    StateEntry, Stats, Step, StepId, SystemClock, Turn, TurnId, Workspace, WorkspaceCounts,
    decide::{Change, Needs, Put},
    search::{Finder, Ranking, Recallable},
    verify::{Verifier, Verify, VerifyReport},
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
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), queue: 4_096, patience: Duration::from_secs(30) }
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
}

impl<E: Engine> Embedded<E> {
    /// Opens an engine, on a thread of its own, and starts its writer.
    pub async fn open(
        options: EmbeddedOptions,
        open: impl FnOnce(&dyn Clock) -> Result<(E, E::Writer)> + Send + 'static,
    ) -> Result<Self> {
        let EmbeddedOptions { clock, queue, patience } = options;
        let (reply, answer) = oneshot::channel();
        let opening = clock.clone();
        thread::Builder::new()
            .name("memkeep-open".to_owned())
            .spawn(move || reply.send(open(&*opening)))
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no thread to open").caused_by(e))?;
        let died = |_| Error::new(ErrorKind::Unexpected, "opening the store was cut short");
        let (engine, writer) = answer.await.map_err(died)?.map_err(|e| e.during("open"))?;
        Ok(Self {
            info: engine.info(),
            pool: (engine.readers() > 0).then(|| Pool::new(engine, patience)),
            group: Group::start(writer, clock.clone(), queue, patience)?,
            clock,
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
            None => self.group.run(|writer| read(writer.view())).await,
        };
        answer.map_err(|e| e.during(operation))
    }

    async fn recall_kind<T>(
        &self,
        query: &RecallQuery,
        fetch: impl Fn(&mut dyn View, &Scope, &T::Id) -> Result<Option<T>> + Send + 'static,
    ) -> Result<Vec<Hit<T>>>
    where
        T: Recallable + 'static,
    {
        let query = query.clone();
        self.read("recall", move |view| {
            let mut ranking = Ranking::<T>::new(&query);
            view.each(T::KIND, &query.scope, &mut |record| {
                ranking.add(record?);
                Ok(())
            })?;
            let mut hits = Vec::new();
            for ranked in ranking.finish() {
                if let Some(record) = fetch(view, &query.scope, &ranked.key)? {
                    hits.push(Hit { score: ranked.score, record });
                }
            }
            Ok(hits)
        })
        .await
    }
}

#[async_trait]
impl<E: Engine> Backend for Embedded<E> {
    fn info(&self) -> BackendInfo {
        self.info.clone()
    }

    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.group.commit(batch.prepare()?).await
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
            return self.read("verify", |view| Ok(check(view)?.finish().0)).await;
        }
        self.group.run(repair).await.map_err(|e| e.during("verify"))
    }

    async fn compact(&self) -> Result<()> {
        self.group.run(Writer::compact).await.map_err(|e| e.during("compact"))
    }

    async fn backup(&self, path: &Path) -> Result<()> {
        let path = PathBuf::from(path);
        let backup = self.group.run(move |writer| writer.backup(&path));
        backup.await.map_err(|e| e.during("backup"))
    }

    fn subscribe(&self) -> Result<Feed> {
        self.group.subscribe()
    }
}

/// Looks at everything.
fn check(view: &mut dyn View) -> Result<Verifier> {
    let mut verifier = Verifier::default();
    for problem in view.integrity()? {
        verifier.problem(problem);
    }
    for kind in RecordKind::ALL {
        view.each(kind, &Scope::All, &mut |record| {
            match record {
                Ok(record) => verifier.record(record),
                Err(error) => verifier.unreadable(kind, &error),
            }
            Ok(())
        })?;
    }
    Ok(verifier)
}

/// Looks and repairs in one write transaction, so that nobody changes anything in between; then
/// looks again.
fn repair<W: Writer>(writer: &mut W) -> Result<VerifyReport> {
    writer.begin()?;
    let repaired = repair_here(writer).and_then(|report| {
        writer.commit()?;
        Ok(report)
    });
    if repaired.is_err() {
        writer.rollback();
    }
    repaired
}

fn repair_here<W: Writer>(writer: &mut W) -> Result<VerifyReport> {
    let damaged = writer.inspect()?;
    let mut report = repair_rows(writer)?;
    report.problems.splice(0..0, damaged);
    Ok(report)
}

fn repair_rows<W: Writer>(writer: &mut W) -> Result<VerifyReport> {
    let broken = writer.view().integrity()?;
    if !broken.is_empty() {
        writer.rebuild()?;
    }
    let (mut report, sessions) = check(writer.view())?.finish();
    // What was found before the rebuild comes first; what is still so is told once.
    report.problems.retain(|problem| !broken.contains(problem));
    report.problems.splice(0..0, broken);
    if report.problems.is_empty() {
        return Ok(report);
    }
    let needs = Needs {
        sessions: sessions.iter().map(|session| session.id.clone()).collect(),
        ..Needs::default()
    };
    let mut loaded = writer.load(&needs)?.sessions;
    let puts = sessions.into_iter().filter_map(|session| {
        let mut row = loaded.remove(&session.id)?;
        row.record = session;
        Some(Change::PutSession(Put { row, new: false }))
    });
    let changes: Vec<Change> = puts.collect();
    writer.apply(&changes)?;
    let left = check(writer.view())?.finish().0.problems;
    for problem in &mut report.problems {
        problem.repaired = !left.contains(problem);
    }
    Ok(report)
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
        self.recall_kind(query, |view, scope, id| view.episode(scope, id)).await
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
        self.read("find_turns", move |view| {
            let finder = Finder::new(&find)?;
            let mut found = Vec::new();
            if find.limit == 0 {
                return Ok(found);
            }
            let wanted = |role: &str, content: &str| finder.matches(role, content);
            view.newest_turns(&find.scope, &wanted, &mut |turn| {
                if finder.matches(&turn.role, &turn.content) {
                    found.push(turn);
                }
                Ok(found.len() < find.limit)
            })?;
            Ok(found)
        })
        .await
    }

    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        self.recall_kind(query, |view, scope, id| view.turn(scope, id)).await
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
        self.recall_kind(query, |view, scope, id| view.note(scope, id)).await
    }
}

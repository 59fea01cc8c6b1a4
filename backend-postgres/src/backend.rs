use std::sync::Arc;

use async_trait::async_trait;
use memkeep_core::{
    AuditHead, AuditRecord, Backend, BackendInfo, Batch, Counts, Episode, EpisodeId,
    EpisodicBackend, Feed, Hit, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates,
    ListSteps, ListTurns, Note, NoteId, Page, RecallQuery, Receipt, Record, ReflectiveStore,
    Result, Scan, Scope, Session, SessionId, SessionStore, Sharing, StateEntry, Stats, Step,
    StepId, Turn, TurnId, Workspace, WorkspaceCounts,
    decide::Prepared,
    verify::{Verify, VerifyReport},
};

use crate::{read, recall, store::Store};

/// A store on a PostgreSQL server.
///
/// Calls run as tasks of the tokio runtime that they are made on, which must be the one that the
/// store was opened on. A call that is dropped runs to its end all the same.
pub struct PostgresBackend {
    store: Arc<Store>,
}

impl PostgresBackend {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

#[async_trait]
impl Backend for PostgresBackend {
    fn info(&self) -> BackendInfo {
        let info = BackendInfo::new("postgres", self.store.durability, Sharing::Network);
        info.language(self.store.language)
    }

    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.commit_prepared(batch.prepare()?).await
    }

    async fn commit_prepared(&self, prepared: Prepared) -> Result<Receipt> {
        self.store.finish("commit", Arc::clone(&self.store).commit(prepared)).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        self.store.scan(scan.clone()).await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await;
        Ok(())
    }

    async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        self.store.read("workspaces", (), |t, ()| Box::pin(read::count(t, None))).await
    }

    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let mut counts = Counts::default();
        for row in self.workspaces().await? {
            if scope.includes(&row.workspace) {
                counts += row.counts;
            }
        }
        let bytes = match scope {
            Scope::All => {
                Some(self.store.read("stats", (), |t, a| Box::pin(read::bytes(t, a))).await?)
            }
            Scope::Workspace(_) => None,
        };
        Ok(Stats { counts, bytes })
    }

    async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
        self.store.finish("verify", Arc::clone(&self.store).verify(verify.clone())).await
    }

    async fn reindex(&self) -> Result<()> {
        let store = Arc::clone(&self.store);
        self.store.finish("reindex", async move { store.reindex().await }).await
    }

    /// Rewrites the tables (`CLUSTER`), which keeps others out of each while it lasts.
    async fn compact(&self) -> Result<()> {
        let store = Arc::clone(&self.store);
        self.store.finish("compact", async move { store.compact().await }).await
    }

    fn subscribe(&self) -> Result<Feed> {
        self.store.news.subscribe()
    }
}

#[async_trait]
impl EpisodicBackend for PostgresBackend {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        let about = (scope.clone(), id.clone());
        self.store.read("episode", about, |t, a| Box::pin(read::episode(t, a))).await
    }

    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        self.store.read("episodes", list.clone(), |t, a| Box::pin(read::episodes(t, a))).await
    }

    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Hit<Episode>>> {
        let asked = self.store.asked(query);
        self.store.read("recall", asked, |t, a| Box::pin(recall::recall(t, a))).await
    }
}

#[async_trait]
impl SessionStore for PostgresBackend {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        let about = (scope.clone(), id.clone());
        self.store.read("session", about, |t, a| Box::pin(read::session(t, a))).await
    }

    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        self.store.read("sessions", list.clone(), |t, a| Box::pin(read::sessions(t, a))).await
    }

    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        let about = (scope.clone(), id.clone());
        self.store.read("turn", about, |t, a| Box::pin(read::turn(t, a))).await
    }

    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        self.store.read("turns", list.clone(), |t, a| Box::pin(read::turns(t, a))).await
    }

    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        let about = (scope.clone(), id.clone());
        self.store.read("step", about, |t, a| Box::pin(read::step(t, a))).await
    }

    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        self.store.read("steps", list.clone(), |t, a| Box::pin(read::steps(t, a))).await
    }

    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        let asked = self.store.asked(query);
        self.store.read("recall", asked, |t, a| Box::pin(recall::recall(t, a))).await
    }
}

#[async_trait]
impl ReflectiveStore for PostgresBackend {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        let about = (scope.clone(), id.clone());
        self.store.read("note", about, |t, a| Box::pin(read::note(t, a))).await
    }

    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        self.store.read("notes", list.clone(), |t, a| Box::pin(read::notes(t, a))).await
    }

    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        let about = (workspace.clone(), key.to_owned());
        let slot = self.store.read("state", about, |t, a| Box::pin(read::state(t, a))).await?;
        Ok(slot.and_then(|slot| slot.live(self.store.clock.now())))
    }

    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        let about = (list.clone(), self.store.clock.now());
        self.store.read("states", about, |t, a| Box::pin(read::states(t, a))).await
    }

    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        self.store.read("audit_log", list.clone(), |t, a| Box::pin(read::audit_log(t, a))).await
    }

    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        let workspace = workspace.clone();
        self.store.read("audit_head", workspace, |t, a| Box::pin(read::audit_head(t, a))).await
    }

    async fn recall_notes(&self, query: &RecallQuery) -> Result<Vec<Hit<Note>>> {
        let asked = self.store.asked(query);
        self.store.read("recall", asked, |t, a| Box::pin(recall::recall(t, a))).await
    }
}

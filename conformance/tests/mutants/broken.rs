use std::{any::Any, future::Future, path::Path, sync::Arc};

use async_trait::async_trait;
use memkeep_core::{
    decide::Prepared,
    verify::{Verify, VerifyReport},
    *,
};

use crate::defect::{After, Before, Defect, Instead, OnFeed, OnInfo, Store};

/// A sound backend with a defect around its calls.
pub(crate) struct Broken {
    pub(crate) store: Store,
    pub(crate) defect: Arc<Defect>,
}

/// The arguments of calls that have none.
#[derive(Clone)]
pub(crate) struct Close;
#[derive(Clone)]
pub(crate) struct Compact;
#[derive(Clone)]
pub(crate) struct Workspaces;

/// The argument of a call that does one op: the op. What it answers is an [`Outcome`].
#[derive(Clone)]
pub(crate) struct OneOp(pub(crate) Op);

/// The arguments of `last_turns`.
pub(crate) type LastTurns = (Scope, SessionId, usize);

impl Broken {
    /// A call that does one op, other than `commit_one`.
    async fn one(&self, op: impl Into<Op>) -> Result<Outcome> {
        self.call(OneOp(op.into()), |_, OneOp(op)| async move { self.commit_one(op).await }).await
    }

    async fn call<Q, A, F>(&self, mut query: Q, run: impl FnOnce(Store, Q) -> F) -> Result<A>
    where
        Q: Any + Clone,
        A: Any,
        F: Future<Output = Result<A>>,
    {
        let asked = query.clone();
        self.defect.hooks::<Before<Q>>().for_each(|hook| hook.0(&mut query));
        let mut answer = match self.defect.hooks::<Instead<Q, A>>().next() {
            Some(hook) => hook.0(self.store.clone(), query).await,
            None => run(self.store.clone(), query).await,
        };
        self.defect.hooks::<After<Q, A>>().for_each(|hook| hook.0(&asked, &mut answer));
        answer
    }
}

macro_rules! call {
    ($self:ident, $method:ident()$marker:expr) => {
        $self.call($marker, |store, _| async move { store.$method().await }).await
    };
    ($self:ident, $method:ident($query:ident)) => {
        $self.call($query.to_owned(), |store, q| async move { store.$method(&q).await }).await
    };
    ($self:ident, $method:ident($first:ident, $second:ident)) => {
        $self
            .call(($first.to_owned(), $second.to_owned()), |store, (first, second)| async move {
                store.$method(&first, &second).await
            })
            .await
    };
}

#[async_trait]
impl Backend for Broken {
    fn info(&self) -> BackendInfo {
        let mut info = self.store.info();
        self.defect.hooks::<OnInfo>().for_each(|hook| hook.0(&mut info));
        info
    }
    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.call(batch, |store, batch| async move { store.commit(batch).await }).await
    }
    async fn commit_prepared(&self, prepared: Prepared) -> Result<Receipt> {
        self.call(prepared, |store, p| async move { store.commit_prepared(p).await }).await
    }
    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        call!(self, scan(scan))
    }
    async fn close(&self) -> Result<()> {
        call!(self, close() Close)
    }
    async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        call!(self, workspaces() Workspaces)
    }
    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        call!(self, stats(scope))
    }
    async fn prune(&self, prune: &Prune) -> Result<Counts> {
        call!(self, prune(prune))
    }
    async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
        call!(self, verify(verify))
    }
    async fn compact(&self) -> Result<()> {
        call!(self, compact() Compact)
    }
    async fn backup(&self, path: &Path) -> Result<()> {
        call!(self, backup(path))
    }
    async fn commit_one(&self, op: Op) -> Result<Outcome> {
        let commit = |_, op: Op| async move { self.commit(op.into()).await?.into_first() };
        self.call(op, commit).await
    }
    fn subscribe(&self) -> Result<Feed> {
        match self.defect.hooks::<OnFeed>().next() {
            Some(hook) => hook.0(&self.store),
            None => self.store.subscribe(),
        }
    }
}

#[async_trait]
impl EpisodicBackend for Broken {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        call!(self, episode(scope, id))
    }
    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        call!(self, episodes(list))
    }
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Hit<Episode>>> {
        call!(self, recall(query))
    }
    async fn add_episode(&self, episode: NewEpisode) -> Result<Episode> {
        self.one(episode).await?.into_episode()
    }
    async fn revise_episode(&self, revision: EpisodeRevision) -> Result<Episode> {
        self.one(revision).await?.into_episode()
    }
    async fn set_episode_open(&self, id: &EpisodeId, open: bool) -> Result<Episode> {
        self.one(Op::SetEpisodeOpen { episode: id.clone(), open }).await?.into_episode()
    }
    async fn delete_episode(&self, id: &EpisodeId) -> Result<Deleted> {
        let op = Op::DeleteEpisode { episode: id.clone(), closed_before: None };
        self.one(op).await?.into_deleted()
    }
}

#[async_trait]
impl SessionStore for Broken {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        call!(self, session(scope, id))
    }
    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        call!(self, sessions(list))
    }
    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        call!(self, turn(scope, id))
    }
    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        call!(self, turns(list))
    }
    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        call!(self, step(scope, id))
    }
    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        call!(self, steps(list))
    }
    async fn find_turns(&self, find: &FindTurns) -> Result<Vec<Turn>> {
        call!(self, find_turns(find))
    }
    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        call!(self, recall_turns(query))
    }
    async fn last_turns(&self, scope: &Scope, session: &SessionId, n: usize) -> Result<Vec<Turn>> {
        let query: LastTurns = (scope.clone(), session.clone(), n);
        // Over the listing, so that what is wrong there is wrong here.
        let last = |_, (scope, session, n): LastTurns| async move {
            let list = ListTurns::new(session).scope(scope).newest_first(true).limit(n);
            let mut turns = self.turns(&list).await?.items;
            turns.reverse();
            Ok(turns)
        };
        self.call(query, last).await
    }
    async fn start_session(&self, session: NewSession) -> Result<Session> {
        self.one(Op::StartSession(session)).await?.into_session()
    }
    async fn ensure_session(&self, session: NewSession) -> Result<Session> {
        self.one(Op::EnsureSession(session)).await?.into_session()
    }
    async fn end_session(&self, id: &SessionId) -> Result<Session> {
        self.one(Op::EndSession { session: id.clone(), at: None }).await?.into_session()
    }
    async fn resume_session(&self, id: &SessionId) -> Result<Session> {
        self.one(Op::ResumeSession { session: id.clone() }).await?.into_session()
    }
    async fn set_summary(&self, id: &SessionId, summary: Option<String>) -> Result<Session> {
        self.one(Op::SetSummary { session: id.clone(), summary }).await?.into_session()
    }
    async fn delete_session(&self, id: &SessionId) -> Result<Deleted> {
        let op = Op::DeleteSession { session: id.clone(), ended_before: None };
        self.one(op).await?.into_deleted()
    }
    async fn record_turn(&self, turn: NewTurn) -> Result<Turn> {
        self.one(turn).await?.into_turn()
    }
    async fn record_step(&self, step: NewStep) -> Result<Step> {
        self.one(step).await?.into_step()
    }
    async fn delete_turn(&self, id: &TurnId) -> Result<Deleted> {
        self.one(Op::DeleteTurn { turn: id.clone() }).await?.into_deleted()
    }
    async fn tag_turn(&self, id: &TurnId, name: &str, value: Option<String>) -> Result<Turn> {
        let op = Op::TagTurn { turn: id.clone(), name: name.to_owned(), value };
        self.one(op).await?.into_turn()
    }
    async fn untag_turn(&self, id: &TurnId, name: &str) -> Result<Turn> {
        let op = Op::UntagTurn { turn: id.clone(), name: name.to_owned() };
        self.one(op).await?.into_turn()
    }
    async fn set_embedding(&self, id: &TurnId, embedding_id: Option<String>) -> Result<Turn> {
        self.one(Op::SetEmbedding { turn: id.clone(), embedding_id }).await?.into_turn()
    }
}

#[async_trait]
impl ReflectiveStore for Broken {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        call!(self, note(scope, id))
    }
    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        call!(self, notes(list))
    }
    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        call!(self, state(workspace, key))
    }
    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        call!(self, states(list))
    }
    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        call!(self, audit_log(list))
    }
    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        call!(self, audit_head(workspace))
    }
    async fn recall_notes(&self, query: &RecallQuery) -> Result<Vec<Hit<Note>>> {
        call!(self, recall_notes(query))
    }
    async fn add_note(&self, note: NewNote) -> Result<Note> {
        self.one(note).await?.into_note()
    }
    async fn delete_note(&self, id: &NoteId) -> Result<Deleted> {
        self.one(Op::DeleteNote { note: id.clone() }).await?.into_deleted()
    }
    async fn put_state(&self, state: PutState) -> Result<StateEntry> {
        self.one(state).await?.into_state()
    }
    async fn delete_state(&self, state: DeleteState) -> Result<Deleted> {
        self.one(state).await?.into_deleted()
    }
    async fn append_audit(&self, audit: NewAudit) -> Result<AuditRecord> {
        self.one(audit).await?.into_audit()
    }
}

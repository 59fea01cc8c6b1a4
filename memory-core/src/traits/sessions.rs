use async_trait::async_trait;

use super::Backend;
use crate::{
    Deleted, FindTurns, Hit, ListSessions, ListSteps, ListTurns, NewSession, NewStep, NewTurn, Op,
    Page, RecallQuery, Result, Scope, Session, SessionId, Step, StepId, Turn, TurnId, search,
};

/// Sessions, their turns and execution steps: what was said and done.
///
/// Order is position, never a clock: turns and steps have indexes 0, 1, 2 …, given at the commit,
/// without a gap or a duplicate under concurrency, and never used again after a deletion.
#[async_trait]
pub trait SessionStore: Backend {
    /// The session `id`, if it is in scope.
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>>;

    /// Sessions, newest first, ties by insertion. Costs the same however many there are.
    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>>;

    /// The turn `id`, if it is in scope.
    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>>;

    /// Turns of a session by index; `NotFound` for a session that is not in scope.
    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>>;

    /// The step `id`, if it is in scope.
    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>>;

    /// Steps of a session by index; `NotFound` for a session that is not in scope.
    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>>;

    /// The last `n` turns of a session, in order.
    async fn last_turns(&self, scope: &Scope, session: &SessionId, n: usize) -> Result<Vec<Turn>> {
        let list = ListTurns::new(session).scope(scope.clone()).newest_first(true).limit(n);
        let mut turns = self.turns(&list).await?.items;
        turns.reverse();
        Ok(turns)
    }

    /// Turns with a literal text in them, newest first. See [`FindTurns`].
    async fn find_turns(&self, find: &FindTurns) -> Result<Vec<Turn>> {
        search::find(self, find).await
    }

    /// The turns that fit a question best. See [`RecallQuery`].
    async fn recall_turns(&self, query: &RecallQuery) -> Result<Vec<Hit<Turn>>> {
        search::recall(self, query).await
    }

    /// Commits [`Op::StartSession`].
    async fn start_session(&self, session: NewSession) -> Result<Session> {
        self.commit_one(Op::StartSession(session)).await?.into_session()
    }

    /// Commits [`Op::EnsureSession`].
    async fn ensure_session(&self, session: NewSession) -> Result<Session> {
        self.commit_one(Op::EnsureSession(session)).await?.into_session()
    }

    /// Commits [`Op::EndSession`].
    async fn end_session(&self, id: &SessionId) -> Result<Session> {
        let op = Op::EndSession { session: id.clone(), at: None };
        self.commit_one(op).await?.into_session()
    }

    /// Commits [`Op::ResumeSession`].
    async fn resume_session(&self, id: &SessionId) -> Result<Session> {
        let op = Op::ResumeSession { session: id.clone() };
        self.commit_one(op).await?.into_session()
    }

    /// Commits [`Op::SetSummary`].
    async fn set_summary(&self, id: &SessionId, summary: Option<String>) -> Result<Session> {
        let op = Op::SetSummary { session: id.clone(), summary };
        self.commit_one(op).await?.into_session()
    }

    /// Commits [`Op::DeleteSession`].
    async fn delete_session(&self, id: &SessionId) -> Result<Deleted> {
        let op = Op::DeleteSession { session: id.clone(), ended_before: None };
        self.commit_one(op).await?.into_deleted()
    }

    /// Commits [`Op::RecordTurn`].
    async fn record_turn(&self, turn: NewTurn) -> Result<Turn> {
        self.commit_one(turn.into()).await?.into_turn()
    }

    /// Commits [`Op::RecordStep`].
    async fn record_step(&self, step: NewStep) -> Result<Step> {
        self.commit_one(step.into()).await?.into_step()
    }

    /// Commits [`Op::DeleteTurn`].
    async fn delete_turn(&self, id: &TurnId) -> Result<Deleted> {
        self.commit_one(Op::DeleteTurn { turn: id.clone() }).await?.into_deleted()
    }

    /// Commits [`Op::TagTurn`].
    async fn tag_turn(&self, id: &TurnId, name: &str, value: Option<String>) -> Result<Turn> {
        let op = Op::TagTurn { turn: id.clone(), name: name.to_owned(), value };
        self.commit_one(op).await?.into_turn()
    }

    /// Commits [`Op::UntagTurn`].
    async fn untag_turn(&self, id: &TurnId, name: &str) -> Result<Turn> {
        let op = Op::UntagTurn { turn: id.clone(), name: name.to_owned() };
        self.commit_one(op).await?.into_turn()
    }

    /// Commits [`Op::SetEmbedding`].
    async fn set_embedding(&self, id: &TurnId, embedding_id: Option<String>) -> Result<Turn> {
        let op = Op::SetEmbedding { turn: id.clone(), embedding_id };
        self.commit_one(op).await?.into_turn()
    }
}

use async_trait::async_trait;

use super::Backend;
use crate::{
    Deleted, FindTurns, Hit, ListSessions, ListSteps, ListTurns, NewSession, NewStep, NewTurn, Op,
    Page, RecallQuery, Result, Scope, Session, SessionId, Step, StepId, Turn, TurnId, search,
};

/// Sessions, their turns and execution steps: what was said and done.
///
/// # Rules
///
/// - Order is position, never a clock: turns stay as they were recorded under equal times
///   (`TURN-ORDER-01`), a clock that steps back (`TURN-ORDER-02`) and times that the caller gives
///   (`TURN-ORDER-03`); so do steps (`STEP-ORDER-01`, `STEP-ORDER-02`).
/// - Turns and steps have the indexes 0, 1, 2 … of their session (`TURN-INDEX-01`, `STEP-INDEX-01`),
///   up to `i64::MAX - 1` (`MANY-INDEX-01`, `MANY-INDEX-02`), given at the commit, without a gap or a
///   duplicate under concurrency. What is refused takes none (`TURN-INDEX-02`); that of a deleted turn
///   is never used again (`TURN-INDEX-03`, `TURN-INDEX-04`).
/// - Counts, total tokens and next indexes of a session are current after every commit
///   (`SESSION-TOTAL-01`, `SESSION-TOTAL-02`). `last_active` never goes back (`SESSION-ACTIVE-01`).
/// - The first prompt is the first user turn by position (`SESSION-PROMPT-01`) that is there
///   (`SESSION-PROMPT-03`), or there again (`SESSION-PROMPT-06`), cut at 256 characters (`SESSION-PROMPT-02`), U+0000 being one
///   (`SESSION-PROMPT-04`). Only reads of sessions have it (`SESSION-PROMPT-05`).
/// - Turns and steps are of the workspace of their session (`SCOPE-SESSION-04`).
/// - A call that commits one op does what the op does in a batch (`ONE-OP-01`).
/// - Of a deleted session nothing is left: no turn, step or tag (`SESSION-DELETE-01`), however many
///   there were (`MANY-DELETE-01`), nothing to find or recall (`SESSION-DELETE-02`), also after
///   reopening (`SESSION-DELETE-03`). A new one under its id begins anew (`SESSION-DELETE-04`).
#[async_trait]
pub trait SessionStore: Backend {
    /// The session `id`, if it is in scope (`SCOPE-SESSION-01`).
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>>;

    /// Sessions, newest first, ties by insertion, by `started_at` (`SESSION-LIST-01`) or `last_active`
    /// (`SESSION-LIST-02`, `SESSION-LIST-03`). Costs the same however many there are.
    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>>;

    /// The turn `id`, if it is in scope.
    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>>;

    /// Turns of a session by index, from the oldest or the newest (`TURN-ORDER-04`); `NotFound` for a
    /// session that is not in scope (`SESSION-UNKNOWN-01`).
    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>>;

    /// The step `id`, if it is in scope (`STEP-READ-01`).
    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>>;

    /// Steps of a session by index; `NotFound` for a session that is not in scope.
    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>>;

    /// The last `n` turns of a session, in order (`TURN-LAST-01`).
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

    /// Commits [`Op::EndSession`]. The first end stays until the session is resumed
    /// (`SESSION-END-01`).
    async fn end_session(&self, id: &SessionId) -> Result<Session> {
        let op = Op::EndSession { session: id.clone(), at: None };
        self.commit_one(op).await?.into_session()
    }

    /// Commits [`Op::ResumeSession`].
    async fn resume_session(&self, id: &SessionId) -> Result<Session> {
        let op = Op::ResumeSession { session: id.clone() };
        self.commit_one(op).await?.into_session()
    }

    /// Commits [`Op::SetSummary`], which changes nothing else (`SESSION-SUMMARY-01`).
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

    /// Commits [`Op::DeleteTurn`]. The id may be given to a new turn (`TURN-DELETE-01`).
    async fn delete_turn(&self, id: &TurnId) -> Result<Deleted> {
        self.commit_one(Op::DeleteTurn { turn: id.clone() }).await?.into_deleted()
    }

    /// Commits [`Op::TagTurn`]. Any text is a name (`TURN-TAG-01`), and a turn has any number
    /// (`MANY-TAG-01`); nothing else of the turn changes
    /// (`TURN-TAG-02`).
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

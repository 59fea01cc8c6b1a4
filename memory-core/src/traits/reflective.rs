use async_trait::async_trait;

use super::Backend;
use crate::{
    AuditHead, AuditRecord, DeleteState, Deleted, Hit, ListAudit, ListNotes, ListStates, NewAudit,
    NewNote, Note, NoteId, Op, Page, PutState, RecallQuery, Result, Scope, StateEntry, Workspace,
    search,
};

/// Notes, state and the audit log: what was learned.
///
/// # Rules of notes
///
/// - What the caller leaves out has a default: a new id, the clock's time, and as the workspace
///   that of the first source (`SCOPE-NOTE-03`) or `default` (`NOTE-ADD-01`).
/// - Each source must exist (`NOTE-SOURCE-01`), in the note's workspace (`NOTE-SOURCE-02`). Sources
///   keep the caller's order (`NOTE-SOURCE-03`), any number of them (`MANY-SOURCE-01`), and their ids
///   outlive them (`NOTE-SOURCE-04`).
/// - A deleted note is in no read, and deleting it again succeeds (`NOTE-DELETE-01`).
///
/// A call that commits one op does what the op does in a batch (`ONE-OP-03`).
///
/// The rules of state are told at [`StateEntry`], those of the audit log at [`AuditRecord`].
#[async_trait]
pub trait ReflectiveStore: Backend {
    /// The note `id`, if it is in scope.
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>>;

    /// Notes by `created_at`, then insertion (`NOTE-ORDER-01`).
    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>>;

    /// The entry under `key`, if there is one and it has not expired.
    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>>;

    /// State entries by workspace, then key, both bytewise (`STATE-ORDER-01`). The prefix is
    /// literal (`STATE-PREFIX-01`, `HOSTILE-PREFIX-01`). Expired entries are not there, and no page
    /// counts them (`STATE-EXPIRE-03`).
    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>>;

    /// Audit records by seq; over all workspaces by workspace, then seq (`AUDIT-ORDER-01`).
    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>>;

    /// The end of a workspace's audit chain; that of an empty chain if it has none
    /// (`AUDIT-HEAD-01`).
    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead>;

    /// The notes that fit a question best. See [`RecallQuery`].
    async fn recall_notes(&self, query: &RecallQuery) -> Result<Vec<Hit<Note>>> {
        search::recall(self, query).await
    }

    /// Commits [`Op::AddNote`].
    async fn add_note(&self, note: NewNote) -> Result<Note> {
        self.commit_one(note.into()).await?.into_note()
    }

    /// Commits [`Op::DeleteNote`].
    async fn delete_note(&self, id: &NoteId) -> Result<Deleted> {
        self.commit_one(Op::DeleteNote { note: id.clone() }).await?.into_deleted()
    }

    /// Commits [`Op::PutState`].
    async fn put_state(&self, state: PutState) -> Result<StateEntry> {
        self.commit_one(state.into()).await?.into_state()
    }

    /// Commits [`Op::DeleteState`].
    async fn delete_state(&self, state: DeleteState) -> Result<Deleted> {
        self.commit_one(state.into()).await?.into_deleted()
    }

    /// Commits [`Op::AppendAudit`].
    async fn append_audit(&self, audit: NewAudit) -> Result<AuditRecord> {
        self.commit_one(audit.into()).await?.into_audit()
    }
}

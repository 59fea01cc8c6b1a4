use serde::{Deserialize, Serialize};

use super::Stored;
use crate::{
    AuditRecord, Episode, EpisodeId, Note, NoteId, Session, SessionId, StateSlot, Step,
    StoredReceipt, Timestamp, Turn, TurnId, Workspace,
};

/// One change of stored rows. A backend applies them in the order given; they cannot fail but for
/// the engine's own reasons.
///
/// A `Put` of a new record inserts it: it comes after all records of its kind in order of insertion.
/// A `Put` of one that is there replaces its fields and keeps its place. A deletion names a row that
/// is there, except the wide ones, which may find nothing.
///
/// An engine that is a log can keep the changes as they are: from JSON they come back equal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Delete everything of a workspace: all kinds, audit and state slots included.
    DeleteWorkspace(Workspace),
    /// Delete a session with its turns (and their tags) and steps.
    DeleteSession(SessionId),
    /// Delete a turn with its tags.
    DeleteTurn(TurnId),
    /// Delete an episode.
    DeleteEpisode(EpisodeId),
    /// Delete a note.
    DeleteNote(NoteId),
    /// Delete the receipts of batches that were committed before an instant.
    DeleteReceipts(Timestamp),
    /// Put a session; `first_prompt` is not stored. Of one that is there, `id`, `workspace`,
    /// `created_at`, `started_at`, `model`, `mode`, `metadata` and origin are as they were.
    PutSession(Put<Stored<Session>>),
    /// Put a turn with its tags. Content, role, session and index of one that is there are as they
    /// were; only `embedding_id` and tags may differ.
    PutTurn(Put<Stored<Turn>>),
    /// Insert a step.
    PutStep(Step),
    /// Put an episode.
    PutEpisode(Put<Stored<Episode>>),
    /// Insert a note.
    PutNote(Note),
    /// Put a state slot, by workspace and key.
    PutState(Put<StateSlot>),
    /// Insert an audit record: the new end of its chain.
    PutAudit(AuditRecord),
    /// Put a receipt, by key.
    PutReceipt(StoredReceipt),
}

/// A row to put, and whether it is new.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Put<T> {
    /// The row.
    pub row: T,
    /// Whether the store has no such row (or an earlier change deletes it): an insertion.
    pub new: bool,
}

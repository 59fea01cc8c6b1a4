use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    AuditHead, AuditId, AuditRecord, Counts, Episode, EpisodeId, Note, NoteId, Session, SessionId,
    StateKey, StateSlot, Step, StepId, StoredReceipt, Turn, TurnId, Workspace,
};

/// A record as a store keeps it: with the mark of how it was created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored<T> {
    /// The record as it is now.
    pub record: T,
    /// What it was created from; absent if its id was generated, so that no caller can name it in
    /// a retry. Kept by backends as 16 opaque bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The first 16 bytes of a SHA-256 over the fields that a caller set when creating a record. By it
/// a retry is told from another record under the same id, even after the record has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin(pub [u8; 16]);

/// The rows that a backend loaded for a batch's [`Needs`](super::Needs). A row that does not exist
/// is not in its map; sessions are without `first_prompt`.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The receipt under the batch's idempotency key.
    pub receipt: Option<StoredReceipt>,
    /// Sessions.
    pub sessions: HashMap<SessionId, Stored<Session>>,
    /// Turns.
    pub turns: HashMap<TurnId, Stored<Turn>>,
    /// Steps.
    pub steps: HashMap<StepId, Step>,
    /// Episodes.
    pub episodes: HashMap<EpisodeId, Stored<Episode>>,
    /// Notes.
    pub notes: HashMap<NoteId, Note>,
    /// State slots.
    pub states: HashMap<StateKey, StateSlot>,
    /// Audit records.
    pub audits: HashMap<AuditId, AuditRecord>,
    /// The ends of audit chains.
    pub audit_heads: HashMap<Workspace, AuditHead>,
    /// Turns by session and index.
    pub turn_slots: HashMap<(SessionId, u64), TurnId>,
    /// Steps by session and index.
    pub step_slots: HashMap<(SessionId, u64), StepId>,
    /// How many records workspaces have.
    pub workspaces: HashMap<Workspace, Counts>,
}

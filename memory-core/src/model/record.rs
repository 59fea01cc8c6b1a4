use serde::{Deserialize, Serialize};

use super::{AuditRecord, Episode, Note, Session, StateSlot, Step, Turn};
use crate::Workspace;

/// Any record, as exports hold it and [`Op::Restore`](crate::Op::Restore) takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A session.
    Session(Session),
    /// A turn.
    Turn(Turn),
    /// An execution step.
    Step(Step),
    /// An episode.
    Episode(Episode),
    /// A note.
    Note(Note),
    /// A state entry, or what a deleted one left.
    State(StateSlot),
    /// An audit record.
    Audit(AuditRecord),
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// [`Record::Session`].
    Session,
    /// [`Record::Turn`].
    Turn,
    /// [`Record::Step`].
    Step,
    /// [`Record::Episode`].
    Episode,
    /// [`Record::Note`].
    Note,
    /// [`Record::State`].
    State,
    /// [`Record::Audit`].
    Audit,
}

impl RecordKind {
    /// All kinds, in the order in which an export holds them: a record follows what it refers to.
    pub const ALL: [Self; 7] = [
        Self::Session,
        Self::Turn,
        Self::Step,
        Self::Episode,
        Self::Note,
        Self::State,
        Self::Audit,
    ];

    /// The kind's name in JSON and in messages: `session`, `turn`, …
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Step => "step",
            Self::Episode => "episode",
            Self::Note => "note",
            Self::State => "state",
            Self::Audit => "audit",
        }
    }
}

impl Record {
    /// Its kind.
    pub fn kind(&self) -> RecordKind {
        match self {
            Self::Session(_) => RecordKind::Session,
            Self::Turn(_) => RecordKind::Turn,
            Self::Step(_) => RecordKind::Step,
            Self::Episode(_) => RecordKind::Episode,
            Self::Note(_) => RecordKind::Note,
            Self::State(_) => RecordKind::State,
            Self::Audit(_) => RecordKind::Audit,
        }
    }

    /// Its id; for a state entry, its key.
    pub fn id(&self) -> &str {
        match self {
            Self::Session(r) => r.id.as_str(),
            Self::Turn(r) => r.id.as_str(),
            Self::Step(r) => r.id.as_str(),
            Self::Episode(r) => r.id.as_str(),
            Self::Note(r) => r.id.as_str(),
            Self::State(r) => &r.key,
            Self::Audit(r) => r.id.as_str(),
        }
    }

    /// Where it belongs.
    pub fn workspace(&self) -> &Workspace {
        match self {
            Self::Session(r) => &r.workspace,
            Self::Turn(r) => &r.workspace,
            Self::Step(r) => &r.workspace,
            Self::Episode(r) => &r.workspace,
            Self::Note(r) => &r.workspace,
            Self::State(r) => &r.workspace,
            Self::Audit(r) => &r.workspace,
        }
    }
}

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    AuditRecord, Deleted, Episode, Error, ErrorKind, Hash, Note, Record, Result, Session,
    StateEntry, Step, Timestamp, Turn, Workspace,
};

/// How long a batch's idempotency key is honoured.
pub const RECEIPT_RETENTION: Duration = Duration::from_hours(7 * 24);

/// What a batch did: one outcome an op, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// The clock reading that served the batch.
    pub at: Timestamp,
    /// What each op did.
    pub outcomes: Vec<Outcome>,
}

/// What one op did.
///
/// A replayed receipt (see [`Batch::key`](crate::Batch::key)) holds each created record exactly as
/// it was created. Receipts keep no text, so that what is deleted leaves nothing behind; therefore
/// an op that changed a record is answered with the record as it is now, or [`Outcome::Gone`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The session, as the op left it.
    Session(Session),
    /// The turn, as the op left it.
    Turn(Turn),
    /// The step.
    Step(Step),
    /// The episode, as the op left it.
    Episode(Episode),
    /// The note.
    Note(Note),
    /// The state entry that was put.
    State(StateEntry),
    /// The audit record.
    Audit(AuditRecord),
    /// What was deleted.
    Deleted(Deleted),
    /// The record that was restored.
    Restored {
        /// The record, as it is stored.
        record: Record,
        /// Whether it is new: it was not there, as it is or changed since (`RESTORE-RECORD-05`).
        created: bool,
    },
    /// In a replayed receipt: the record that this op changed has been deleted since.
    Gone,
}

macro_rules! into_outcome {
    ($($method:ident $variant:ident $ty:ty;)*) => {$(
        #[doc = concat!("The ", stringify!($ty), " of an op that answers with one.")]
        pub fn $method(self) -> Result<$ty> {
            match self {
                Self::$variant(value) => Ok(value),
                other => Err(other.unlike(stringify!($variant))),
            }
        }
    )*};
}

impl Outcome {
    into_outcome! {
        into_session Session Session;
        into_turn Turn Turn;
        into_step Step Step;
        into_episode Episode Episode;
        into_note Note Note;
        into_state State StateEntry;
        into_audit Audit AuditRecord;
        into_deleted Deleted Deleted;
    }

    fn unlike(&self, wanted: &str) -> Error {
        if matches!(self, Self::Gone) {
            return Error::new(ErrorKind::NotFound, "the record has been deleted since");
        }
        Error::new(
            ErrorKind::Unexpected,
            format!("the backend answered with another outcome than {wanted}"),
        )
    }
}

impl Receipt {
    /// The first outcome: that of a batch of one op.
    pub fn into_first(self) -> Result<Outcome> {
        self.outcomes.into_iter().next().ok_or_else(|| {
            Error::new(ErrorKind::Unexpected, "the backend answered without an outcome")
        })
    }
}

/// What a store keeps of a batch that was committed under an idempotency key. It holds no text of
/// records: a replay takes that from the batch itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredReceipt {
    /// The idempotency key.
    pub key: String,
    /// SHA-256 over the batch's ops.
    pub digest: Hash,
    /// The clock reading that served the batch.
    pub at: Timestamp,
    /// What the commit gave to each op.
    pub marks: Vec<Mark>,
}

/// What a commit gave to one op.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A record was created.
    Created {
        /// Its id.
        id: String,
        /// Its workspace.
        workspace: Workspace,
        /// Its index in the session, place in the audit chain, or version; else 0.
        index: u64,
        /// Its `created_at`.
        created_at: Timestamp,
        /// An audit record's hash; else absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<Hash>,
    },
    /// A record was changed, or was there already.
    Changed {
        /// Its id.
        id: String,
    },
    /// Something was deleted.
    Deleted(Deleted),
    /// A record was restored that was not there.
    Restored,
}

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    AuditId, EpisodeId, Json, Metadata, NoteId, Record, SessionId, StepId, Timestamp, TurnId,
    Workspace,
};

/// One change to memory. What each op does, and what it refuses, is written in
/// [`decide`](crate::decide::decide); DESIGN's table of ops is its index.
///
/// As JSON: an object whose `op` is the variant in `snake_case`, beside the variant's fields, as in
/// `{"op":"record_turn","session":"…","role":"user","content":"…"}`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Op {
    /// Starts a session. An id that exists with another body is `Conflict`.
    StartSession(NewSession),
    /// The session with this id as it is, or a new one. A field that is set here and was created
    /// otherwise is `Conflict`.
    EnsureSession(NewSession),
    /// Ends a session; one that has ended keeps its first end.
    EndSession {
        /// The session.
        session: SessionId,
        /// When it ended; the store's clock if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// Opens an ended session again.
    ResumeSession {
        /// The session.
        session: SessionId,
    },
    /// Sets a session's summary, or removes it.
    SetSummary {
        /// The session.
        session: SessionId,
        /// The summary; none removes it.
        summary: Option<String>,
    },
    /// Deletes a session with its turns, steps and tags.
    DeleteSession {
        /// The session.
        session: SessionId,
        /// Only if it ended before this instant; otherwise nothing is deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_before: Option<Timestamp>,
    },
    /// Appends a turn to a session.
    RecordTurn(NewTurn),
    /// Appends a step to a session.
    RecordStep(NewStep),
    /// Deletes a turn; its index stays unused.
    DeleteTurn {
        /// The turn.
        turn: TurnId,
    },
    /// Sets a tag of a turn.
    TagTurn {
        /// The turn.
        turn: TurnId,
        /// The tag's name.
        name: String,
        /// The tag's value, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Removes a tag of a turn, if it has it.
    UntagTurn {
        /// The turn.
        turn: TurnId,
        /// The tag's name.
        name: String,
    },
    /// Sets a turn's id in the caller's vector index, or removes it.
    SetEmbedding {
        /// The turn.
        turn: TurnId,
        /// The id; none removes it.
        embedding_id: Option<String>,
    },
    /// Adds an episode.
    AddEpisode(NewEpisode),
    /// Changes an episode's texts or metadata.
    ReviseEpisode(EpisodeRevision),
    /// Opens or closes an episode.
    SetEpisodeOpen {
        /// The episode.
        episode: EpisodeId,
        /// Whether it is unresolved.
        open: bool,
    },
    /// Deletes an episode. Notes keep its id.
    DeleteEpisode {
        /// The episode.
        episode: EpisodeId,
        /// Only if it is closed since before this instant; otherwise nothing is deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        closed_before: Option<Timestamp>,
    },
    /// Adds a note.
    AddNote(NewNote),
    /// Deletes a note.
    DeleteNote {
        /// The note.
        note: NoteId,
    },
    /// Puts a value under a state key.
    PutState(PutState),
    /// Deletes the value under a state key. The version count goes on.
    DeleteState(DeleteState),
    /// Appends to the audit chain of a workspace.
    AppendAudit(NewAudit),
    /// Deletes everything of a workspace, audit included. Receipts of batches under an idempotency
    /// key hold no text, but ids and the workspace's name, until they are pruned.
    ForgetWorkspace {
        /// The workspace.
        workspace: Workspace,
    },
    /// Forgets the receipts of batches committed before an instant, but never those younger than
    /// [`RECEIPT_RETENTION`](crate::RECEIPT_RETENTION).
    ForgetReceipts {
        /// The instant.
        before: Timestamp,
    },
    /// Stores a record as it is: index, version, times, missing note sources. A session's derived
    /// fields are kept by the turns and steps that follow it. An audit record must be the next of
    /// its chain.
    Restore {
        /// The record.
        record: Record,
    },
}

/// What a state key must hold for a put or a deletion to happen. An expired entry is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// Anything.
    #[default]
    Any,
    /// No entry.
    Absent,
    /// An entry of exactly this version.
    Version(u64),
}

/// Structs of optional fields with one setter a field; required fields come first and are the
/// arguments of `new`.
macro_rules! request {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$rdoc:meta])* $req:ident: $rty:ty,)*
            ---
            $($(#[$odoc:meta])* $opt:ident: $oty:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$rdoc])* pub $req: $rty,)*
            $(
                $(#[$odoc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $opt: Option<$oty>,
            )*
        }

        impl $name {
            /// With the required fields; the others are unset.
            #[allow(clippy::new_without_default)]
            pub fn new($($req: impl Into<$rty>),*) -> Self {
                Self { $($req: $req.into(),)* $($opt: None,)* }
            }

            $(
                $(#[$odoc])*
                #[must_use]
                pub fn $opt(mut self, $opt: impl Into<$oty>) -> Self {
                    self.$opt = Some($opt.into());
                    self
                }
            )*
        }
    };
}

request! {
    /// A session to start.
    NewSession {
        ---
        /// Its id; generated if absent.
        id: SessionId,
        /// Where it belongs; `default` if absent.
        workspace: Workspace,
        /// When the record was made; the store's clock if absent.
        created_at: Timestamp,
        /// When it began; `created_at` if absent.
        started_at: Timestamp,
        /// The model that speaks.
        model: String,
        /// The mode the agent runs in.
        mode: String,
        /// The caller's own data.
        metadata: Metadata,
    }
}

impl Default for NewSession {
    fn default() -> Self {
        Self::new()
    }
}

request! {
    /// A turn to record.
    NewTurn {
        /// The session it is appended to.
        session: SessionId,
        /// Who speaks.
        role: String,
        /// What is said.
        content: String,
        ---
        /// Its id; generated if absent.
        id: TurnId,
        /// When it was said; the store's clock if absent.
        created_at: Timestamp,
        /// The model that says it.
        model: String,
        /// What it cost, in tokens.
        tokens: i64,
        /// Its id in the caller's vector index.
        embedding_id: String,
        /// The caller's own data.
        metadata: Metadata,
        /// Its first tags.
        tags: BTreeMap<String, Option<String>>,
    }
}

request! {
    /// An execution step to record.
    NewStep {
        /// The session it is appended to.
        session: SessionId,
        /// What is done.
        name: String,
        /// How it goes.
        status: String,
        ---
        /// Its id; generated if absent.
        id: StepId,
        /// When it is done; the store's clock if absent.
        created_at: Timestamp,
        /// What goes in and comes out; `null` if absent.
        payload: Json,
    }
}

request! {
    /// An episode to add.
    NewEpisode {
        /// The problem.
        problem: String,
        /// What came of it.
        summary: String,
        ---
        /// Its id; generated if absent.
        id: EpisodeId,
        /// Where it belongs; `default` if absent.
        workspace: Workspace,
        /// When it was met; the store's clock if absent.
        created_at: Timestamp,
        /// Whether it is unresolved; true if absent.
        open: bool,
        /// The caller's own data.
        metadata: Metadata,
    }
}

request! {
    /// What of an episode is to change; what is unset stays.
    EpisodeRevision {
        /// The episode.
        episode: EpisodeId,
        ---
        /// The problem.
        problem: String,
        /// What came of it.
        summary: String,
        /// The caller's own data, all of it.
        metadata: Metadata,
    }
}

request! {
    /// A note to add.
    NewNote {
        /// The lesson.
        text: String,
        ---
        /// Its id; generated if absent.
        id: NoteId,
        /// Where it belongs; if absent, where its first source does, or `default` without sources.
        workspace: Workspace,
        /// When it was written; the store's clock if absent.
        created_at: Timestamp,
        /// The episodes it is drawn from. Each must exist in the note's workspace.
        sources: Vec<EpisodeId>,
    }
}

request! {
    /// A value to put under a state key.
    PutState {
        /// The key; it may be empty.
        key: String,
        /// The value.
        value: Json,
        ---
        /// Where it belongs; `default` if absent.
        workspace: Workspace,
        /// What the key must hold; anything if absent.
        expected: Expected,
        /// From this instant on the entry reads as absent.
        expires_at: Timestamp,
        /// How long, in milliseconds from the commit, the entry can be read. Not with `expires_at`.
        ttl_ms: u64,
    }
}

impl PutState {
    /// How long, from the commit, the entry can be read; counted in whole milliseconds, rounded up.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        let millis = ttl.as_nanos().div_ceil(1_000_000);
        self.ttl_ms(u64::try_from(millis).unwrap_or(u64::MAX))
    }
}

request! {
    /// A state key whose value is to be deleted.
    DeleteState {
        /// The key.
        key: String,
        ---
        /// Where it belongs; `default` if absent.
        workspace: Workspace,
        /// What the key must hold; anything if absent.
        expected: Expected,
        /// Only if it has expired, and did before this instant; otherwise nothing is deleted.
        expired_before: Timestamp,
    }
}

request! {
    /// A decision to append to the audit chain.
    NewAudit {
        /// What was to be done.
        action: String,
        /// What was decided.
        decision: String,
        ---
        /// Its id; generated if absent.
        id: AuditId,
        /// Whose chain; that of `default` if absent.
        workspace: Workspace,
        /// When it was decided; the store's clock if absent.
        created_at: Timestamp,
        /// The circumstances; `null` if absent.
        detail: Json,
    }
}

macro_rules! from_request {
    ($($request:ident => $variant:ident,)*) => {$(
        impl From<$request> for Op {
            fn from(request: $request) -> Self {
                Self::$variant(request)
            }
        }
    )*};
}

from_request! {
    NewTurn => RecordTurn,
    NewStep => RecordStep,
    NewEpisode => AddEpisode,
    EpisodeRevision => ReviseEpisode,
    NewNote => AddNote,
    PutState => PutState,
    DeleteState => DeleteState,
    NewAudit => AppendAudit,
}

impl From<Record> for Op {
    fn from(record: Record) -> Self {
        Self::Restore { record }
    }
}

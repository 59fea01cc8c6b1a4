use memkeep_core::{Batch, Op, RecordKind, Scope, Timestamp, Workspace, recall::Scorer};
use serde::{Deserialize, Serialize};

/// What is done to a store, one command after the other. As JSON it can be kept as a regression.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
}

/// A command, and through which handle it is done where there are two.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) second: bool,
    #[serde(flatten)]
    pub(super) command: Command,
}

/// One thing done to a store. Where an id that an op or a read names is `#3`, it stands for the
/// fourth record of its kind that there is then (counted round): so generated ids can be named.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Command {
    /// Commits a batch.
    Commit(Batch),
    /// Does one op by the call that the traits have for it.
    One(Op),
    /// Restores records that were there once, as they were: which of all that were ever seen.
    RestoreSeen(Vec<usize>),
    /// Puts the clock so many microseconds after where it stood first.
    Clock(i64),
    /// Reads, and compares.
    Read(Read),
    /// Reads the first page of a listing, and compares it.
    Begin(Listing),
    /// Reads the next page of the listing that was begun last, and compares it.
    Continue,
    /// Prunes what was over so many microseconds after where the clock stood first.
    Prune { before: i64, scope: Option<Workspace> },
    /// Compares everything there is.
    Compare,
    /// Closes the store and opens it again.
    Reopen,
}

/// A read whose answer is compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Read {
    /// A record by its id; not a state entry.
    ById {
        kind: RecordKind,
        scope: Option<Workspace>,
        id: String,
    },
    /// A state entry.
    State {
        workspace: Workspace,
        key: String,
    },
    /// A whole listing, page by page.
    All(Listing),
    Find {
        text: String,
        scope: Option<Workspace>,
        role: Option<String>,
        limit: usize,
    },
    Recall(Recall),
    AuditHead {
        workspace: Workspace,
    },
    Workspaces,
    Stats {
        scope: Option<Workspace>,
    },
}

/// A listing in pages of `limit` rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Listing {
    pub(crate) of: Of,
    pub(crate) scope: Option<Workspace>,
    pub(crate) limit: usize,
}

/// What is listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Of {
    Scan(RecordKind),
    Episodes { open: Option<bool> },
    Notes,
    Sessions { by_activity: bool },
    Turns { session: String, newest_first: bool },
    Steps { session: String },
    States { prefix: String },
    Audit,
}

/// A question to recall over episodes, turns or notes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recall {
    pub(crate) kind: RecordKind,
    pub(crate) text: String,
    pub(crate) k: usize,
    pub(crate) scorer: Option<Scorer>,
    pub(crate) scope: Option<Workspace>,
    pub(crate) open: Option<bool>,
    pub(crate) role: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

/// The scope that a command names.
pub(super) fn scope(workspace: Option<&Workspace>) -> Scope {
    Scope::from(workspace.cloned())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference.
fn is_false(value: &bool) -> bool {
    !value
}

use serde::{Deserialize, Serialize};

use crate::{Json, SessionId, StepId, Timestamp, Workspace};

/// One thing done in a session: a tool call, a command, a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Unique among steps.
    pub id: StepId,
    /// The workspace of its session.
    pub workspace: Workspace,
    /// When it was done.
    pub created_at: Timestamp,
    /// The session it belongs to.
    pub session: SessionId,
    /// Its position among the session's steps, counted apart from the turns.
    pub index: u64,
    /// What was done: `plan`, `edit_file`, …
    pub name: String,
    /// How it went: `running`, `success`, `failed`, …
    pub status: String,
    /// What went in and came out.
    #[serde(default)]
    pub payload: Json,
}

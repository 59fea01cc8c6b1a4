use serde::{Deserialize, Serialize};

use crate::{Metadata, SessionId, Timestamp, Workspace};

/// How many characters of the first user turn a session shows.
pub const FIRST_PROMPT_CHARS: usize = 256;

/// One run of an agent, or one conversation: turns and execution steps in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Unique among sessions.
    pub id: SessionId,
    /// Where it belongs.
    pub workspace: Workspace,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When the session began; listings sort by it.
    pub started_at: Timestamp,
    /// When it ended; no turn or step is recorded after that, until it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The model that spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The mode the agent ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// What the session came to, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The caller's own data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The index that the next turn gets. Indexes are never used twice.
    #[serde(default)]
    pub next_turn: u64,
    /// The index that the next step gets.
    #[serde(default)]
    pub next_step: u64,
    /// Derived: how many turns it has.
    #[serde(default)]
    pub turn_count: u64,
    /// Derived: how many steps it has.
    #[serde(default)]
    pub step_count: u64,
    /// Derived: the sum of its turns' tokens.
    #[serde(default)]
    pub total_tokens: i64,
    /// Derived: the latest of `started_at` and the times of all turns and steps it ever had.
    #[serde(default)]
    pub last_active: Timestamp,
    /// Derived, looked up by reads of sessions: the first turn of the role `user`, cut at
    /// [`FIRST_PROMPT_CHARS`] characters. Absent in [`Record`](crate::Record)s and outcomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
}

/// `content` cut at [`FIRST_PROMPT_CHARS`] characters.
pub fn first_prompt(content: &str) -> &str {
    match content.char_indices().nth(FIRST_PROMPT_CHARS) {
        Some((end, _)) => &content[..end],
        None => content,
    }
}

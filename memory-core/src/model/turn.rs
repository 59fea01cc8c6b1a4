use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Metadata, SessionId, Timestamp, TurnId, Workspace};

/// One thing said in a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Unique among turns.
    pub id: TurnId,
    /// The workspace of its session.
    pub workspace: Workspace,
    /// When it was said, as the caller or the store's clock had it. Order does not depend on it.
    pub created_at: Timestamp,
    /// The session it belongs to.
    pub session: SessionId,
    /// Its position: 0, 1, 2 … in the session, given at the commit, never used twice.
    pub index: u64,
    /// Who spoke: `user`, `assistant`, `system`, `tool`, or any other text.
    pub role: String,
    /// What was said.
    pub content: String,
    /// The model that said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it cost, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    /// Its id in the caller's vector index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedding_id: Option<String>,
    /// The caller's own data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Tags: a name and, if wanted, a value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Option<String>>,
}

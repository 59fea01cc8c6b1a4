use serde::{Deserialize, Serialize};

use crate::{EpisodeId, Metadata, Timestamp, Workspace};

/// A problem and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Unique among episodes.
    pub id: EpisodeId,
    /// Where it belongs.
    pub workspace: Workspace,
    /// When it was met.
    pub created_at: Timestamp,
    /// The problem.
    pub problem: String,
    /// What came of it.
    pub summary: String,
    /// Whether it is unresolved: recall prefers such episodes.
    pub open: bool,
    /// When it was closed last; absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// The caller's own data.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

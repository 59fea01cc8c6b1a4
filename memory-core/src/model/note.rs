use serde::{Deserialize, Serialize};

use crate::{EpisodeId, NoteId, Timestamp, Workspace};

/// A lesson, distilled from episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Unique among notes.
    pub id: NoteId,
    /// Where it belongs.
    pub workspace: Workspace,
    /// When it was written.
    pub created_at: Timestamp,
    /// The lesson.
    pub text: String,
    /// The episodes it was drawn from, in the caller's order. A deleted episode's id stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<EpisodeId>,
}

use serde::Serialize;

use crate::Part;

/// What a backend may call itself. See [`Report::grants`](crate::Report::grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The clauses of episodes.
    Episodic,
    /// The clauses of sessions.
    Sessions,
    /// The clauses of notes, state and audit.
    Reflective,
    /// All clauses, those that need all parts together included.
    Full,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::Episodic, Self::Sessions, Self::Reflective, Self::Full];

    /// The level's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Sessions => "sessions",
            Self::Reflective => "reflective",
            Self::Full => "full",
        }
    }

    pub(super) fn includes(self, part: Part) -> bool {
        match self {
            Self::Episodic => part == Part::Episodic,
            Self::Sessions => part == Part::Sessions,
            Self::Reflective => part == Part::Reflective,
            Self::Full => true,
        }
    }
}

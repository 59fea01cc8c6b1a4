use serde::Serialize;

use crate::Part;

/// What a backend may call itself. See [`Report::grants`](crate::Report::grants).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The clauses of episodes, and those of any backend.
    Episodic,
    /// The clauses of sessions, and those of any backend.
    Sessions,
    /// The clauses of notes, state and audit, and those of any backend.
    Reflective,
    /// All clauses, those that need two parts together included.
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
        let own = match self {
            Self::Episodic => Part::Episodic,
            Self::Sessions => Part::Sessions,
            Self::Reflective => Part::Reflective,
            Self::Full => return true,
        };
        part == own || part == Part::Any
    }
}

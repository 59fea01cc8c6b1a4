use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What kind of file an import reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourceFormat {
    /// A SQLite file of `MuseEngine`: episodes, notes, state, audit.
    Muse,
    /// A SQLite file of velune: sessions, turns and tags, conversation turns and execution steps.
    Velune,
    /// An export of memkeep: JSON lines.
    Jsonl,
}

impl SourceFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Muse, Self::Velune, Self::Jsonl];

    /// The format's name: `muse`, `velune`, `jsonl`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Muse => "muse",
            Self::Velune => "velune",
            Self::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for SourceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SourceFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            Error::invalid("from", format_args!("`{text}` is none of {known}"))
        })
    }
}

use std::str::FromStr;

use memkeep_core::{Durability, Error, Result};

/// What a returned commit has survived; PRAGMA synchronous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// A power cut: each commit waits until it is on the medium.
    #[default]
    Full,
    /// The end of the process. A power cut may take the last commits away, never one half-way.
    Normal,
}

impl Synchronous {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }

    pub(crate) const fn durability(self) -> Durability {
        match self {
            Self::Full => Durability::Power,
            Self::Normal => Durability::Process,
        }
    }
}

impl FromStr for Synchronous {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Full, Self::Normal]
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| Error::invalid("synchronous", "neither `full` nor `normal`"))
    }
}

use std::str::FromStr;

use memkeep_core::{Durability, Error, Result};

/// What a returned commit has survived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedbDurability {
    /// A power cut: each commit waits until it is on the medium.
    #[default]
    Immediate,
    /// Nothing yet: commits are kept in memory and written when the store is closed. What ends the
    /// process before takes all of them away, never half of one.
    None,
}

impl RedbDurability {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::None => "none",
        }
    }

    pub(crate) const fn declared(self) -> Durability {
        match self {
            Self::Immediate => Durability::Power,
            Self::None => Durability::Volatile,
        }
    }

    pub(crate) const fn of_redb(self) -> redb::Durability {
        match self {
            Self::Immediate => redb::Durability::Immediate,
            Self::None => redb::Durability::None,
        }
    }
}

impl FromStr for RedbDurability {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Self::Immediate, Self::None]
            .into_iter()
            .find(|level| level.as_str() == text)
            .ok_or_else(|| Error::invalid("durability", "neither `immediate` nor `none`"))
    }
}

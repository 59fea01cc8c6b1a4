use std::{borrow::Borrow, fmt};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// A non-empty string of at most 1 KiB, unique for its kind in the store; the bounds are
        /// checked where a batch is prepared. A generated id is
        #[doc = concat!("`", $prefix, "` and a `UUIDv7` (`ID-GENERATED-01`); any other text is kept as it is.")]
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// What a generated id starts with.
            pub const PREFIX: &'static str = $prefix;

            /// The id `id`, as it is.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// A new id that no other record has.
            pub fn generate() -> Self {
                Self(format!("{}{}", $prefix, Uuid::now_v7()))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(id: String) -> Self {
                Self(id)
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl From<&$name> for String {
            fn from(id: &$name) -> Self {
                id.0.clone()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )*};
}

ids! {
    /// The id of a session.
    SessionId "ses-";
    /// The id of a turn.
    TurnId "trn-";
    /// The id of an execution step.
    StepId "stp-";
    /// The id of an episode.
    EpisodeId "ep-";
    /// The id of a note.
    NoteId "nte-";
    /// The id of an audit record.
    AuditId "aud-";
}

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Json, Timestamp, Workspace};

/// What a state entry is kept under. Keys may be empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateKey {
    /// The workspace.
    pub workspace: Workspace,
    /// The key in it.
    pub key: String,
}

/// A value that an agent keeps under a key, as it reads now.
///
/// # Rules
///
/// - An entry is under its workspace and its key, which never run together (`STATE-SCOPE-01`).
///   `null` is a value (`STATE-PUT-02`).
/// - Versions of a key only grow: across update, deletion and expiry (`STATE-VERSION-01`), pruning
///   (`STATE-VERSION-02`) and reopening (`STATE-VERSION-03`). So a stale holder can never win.
/// - A put or a deletion with an expectation happens only if the key holds just that: no entry
///   (`STATE-EXPECT-01`) or an entry of a version (`STATE-EXPECT-02`), as the earlier ops of the
///   batch left it (`STATE-EXPECT-03`); among concurrent ones no update is lost (`STATE-EXPECT-05`,
///   `STATE-EXPECT-06`).
/// - From `expires_at` on an entry is absent everywhere (`STATE-EXPIRE-01`, `STATE-EXPIRE-03`), also
///   to an expectation (`STATE-EXPECT-04`). A put without an expiry removes it (`STATE-EXPIRE-02`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateEntry {
    /// Where it belongs.
    pub workspace: Workspace,
    /// The key.
    pub key: String,
    /// The value.
    pub value: Json,
    /// 1 at the first put, one more at each later put of the key (`STATE-PUT-01`), also across
    /// deletion and expiry.
    pub version: u64,
    /// When the key was first put, or put again after a deletion or expiry.
    pub created_at: Timestamp,
    /// When it was last put.
    pub updated_at: Timestamp,
    /// From this instant on it reads as absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// What a store keeps for a state key: an entry, or, after its deletion, only the version, so that
/// the count goes on and a stale holder can never win (`STATE-DELETE-01`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateSlot {
    /// Where it belongs.
    pub workspace: Workspace,
    /// The key.
    pub key: String,
    /// The value; absent after a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub value: Option<Json>,
    /// The version of the last put.
    pub version: u64,
    /// See [`StateEntry::created_at`].
    pub created_at: Timestamp,
    /// When it was last put or deleted.
    pub updated_at: Timestamp,
    /// See [`StateEntry::expires_at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A field that is there holds a value, be it `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

impl StateSlot {
    /// Where the slot is.
    pub fn state_key(&self) -> StateKey {
        StateKey { workspace: self.workspace.clone(), key: self.key.clone() }
    }

    /// Whether it reads as an entry at `now`: it has a value and has not expired.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.value.is_some() && self.expires_at.is_none_or(|at| now < at)
    }

    /// The entry, if the slot reads as one at `now`.
    pub fn live(self, now: Timestamp) -> Option<StateEntry> {
        if !self.is_live(now) {
            return None;
        }
        Some(StateEntry {
            workspace: self.workspace,
            key: self.key,
            value: self.value?,
            version: self.version,
            created_at: self.created_at,
            updated_at: self.updated_at,
            expires_at: self.expires_at,
        })
    }
}

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use crate::{AuditId, Error, Json, Result, Timestamp, Workspace, json::canonical};

/// A SHA-256 value; as text, 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEX.encode(&self.0))
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        HEX.decode(text.as_bytes())
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| Error::invalid("hash", "not 64 hexadecimal digits"))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(|e: Error| de::Error::custom(e.message()))
    }
}

/// One decision of an agent, in the append-only chain of its workspace.
///
/// # Rules
///
/// - What the caller leaves out has a default: a new id, the workspace `default`, the clock's time,
///   `null` as detail (`AUDIT-APPEND-01`).
/// - Each workspace counts from 1, in the order of commits and whatever the clock shows
///   (`AUDIT-SEQ-01`). Concurrent appends make one chain (`AUDIT-CHAIN-01`, `AUDIT-CHAIN-02`), which
///   goes on after reopening (`AUDIT-CHAIN-03`).
/// - Forgetting a workspace starts its chain anew (`AUDIT-CHAIN-04`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRecord {
    /// Unique among audit records.
    pub id: AuditId,
    /// Whose chain it is in.
    pub workspace: Workspace,
    /// When it was decided.
    pub created_at: Timestamp,
    /// Its place in the chain: 1, 2, 3 …
    pub seq: u64,
    /// What was to be done.
    pub action: String,
    /// What was decided: `allow`, `deny`, …
    pub decision: String,
    /// The circumstances.
    #[serde(default)]
    pub detail: Json,
    /// See [`AuditRecord::expected_hash`].
    pub hash: Hash,
}

impl AuditRecord {
    /// The hash that the record must have after one whose hash is `previous` (all zeros before the
    /// first): SHA-256 over `previous`, then id, workspace, action, decision and the canonical
    /// JSON of detail, each as UTF-8 after its length (u64, big-endian), then `created_at` in
    /// microseconds (i64) and seq (u64), big-endian (`AUDIT-HASH-01`). The order in which a detail's
    /// keys were written does not matter (`AUDIT-HASH-02`).
    pub fn expected_hash(&self, previous: &Hash) -> Hash {
        let mut sha = Sha256::new();
        sha.update(previous.0);
        let detail = canonical(&self.detail);
        let texts =
            [self.id.as_str(), self.workspace.as_str(), &self.action, &self.decision, &detail];
        for text in texts {
            sha.update((text.len() as u64).to_be_bytes());
            sha.update(text.as_bytes());
        }
        sha.update(self.created_at.as_micros().to_be_bytes());
        sha.update(self.seq.to_be_bytes());
        Hash(sha.finalize().into())
    }

    /// The end of the chain once this record is in it.
    pub fn head(&self) -> AuditHead {
        AuditHead { workspace: self.workspace.clone(), seq: self.seq, hash: self.hash }
    }
}

/// The end of a workspace's audit chain. Kept somewhere else, it shows later that the chain was
/// not cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// Whose chain.
    pub workspace: Workspace,
    /// The last record's place; 0 for an empty chain.
    pub seq: u64,
    /// The last record's hash; all zeros for an empty chain.
    pub hash: Hash,
}

impl AuditHead {
    /// The head of an empty chain.
    pub fn empty(workspace: Workspace) -> Self {
        Self { workspace, seq: 0, hash: Hash::default() }
    }
}

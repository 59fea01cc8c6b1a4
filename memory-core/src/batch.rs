use serde::{Deserialize, Serialize};

use crate::Op;

/// Ops to be committed together, in order: all of them or none.
///
/// At most [`MAX_BATCH_OPS`](crate::bounds::MAX_BATCH_OPS) ops and
/// [`MAX_BATCH_BYTES`](crate::bounds::MAX_BATCH_BYTES) bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The ops. A later one sees what earlier ones did.
    pub ops: Vec<Op>,
    /// The idempotency key. Under a key that was committed in the last
    /// [`RECEIPT_RETENTION`](crate::RECEIPT_RETENTION), the same batch is not done again but
    /// answered with its receipt (`RETRY-KEY-01`), and another batch is `Conflict` (`RETRY-KEY-02`);
    /// so too after reopening (`RETRY-KEY-03`), on another handle (`RETRY-KEY-04`), and after changes
    /// and deletions (`RETRY-KEY-05`, `RETRY-KEY-06`, `RETRY-KEY-07`). Then the key is free
    /// (`RETRY-KEY-08`), as it is after a refusal (`RETRY-KEY-10`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an op.
    #[must_use]
    pub fn with(mut self, op: impl Into<Op>) -> Self {
        self.push(op);
        self
    }

    /// Adds an op.
    pub fn push(&mut self, op: impl Into<Op>) {
        self.ops.push(op.into());
    }

    /// Sets the idempotency key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl<O: Into<Op>> From<O> for Batch {
    fn from(op: O) -> Self {
        Self::new().with(op)
    }
}

impl<O: Into<Op>> FromIterator<O> for Batch {
    fn from_iter<I: IntoIterator<Item = O>>(ops: I) -> Self {
        Self { ops: ops.into_iter().map(Into::into).collect(), key: None }
    }
}

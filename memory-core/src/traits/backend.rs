use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;

use crate::{
    Batch, Counts, Error, ErrorKind, Feed, Op, Outcome, Page, Prune, Receipt, Record, RecordKind,
    Result, Scan, Scope, Workspace, maintain,
    verify::{Verify, VerifyReport},
};

/// What every backend can do: commit batches, and read everything back in order of insertion.
///
/// # To write one
///
/// [`commit`](Self::commit) is load, decide, apply, in one write transaction of the engine:
///
/// 1. [`Batch::prepare`] checks the batch's words and says which rows it [needs](crate::decide::Needs).
/// 2. Load those rows, locked against other writers: [`Loaded`](crate::decide::Loaded).
/// 3. [`decide`](crate::decide::decide) returns the receipt and the [changes](crate::decide::Change),
///    or the error that refuses the batch.
/// 4. Apply the changes in order and commit.
///
/// An engine that lives in this process and has blocking calls gets the writer thread, group
/// commit and readers from `embedded` (feature `embedded`); an ordered key-value engine gets all of
/// the traits from `memkeep-kv`.
///
/// # Rules
///
/// - A batch is stored whole or not at all, whatever fails or is dropped half-way.
/// - When `commit` returns, the batch is durable at the level that [`info`](Self::info) declares, and
///   every later read sees it.
/// - One clock reading serves a batch.
/// - Nothing is swallowed: a row that cannot be decoded is `Corrupt` with its table and row, never a
///   shorter list.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// What kind of store this is.
    fn info(&self) -> BackendInfo;

    /// Commits a batch: all of it or nothing.
    ///
    /// Errors: those of [`Batch::prepare`] and [`decide`](crate::decide::decide) with the op's
    /// position under `op`; `Timeout`, `ReadOnly`, `StorageFull`, `Closed`, `Unavailable`.
    async fn commit(&self, batch: Batch) -> Result<Receipt>;

    /// Reads every record of a kind in order of insertion: what exports, verification and the
    /// provided recall stand on. Sessions come without `first_prompt`, state as slots.
    async fn scan(&self, scan: &Scan) -> Result<Page<Record>>;

    /// Lets go of the store. Batches that were accepted are finished; later calls are `Closed`.
    async fn close(&self) -> Result<()>;

    /// How many records there are, by workspace in bytewise order. A workspace without records is
    /// not there.
    async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        maintain::workspaces(self).await
    }

    /// How much there is.
    async fn stats(&self, scope: &Scope) -> Result<Stats> {
        let mut counts = Counts::default();
        for row in self.workspaces().await? {
            if scope.includes(&row.workspace) {
                counts += row.counts;
            }
        }
        Ok(Stats { counts, bytes: None })
    }

    /// Deletes sessions that ended, episodes that were closed and state that expired before an
    /// instant, and receipts that are no longer honoured; never notes or audit. Returns what went.
    async fn prune(&self, prune: &Prune) -> Result<Counts> {
        maintain::prune(self, prune).await
    }

    /// Checks that the records agree with each other: counts, indexes, audit chains. With `repair`,
    /// derived values are set right; lost or altered records cannot be.
    async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
        if verify.repair {
            return Err(self.unsupported("repair"));
        }
        crate::verify::scan(self, verify).await
    }

    /// Gives the space of deleted records back, and wipes what is left of their text.
    async fn compact(&self) -> Result<()> {
        Err(self.unsupported("compact"))
    }

    /// Writes a consistent copy of the live store to a new file.
    async fn backup(&self, path: &Path) -> Result<()> {
        let _ = path;
        Err(self.unsupported("backup"))
    }

    /// The receipts of this handle's commits from now on, in commit order.
    fn subscribe(&self) -> Result<Feed> {
        Err(self.unsupported("subscribe"))
    }

    /// Commits one op.
    async fn commit_one(&self, op: Op) -> Result<Outcome> {
        self.commit(Batch::from(op)).await?.into_first()
    }

    /// `Unsupported` for `what`, in this backend's name.
    fn unsupported(&self, what: &'static str) -> Error {
        let name = self.info().name;
        Error::new(ErrorKind::Unsupported, format!("the {name} backend has no {what}")).during(what)
    }
}

/// What kind of store a backend is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BackendInfo {
    /// The backend's name, as in its URL: `sqlite`, `inmem`, …
    pub name: &'static str,
    /// What a returned `commit` has survived.
    pub durability: Durability,
    /// Who else may have the store open.
    pub sharing: Sharing,
    /// The kinds of records it keeps.
    pub kinds: Vec<RecordKind>,
}

impl BackendInfo {
    /// A backend that keeps all kinds of records.
    pub fn new(name: &'static str, durability: Durability, sharing: Sharing) -> Self {
        Self { name, durability, sharing, kinds: RecordKind::ALL.to_vec() }
    }
}

/// What an acknowledged batch survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing: it is gone with the handle.
    Volatile,
    /// The end of the process, not that of the machine.
    Process,
    /// A power cut.
    Power,
}

/// Who else may have the store open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Nobody else.
    Handle,
    /// Other handles and processes of this machine.
    Machine,
    /// Other machines too.
    Network,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Records by kind.
    pub counts: Counts,
    /// What all of the store takes on its medium, in bytes, where that is known. Never of a
    /// workspace alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// How much a workspace holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkspaceCounts {
    /// The workspace.
    pub workspace: Workspace,
    /// Records by kind.
    #[serde(flatten)]
    pub counts: Counts,
}

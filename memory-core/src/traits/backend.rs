use std::path::Path;

use async_trait::async_trait;
use serde::Serialize;

use crate::{
    Batch, Counts, Error, ErrorKind, Feed, Op, Outcome, Page, Prune, Receipt, Record, RecordKind,
    Result, Scan, Scope, Workspace,
    decide::Prepared,
    maintain,
    recall::Language,
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
/// commit and readers from [`embedded`](crate::embedded); an ordered key-value engine gets all of
/// the traits from `memkeep-kv`.
///
/// # Rules
///
/// Each names the clauses of the conformance suite that test it.
///
/// - A batch is stored whole or not at all, whatever is refused (`BATCH-ATOMIC-01`), fails
///   (`FAULT-COMMIT-01`, `FAULT-COMMIT-02`) or is dropped half-way (`CANCEL-COMMIT-01`,
///   `CANCEL-COMMIT-03`), also among many writers (`WRITERS-WHOLE-01`, `WRITERS-WHOLE-02`).
/// - A dropped call leaves no lock and holds no reader (`CANCEL-COMMIT-02`, `CANCEL-READ-01`); while
///   nothing can be written, what is stored can be read (`FAULT-READ-01`).
/// - When `commit` returns, the batch is durable at the level that [`info`](Self::info) declares
///   (`BATCH-DURABLE-01`), and every later read sees it, on any handle (`BATCH-VISIBLE-01`,
///   `BATCH-VISIBLE-02`). A read sees whole batches (`WRITERS-READ-01`).
/// - Records are inserted in the order of the ops, and batches in the order of their commits
///   (`BATCH-ORDER-01`); what is deleted and created again comes last (`BATCH-ORDER-02`).
/// - One clock reading serves a batch (`BATCH-CLOCK-01`), and a receipt has one outcome an op
///   (`BATCH-OUTCOME-01`, `BATCH-OUTCOME-02`).
/// - The same batch under one idempotency key, or the same body under one id, is stored once, however
///   many try at once (`WRITERS-ONCE-01`, `WRITERS-ONCE-02`, `WRITERS-ONCE-03`, `WRITERS-ONCE-04`).
/// - What many writers change or delete as soon as it is there is recalled as it is then
///   (`WRITERS-RECALL-01`, `WRITERS-RECALL-02`).
/// - Where a store may be opened more than once, many may open a new one at once (`WRITERS-OPEN-01`).
/// - What goes in comes out, in every field of every record (`FIDELITY-FIELD-01`), also after
///   reopening (`FIDELITY-FIELD-02`): numbers (`FIDELITY-NUMBER-01`), JSON of any shape
///   (`FIDELITY-JSON-01`), times (`FIDELITY-TIME-01`), long texts (`FIDELITY-SIZE-01`), and any text
///   byte for byte (`HOSTILE-TEXT-01`, `HOSTILE-KEY-01`). An empty text is not an absent one
///   (`FIDELITY-EMPTY-01`, `FIDELITY-EMPTY-02`).
/// - Nothing is swallowed: a row that cannot be decoded is `Corrupt` with its table and row
///   (`DAMAGE-READ-01`), never a shorter list (`DAMAGE-LIST-01`, `DAMAGE-SCAN-01`, `DAMAGE-FIND-01`).
///   A batch that needs it is `Corrupt` too and stores nothing (`DAMAGE-COMMIT-01`); what is beside it
///   stays readable (`DAMAGE-BESIDE-01`). A store that cannot tell how far damage goes is `Corrupt`
///   when it is opened.
/// - Any program of calls is answered as a plain model of these rules answers it (`MODEL-PROGRAM-01`),
///   also with reopening (`MODEL-PROGRAM-02`) and on two handles (`MODEL-PROGRAM-03`).
/// - Concurrent calls are answered as if they had come one after the other, each between its beginning
///   and its end: on state (`LINEAR-STATE-01`, `LINEAR-STATE-02`), indexes (`LINEAR-INDEX-01`,
///   `LINEAR-INDEX-02`) and audit heads (`LINEAR-AUDIT-01`, `LINEAR-AUDIT-02`).
/// - After the process is killed every acknowledged batch is there and none is there in part
///   (`CRASH-KILL-01`).
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// What kind of store this is.
    fn info(&self) -> BackendInfo;

    /// Commits a batch: all of it or nothing.
    ///
    /// Errors: those of [`Batch::prepare`] and [`decide`](crate::decide::decide) with the op's
    /// position under `op` (`BATCH-ATOMIC-02`) and without content (`ERROR-CONTENT-01`); `Timeout`,
    /// `ReadOnly`, `StorageFull`, `Closed`, `Unavailable`.
    async fn commit(&self, batch: Batch) -> Result<Receipt>;

    /// Commits a batch that was [prepared](Batch::prepare) before, while something else was waited for.
    /// Else it is [`commit`](Self::commit) (`BATCH-PREPARED-01`).
    async fn commit_prepared(&self, prepared: Prepared) -> Result<Receipt> {
        self.commit(prepared.into_batch()).await
    }

    /// Reads every record of a kind in order of insertion: what exports, verification and the
    /// provided recall stand on. Sessions come without `first_prompt`, state as slots.
    async fn scan(&self, scan: &Scan) -> Result<Page<Record>>;

    /// Lets go of the store. Batches that were accepted are finished (`CLOSE-HANDLE-03`); later calls
    /// are `Closed` (`CLOSE-HANDLE-02`), but for this one (`CLOSE-HANDLE-01`).
    async fn close(&self) -> Result<()>;

    /// How many records there are, by workspace in bytewise order. A workspace without records is
    /// not there (`SCOPE-COUNT-04`). There may be any number (`MANY-WORKSPACE-01`).
    async fn workspaces(&self) -> Result<Vec<WorkspaceCounts>> {
        maintain::workspaces(self).await
    }

    /// How much there is: what scans would count (`STATS-COUNT-01`, `STATS-COUNT-02`,
    /// `STATS-COUNT-03`). Bytes are the store's as a whole, and unknown of a workspace
    /// (`STATS-BYTES-01`).
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
    /// instant (`PRUNE-OVER-01`, `PRUNE-SCOPE-01`, `PRUNE-MANY-01`, `MANY-PRUNE-01`,
    /// `MANY-PRUNE-02`), and receipts that are no longer honoured (`RETRY-KEY-09`); never notes or
    /// audit (`PRUNE-OVER-02`). Returns what went.
    async fn prune(&self, prune: &Prune) -> Result<Counts> {
        maintain::prune(self, prune).await
    }

    /// Checks that the records agree with each other: counts and indexes (`VERIFY-COUNT-01`), audit
    /// chains (`VERIFY-CHAIN-01`). What cannot be decoded is told of and does not end the check
    /// (`VERIFY-DAMAGE-01`); of a sound store nothing is told (`VERIFY-SOUND-01`).
    ///
    /// With `repair`, derived values are set right (`REPAIR-COUNT-01`, `REPAIR-SOUND-01`); lost or
    /// altered records cannot be, and stay as they are (`REPAIR-DAMAGE-01`). A backend without repair
    /// is `Unsupported`.
    ///
    /// As provided, it reads page by page and not one state of the store: what others commit meanwhile
    /// may look like a contradiction. Then it is run again while nobody writes.
    async fn verify(&self, verify: &Verify) -> Result<VerifyReport> {
        if verify.repair {
            return Err(self.unsupported("repair"));
        }
        crate::verify::scan(self, verify).await
    }

    /// Gives the space of deleted records back, and wipes what is left of their text. Everything
    /// else stays: records and their order (`COMPACT-KEEP-01`), what comes next in an order
    /// (`COMPACT-KEEP-02`), indexes (`COMPACT-KEEP-03`), versions and chains (`COMPACT-KEEP-04`),
    /// and what retries are known by (`COMPACT-KEEP-05`, `COMPACT-KEEP-06`); also after reopening
    /// (`COMPACT-KEEP-07`). A file of the store holds nothing of a deleted text then
    /// (`COMPACT-WIPE-01`).
    async fn compact(&self) -> Result<()> {
        Err(self.unsupported("compact"))
    }

    /// Makes the recall indexes anew, and returns when they are whole; commits go on meanwhile, and
    /// recall answers as ever (`RECALL-EPISODE-01`, `RECALL-TURN-01`, `RECALL-NOTE-01`). It may be
    /// broken off: what is missing is made later. A backend without an index has nothing to do.
    async fn reindex(&self) -> Result<()> {
        Ok(())
    }

    /// Writes a copy of the live store to a new file: one state of it, with all that was committed
    /// before the call (`BACKUP-COPY-02`), which opens as any store does (`BACKUP-COPY-01`).
    ///
    /// Errors: `Conflict` if there is something at `path`, which stays as it is (`BACKUP-PATH-01`);
    /// `StorageFull`, `Timeout`, `Unavailable`. No file is left then (`BACKUP-FAIL-01`).
    async fn backup(&self, path: &Path) -> Result<()> {
        let _ = path;
        Err(self.unsupported("backup"))
    }

    /// The receipts of this handle's commits from now on, in commit order (`FEED-ORDER-01`,
    /// `FEED-ORDER-02`), those of calls that commit one op included (`FEED-ORDER-03`). See [`Feed`].
    fn subscribe(&self) -> Result<Feed> {
        Err(self.unsupported("subscribe"))
    }

    /// Commits one op: does what it does in a batch (`ONE-OP-04`).
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
    /// What a returned `commit` has survived (`INFO-DURABILITY-01`).
    pub durability: Durability,
    /// Who else may have the store open (`INFO-SHARING-01`).
    pub sharing: Sharing,
    /// The kinds of records it keeps: those of its parts (`INFO-KINDS-01`).
    pub kinds: Vec<RecordKind>,
    /// The language that this handle's recall stems in. Provided methods of the traits rank in it.
    pub language: Language,
}

impl BackendInfo {
    /// A backend that keeps all kinds of records, and stems in the default language.
    pub fn new(name: &'static str, durability: Durability, sharing: Sharing) -> Self {
        let kinds = RecordKind::ALL.to_vec();
        Self { name, durability, sharing, kinds, language: Language::default() }
    }

    /// Sets [`language`](Self::language).
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = language;
        self
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

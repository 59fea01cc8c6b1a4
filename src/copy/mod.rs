//! Copying everything of a store into another, of any backend. See [`copy`](fn@copy).

mod options;
mod report;
mod walk;

use serde::Serialize as _;

pub use options::{CopyOptions, CopyProgress, CopyStage};
pub use report::CopyReport;

use self::walk::Walk;
use crate::{
    Batch, Error, ErrorKind, MemoryBackend, Op, Record, RecordKind, Result, Scope, Session,
    decide::Prepared, verify::Verifier,
};

/// How many records, and about how many bytes of them, are committed together.
const BATCH: usize = 4_000;
const BATCH_BYTES: usize = 8 << 20;

/// Copies all records of the store `from` into the store `to`, and compares the two.
///
/// Afterwards an export of the copy is byte for byte that of the source: ids, order, indexes and the
/// next ones, versions, times, what deleted state left, audit chains.
///
/// `to` is empty, or holds the first part of this very copy: one that was ended half-way goes on
/// where it stopped when it is called again. That is looked at before anything is stored.
///
/// Nobody writes to either store meanwhile. The source is read page by page; what is changed in it
/// meanwhile is found when both are compared at the end. To copy a store that is in use, copy a
/// [`backup`](crate::Backend::backup) of it.
///
/// What is not a record does not go along: receipts of idempotency keys, and what an id was created
/// from. So a batch that was committed under a key is done again by the copy, and creating a record
/// again, as a retry without a key does, is a `Conflict` there if the record has been changed since
/// it was created. Let retries come to an end before you move.
///
/// # Errors
///
/// `Conflict`: `to` holds something else, or the two differ at the end; the context names the first
/// such record, by `kind`, `workspace` and `id`. `Unsupported`: `to` does not keep a kind of records
/// that `from` holds. `Corrupt`: the records do not agree with each other, or a row of `from` cannot
/// be read. Other errors of the stores end the copy, which can be gone on with.
pub async fn copy(
    from: &dyn MemoryBackend,
    to: &dyn MemoryBackend,
    options: CopyOptions,
) -> Result<CopyReport> {
    Copy { from, to, options, report: CopyReport::default(), total: 0, done: 0 }
        .run()
        .await
        .map_err(|e| e.during("copy"))
}

struct Copy<'s> {
    from: &'s dyn MemoryBackend,
    to: &'s dyn MemoryBackend,
    options: CopyOptions,
    report: CopyReport,
    total: u64,
    done: u64,
}

impl<'s> Copy<'s> {
    async fn run(mut self) -> Result<CopyReport> {
        self.total = self.from.stats(&Scope::All).await?.counts.total();
        let mut rests = Vec::new();
        for kind in RecordKind::ALL {
            rests.extend(self.rest(kind).await?);
        }
        for rest in rests {
            self.fill(rest).await?;
        }
        self.done = 0;
        let mut verifier = Verifier::default();
        for kind in RecordKind::ALL {
            self.compare(kind, &mut verifier).await?;
        }
        if let Some(problem) = verifier.finish().0.problems.first() {
            let message = format!("verifying the copy found: {}", problem.message);
            return Err(Error::new(ErrorKind::Corrupt, message).with("location", &problem.location));
        }
        Ok(self.report)
    }

    /// What is still to be copied of a kind: the source, past what `to` holds.
    async fn rest(&mut self, kind: RecordKind) -> Result<Option<Walk<'s>>> {
        if !self.from.info().kinds.contains(&kind) {
            return Ok(None);
        }
        let mut source = Walk::new(self.from, kind);
        if !self.to.info().kinds.contains(&kind) {
            return match source.next().await? {
                None => Ok(None),
                Some(_) => Err(self.to.unsupported(kind.as_str())),
            };
        }
        let mut there = Walk::new(self.to, kind);
        while let Some(copied) = there.next().await? {
            let original = source.next().await?;
            if original.map(unfilled).as_ref() != Some(&unfilled(copied.clone())) {
                let message = "the store to copy to holds something else than a part of this copy";
                return Err(differing(message, &copied));
            }
            *self.report.already_there.of_mut(kind) += 1;
            self.done += 1;
        }
        Ok(Some(source))
    }

    /// Stores all that comes from `rest`: a batch while the next one is read and prepared.
    async fn fill(&mut self, mut rest: Walk<'s>) -> Result<()> {
        let mut batch = next_batch(&mut rest).await?;
        while let Some((prepared, count)) = batch {
            let stored = self.to.commit_prepared(prepared);
            let (stored, next) = tokio::join!(stored, next_batch(&mut rest));
            stored?;
            batch = next?;
            *self.report.copied.of_mut(rest.kind()) += count;
            self.done += count;
            self.progress(CopyStage::Copying);
        }
        Ok(())
    }

    /// `Conflict` unless both stores have the same records of a kind, which `verifier` is told.
    async fn compare(&mut self, kind: RecordKind, verifier: &mut Verifier) -> Result<()> {
        let kept = |store: &dyn MemoryBackend| store.info().kinds.contains(&kind);
        if !kept(self.from) || !kept(self.to) {
            return Ok(());
        }
        let (mut source, mut copy) = (Walk::new(self.from, kind), Walk::new(self.to, kind));
        loop {
            match tokio::try_join!(source.next(), copy.next())? {
                (None, None) => return Ok(()),
                (Some(original), Some(copied)) if original == copied => verifier.record(copied),
                (Some(record), _) | (None, Some(record)) => {
                    let message = "the copy differs from the source, which was written to \
                                   meanwhile, or does not agree with itself: verify it";
                    return Err(differing(message, &record));
                }
            }
            self.done += 1;
            if self.done.is_multiple_of(BATCH as u64) {
                self.progress(CopyStage::Comparing);
            }
        }
    }

    fn progress(&mut self, stage: CopyStage) {
        // What deleted state left is not counted as a record, but copied.
        let total = self.total.max(self.done);
        if let Some(report) = &mut self.options.progress {
            report(CopyProgress { stage, done: self.done, total });
        }
    }
}

/// The next records of `rest`, to be stored together, and how many they are.
async fn next_batch(rest: &mut Walk<'_>) -> Result<Option<(Prepared, u64)>> {
    let mut batch = Batch::new();
    let mut bytes = 0;
    while batch.ops.len() < BATCH
        && bytes < BATCH_BYTES
        && let Some(record) = rest.next().await?
    {
        bytes += size(&record)?;
        batch.push(Op::Restore { record });
    }
    if batch.ops.is_empty() {
        return Ok(None);
    }
    let count = batch.ops.len() as u64;
    Ok(Some((batch.prepare()?, count)))
}

fn differing(message: &str, record: &Record) -> Error {
    Error::new(ErrorKind::Conflict, message)
        .with("kind", record.kind().as_str())
        .with("workspace", record.workspace())
        .with("id", record.id())
}

/// A session as it is before its turns and steps are there.
fn unfilled(record: Record) -> Record {
    match record {
        Record::Session(session) => {
            let (turn_count, step_count, total_tokens) = (0, 0, 0);
            Record::Session(Session { turn_count, step_count, total_tokens, ..session })
        }
        other => other,
    }
}

/// How many bytes a record takes as JSON.
fn size(record: &Record) -> Result<usize> {
    struct Count(usize);

    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    record.serialize(&mut serde_json::Serializer::new(&mut count)).map_err(|e| {
        Error::new(ErrorKind::Unexpected, "a record cannot be measured").caused_by(e)
    })?;
    Ok(count.0)
}

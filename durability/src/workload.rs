//! What the recorded store is made to do.

use std::sync::Arc;

use memkeep_core::{
    Batch, DeleteState, MemoryBackend, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn,
    Op, Prune, PutState, Result,
};
use serde_json::json;

use crate::{
    disk::{Mark, Recorder},
    subject::{Place, STORE, now},
};

/// The workspace whose audit log says which batches were committed, and in which order.
pub(crate) const LOG: &str = "log";

/// What is done at once.
#[derive(Clone, Debug)]
pub enum Step {
    /// Commits the batches of these lists, each list one after the other, all lists at once.
    Commit(Vec<Vec<u64>>),
    /// Prunes what is over.
    Prune(u64),
    /// Compacts the store, which merges its recall indexes.
    Compact(u64),
    /// Makes the recall indexes anew, beside the steps that follow.
    Reindex(u64),
    /// Copies the store to a file of this name.
    Backup(u64, &'static str),
    /// Closes the store and opens it again.
    Reopen,
}

/// Steps with numbers: of batches, and of what else is acknowledged.
#[derive(Clone, Debug)]
pub struct Workload {
    /// In order; each begins when the one before is done.
    pub steps: Vec<Step>,
}

impl Workload {
    /// Everything that a store does: it is made; single and group commits, large batches, deletions,
    /// pruning, compacting, indexing anew, copies, closing and reopening.
    pub fn full() -> Self {
        let mut numbers = Numbers(0);
        let steps = vec![
            numbers.commit(1, 12),
            numbers.commit(4, 6),
            Step::Reopen,
            numbers.commit(1, 6),
            numbers.commit(8, 3),
            Step::Prune(numbers.one()),
            numbers.commit(1, 4),
            Step::Backup(numbers.one(), "first.copy"),
            Step::Compact(numbers.one()),
            Step::Reindex(numbers.one()),
            numbers.commit(2, 6),
            Step::Reopen,
            Step::Compact(numbers.one()),
            numbers.commit(1, 4),
            Step::Prune(numbers.one()),
            Step::Backup(numbers.one(), "second.copy"),
            numbers.commit(3, 2),
        ];
        Self { steps }
    }

    /// A little of each, for when it is run once for each of its calls.
    pub fn short() -> Self {
        let mut numbers = Numbers(0);
        let steps = vec![
            numbers.commit(1, 3),
            Step::Reopen,
            numbers.commit(2, 2),
            Step::Prune(numbers.one()),
            Step::Backup(numbers.one(), "first.copy"),
            Step::Compact(numbers.one()),
            Step::Reindex(numbers.one()),
            numbers.commit(1, 2),
        ];
        Self { steps }
    }

    /// Does the steps at `place`, until the first that fails. Everything is closed afterwards.
    pub async fn run(&self, place: &Place, recorder: &Arc<Recorder>) -> Result<()> {
        let mut store = place.open(STORE).await?;
        for step in &self.steps {
            if let Step::Reopen = step {
                store.close().await?;
                drop(store);
                store = place.open(STORE).await?;
            } else {
                step.run(&store, place, recorder).await?;
            }
        }
        store.close().await
    }
}

impl Step {
    /// Does the step on an open store; what it is to [`Reopen`](Self::Reopen) is the caller's.
    pub(crate) async fn run(
        &self,
        store: &Arc<dyn MemoryBackend>,
        place: &Place,
        recorder: &Arc<Recorder>,
    ) -> Result<()> {
        match self {
            Self::Reopen => Ok(()),
            Self::Commit(lists) => {
                let mut tasks = tokio::task::JoinSet::new();
                for list in lists.clone() {
                    let (store, recorder) = (Arc::clone(store), Arc::clone(recorder));
                    tasks.spawn(async move {
                        for number in list {
                            let commit = async { store.commit(batch(number)).await.map(drop) };
                            marked(&recorder, number, commit).await?;
                        }
                        Ok(())
                    });
                }
                // All are waited for, whichever fails.
                let mut done = Ok(());
                while let Some(ended) = tasks.join_next().await {
                    done = done.and(ended.unwrap_or(Ok(())));
                }
                done
            }
            Self::Prune(number) => {
                let prune = async { store.prune(&prune()).await.map(drop) };
                marked(recorder, *number, prune).await
            }
            Self::Compact(number) => marked(recorder, *number, store.compact()).await,
            Self::Reindex(number) => marked(recorder, *number, store.reindex()).await,
            Self::Backup(number, name) => {
                let path = place.path(name);
                marked(recorder, *number, store.backup(&path)).await
            }
        }
    }
}

async fn marked(
    recorder: &Recorder,
    number: u64,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    recorder.mark(Mark::Started(number));
    let done = work.await;
    recorder.mark(match done {
        Ok(()) => Mark::Acknowledged(number),
        Err(_) => Mark::Refused(number),
    });
    done
}

struct Numbers(u64);

impl Numbers {
    fn one(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    fn commit(&mut self, writers: usize, batches: usize) -> Step {
        let list = |numbers: &mut Self| (0..batches).map(|_| numbers.one()).collect();
        Step::Commit((0..writers).map(|_| list(self)).collect())
    }
}

/// Of what is over, all that the batches make.
pub(crate) fn prune() -> Prune {
    Prune::new(now().saturating_add(std::time::Duration::from_hours(1)))
}

/// The batch of this number: records of all kinds that name it, and changes to what other batches made,
/// if they did. It says so in the audit log of [`LOG`].
pub(crate) fn batch(number: u64) -> Batch {
    let own = format!("own-{number}");
    let workspace = format!("w{}", number % 3);
    let words = format!("what batch {number} says ");
    // Some texts are longer than a page of any engine.
    let long = words.repeat(if number.is_multiple_of(7) { 1_000 } else { 4 });
    let turn = |session: &str, n: u64| {
        NewTurn::new(session, "user", long.clone()).id(format!("{session}-{number}-{n}")).tokens(1)
    };
    let mut batch = Batch::new()
        .with(Op::EnsureSession(NewSession::new().id("shared")))
        .with(turn("shared", 0))
        .with(NewStep::new("shared", "plan", "success").id(number.to_string()))
        .with(Op::StartSession(NewSession::new().id(own.as_str()).workspace(workspace.as_str())))
        .with(turn(&own, 0))
        .with(Op::TagTurn {
            turn: format!("{own}-{number}-0").into(),
            name: "batch".to_owned(),
            value: Some(number.to_string()),
        })
        .with(
            NewEpisode::new(words.as_str(), "")
                .id(number.to_string())
                .open(number.is_multiple_of(2)),
        )
        .with(
            NewNote::new(words.as_str())
                .id(number.to_string())
                .sources([number.to_string().into()]),
        )
        .with(PutState::new(format!("key-{}", number % 5), json!({ "batch": number })))
        .with(PutState::new(format!("short-{number}"), json!(number)).ttl_ms(1_000_u64))
        .with(NewAudit::new("commit", "allow").workspace(workspace.as_str()).id(own.as_str()))
        .with(NewAudit::new("commit", "allow").workspace(LOG).id(number.to_string()));
    if number.is_multiple_of(3) {
        batch.push(Op::EndSession { session: own.as_str().into(), at: Some(now()) });
    }
    if number.is_multiple_of(4) {
        batch = batch.key(format!("key-{number}"));
        batch.push(Op::DeleteNote { note: (number - 1).to_string().into() });
        batch.push(DeleteState::new("key-1"));
    }
    if number.is_multiple_of(10) {
        for n in 1..100 {
            batch.push(turn("shared", n));
        }
    }
    if number.is_multiple_of(11) {
        batch.push(Op::DeleteSession {
            session: format!("own-{}", number - 5).into(),
            ended_before: None,
        });
        batch.push(Op::DeleteEpisode {
            episode: (number - 6).to_string().into(),
            closed_before: None,
        });
    }
    if number.is_multiple_of(13) {
        batch.push(Op::ForgetWorkspace { workspace: workspace.into() });
    }
    if number.is_multiple_of(17) {
        batch.push(Op::DeleteSession { session: "shared".into(), ended_before: None });
    }
    batch
}

/// The number of the batch that an audit record of [`LOG`] tells of.
pub(crate) fn number(record: &memkeep_core::AuditRecord) -> Option<u64> {
    record.id.as_str().parse().ok()
}

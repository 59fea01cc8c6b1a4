//! Futures that are dropped half-way.

use std::{
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use memkeep_core::{RecallQuery, Receipt, Result, Scope};

use super::bundle::{all_records, bundle, ids, whole_bundles};
use crate::{
    Case, Handle, Verdict,
    failure::{must, must_equal},
};

/// How many awaits one call has at most before these clauses give up.
const AWAITS: usize = 10_000;
/// How often each await point is tried: a call that another thread answers may be done before it has
/// to wait, but not every time.
const ROUNDS: usize = 24;

/// Runs `future` until it has to wait for the time after `waits` times, and drops it there.
async fn interrupted<F: Future>(future: F, waits: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut waited = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if waited == waits => Poll::Ready(None),
        Poll::Pending => {
            waited += 1;
            Poll::Pending
        }
    })
    .await
}

/// Commits of bundles that are dropped, each few at a later await point, until none is dropped any
/// more.
#[derive(Default)]
struct Drops {
    waits: usize,
    round: usize,
    dropped: usize,
}

impl Drops {
    /// Commits the next bundle, under its id as its key if it is to have one: its id, and what the
    /// commit answered if it was not dropped.
    async fn next(
        &mut self,
        store: &Handle,
        keyed: bool,
    ) -> Option<(String, Option<Result<Receipt>>)> {
        if self.round == ROUNDS {
            if self.dropped == 0 || self.waits == AWAITS {
                return None;
            }
            *self = Self { waits: self.waits + 1, ..Self::default() };
        }
        let id = format!("{}/{}", self.waits, self.round);
        let mut batch = bundle(store, &id);
        batch.key = keyed.then(|| id.clone());
        let result = interrupted(store.backend.commit(batch), self.waits).await;
        self.round += 1;
        self.dropped += usize::from(result.is_none());
        Some((id, result))
    }
}

pub(crate) async fn dropped_commits(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut acknowledged = BTreeSet::new();
    let mut drops = Drops::default();
    while let Some((id, result)) = drops.next(&store, false).await {
        // The next commit is clean, and comes after all that was accepted.
        let next = format!("next {id}");
        store.backend.commit(bundle(&store, &next)).await?;
        acknowledged.insert(next);
        if let Some(result) = result {
            result?;
            acknowledged.insert(id);
        }
    }
    let there = whole_bundles(&store).await?;
    must!(
        acknowledged.is_subset(&there),
        there,
        "all that was acknowledged is there: {acknowledged:?}"
    );
    case.verify().await
}

pub(crate) async fn dropped_commits_hold_no_lock(case: &mut Case) -> Verdict {
    let store = case.handle();
    let other = case.second_handle("other").await?;
    let (mut drops, mut committed) = (Drops::default(), BTreeSet::new());
    while let Some((id, _)) = drops.next(&store, false).await {
        let id = format!("other {id}");
        other.backend.commit(bundle(&other, &id)).await?;
        committed.insert(id);
    }
    let there = whole_bundles(&other).await?;
    must!(committed.is_subset(&there), there, "all that was acknowledged is there: {committed:?}");
    case.verify().await
}

pub(crate) async fn dropped_commits_again(case: &mut Case) -> Verdict {
    let store = case.handle();
    let (mut drops, mut committed) = (Drops::default(), BTreeSet::new());
    while let Some((id, _)) = drops.next(&store, true).await {
        let batch = || bundle(&store, &id).key(&id);
        let first = store.backend.commit(batch()).await?;
        must_equal!(store.backend.commit(batch()).await?, first, "the receipt of {id}");
        committed.insert(id);
    }
    must_equal!(whole_bundles(&store).await?, committed, "what is stored");
    case.verify().await
}

pub(crate) async fn dropped_reads(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let before = all_records(&store).await?;
    let query = RecallQuery::new("x");
    for waits in 0..AWAITS {
        let mut dropped = 0;
        // More than any pool of readers has.
        for _ in 0..32 {
            dropped += usize::from(interrupted(all_records(&store), waits).await.is_none());
            if let Some(sessions) = &store.sessions {
                interrupted(sessions.recall_turns(&query), waits).await;
            }
            if let Some(episodic) = &store.episodic {
                interrupted(episodic.recall(&query), waits).await;
            }
            interrupted(store.backend.stats(&Scope::All), waits).await;
        }
        must_equal!(all_records(&store).await?, before, "what is read after dropped reads");
        if dropped == 0 {
            break;
        }
    }
    store.backend.commit(bundle(&store, "y")).await?;
    must_equal!(whole_bundles(&store).await?, ids(["x", "y"]), "what is stored in the end");
    Ok(())
}

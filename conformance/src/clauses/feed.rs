//! The change feed.

use std::sync::Arc;

use memkeep_core::{ErrorKind, Event, Feed, NewSession, NewTurn, Outcome, Receipt};
use tokio::task::JoinSet;

use super::bundle::{bundle, clashes, creations, deletions};
use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal},
    one_op::one_op,
};

/// A feed; none where the backend has no such thing, which it may.
fn subscribe(case: &Case) -> Result<Option<Feed>, Failure> {
    match case.backend().subscribe() {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        feed => Ok(Some(feed?)),
    }
}

async fn committed(feed: &mut Feed) -> Result<Arc<Receipt>, Failure> {
    match feed.next().await {
        Some(Event::Committed(receipt)) => Ok(receipt),
        other => Err(Failure::values("an event", &"a committed batch", &other)),
    }
}

pub(crate) async fn commits_in_order(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "earlier")).await?;
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    let mut receipts = Vec::new();
    for n in 0..20 {
        receipts.push(store.backend.commit(bundle(&store, &n.to_string())).await?);
        let refused = store.backend.commit(clashes(&store, "earlier").into_iter().collect()).await;
        must!(refused.is_err(), refused, "a clash is refused");
    }
    for receipt in receipts {
        must_equal!(*committed(&mut feed).await?, receipt, "the next event");
    }
    store.backend.close().await?;
    must_equal!(feed.next().await, None, "the event after the last commit");
    Ok(())
}

pub(crate) async fn one_op_calls(case: &mut Case) -> Verdict {
    let store = case.handle();
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    let mut outcomes = Vec::new();
    for op in [bundle(&store, "x").ops, deletions(&store, "x").ops].concat() {
        outcomes.push(one_op(&store, op).await?);
    }
    store.backend.close().await?;
    for outcome in outcomes {
        must_equal!(committed(&mut feed).await?.outcomes, [outcome], "the next event's outcomes");
    }
    Ok(())
}

pub(crate) async fn commits_in_order_of_many(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let store = store.clone();
        tasks.spawn(async move {
            for _ in 0..8 {
                store.record_turn(NewTurn::new("s", "user", "x")).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    tasks.join_all().await.into_iter().collect::<Verdict>()?;
    // The end comes when all has been told, so that what is missing is not waited for.
    store.close().await?;
    let mut told = Vec::new();
    while let Some(event) = feed.next().await {
        let Event::Committed(receipt) = event else {
            return Err(Failure::values("an event", &"a committed batch", &event));
        };
        for outcome in &receipt.outcomes {
            if let Outcome::Turn(turn) = outcome {
                told.push(turn.index);
            }
        }
    }
    must_equal!(told, (0..64).collect::<Vec<u64>>(), "the turns in the order of the feed");
    Ok(())
}

pub(crate) async fn own_commits_only(case: &mut Case) -> Verdict {
    let (store, other) = (case.handle(), case.second_handle("other").await?);
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    other.backend.commit(bundle(&other, "theirs")).await?;
    let receipt = store.backend.commit(bundle(&store, "ours")).await?;
    other.backend.commit(bundle(&other, "theirs too")).await?;
    // Told in the order of the commits, it leaves no place for what is not told before it.
    let last = store.backend.commit(bundle(&store, "ours too")).await?;
    must_equal!(*committed(&mut feed).await?, receipt, "the first event");
    must_equal!(*committed(&mut feed).await?, last, "the event after that");
    Ok(())
}

pub(crate) async fn slow_subscribers(case: &mut Case) -> Verdict {
    const COMMITS: u64 = 3_000;
    let store = case.handle();
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    let mut tasks = JoinSet::new();
    for task in 0..30 {
        let store = store.clone();
        tasks.spawn(async move {
            for n in 0..COMMITS / 30 {
                let mut batch = creations(&store, &format!("{task}/{n}"));
                batch.ops.truncate(1);
                store.backend.commit(batch).await?;
            }
            Ok::<(), Failure>(())
        });
    }
    tasks.join_all().await.into_iter().collect::<Verdict>()?;
    store.backend.close().await?;
    let (mut told, mut missed) = (0, 0);
    while let Some(event) = feed.next().await {
        match event {
            Event::Committed(_) => told += 1,
            Event::Missed(more) => missed += more,
        }
    }
    must_equal!(told + missed, COMMITS, "commits told ({told}) and missed ({missed})");
    Ok(())
}

pub(crate) async fn the_end(case: &mut Case) -> Verdict {
    let store = case.handle();
    let Some(mut feed) = subscribe(case)? else { return Ok(()) };
    let Some(mut waiting) = subscribe(case)? else { return Ok(()) };
    let waiting = tokio::spawn(async move {
        let first = waiting.next().await;
        (first, waiting.next().await)
    });
    let receipt = store.backend.commit(bundle(&store, "x")).await?;
    store.backend.close().await?;
    must_equal!(*committed(&mut feed).await?, receipt, "what was committed before the close");
    must_equal!(feed.next().await, None, "the event after that");
    must_equal!(feed.next().await, None, "the event after the end");
    let Ok((first, end)) = waiting.await else {
        return Err(Failure::new("a feed that waited ends", "it panicked"));
    };
    must_equal!(first, Some(Event::Committed(Arc::new(receipt))), "what a waiting feed is told");
    must_equal!(end, None, "what a waiting feed is told after the close");
    Ok(())
}

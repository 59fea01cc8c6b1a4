//! Many writers at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use memkeep_core::{
    Batch, EpisodeRevision, ErrorKind, ListTurns, NewEpisode, NewSession, NewTurn, Op, Outcome,
    RecallQuery, RecordKind, Scope,
};
use tokio::{sync::Barrier, task::JoinSet};

use super::bundle::{
    anonymous, bundle, bundle_in, clashes, creations, ids, ids_of, kinds, whole_bundles,
};
use crate::{
    Case, Failure, Handle, Verdict,
    failure::{must, must_equal},
};

async fn two_handles(case: &Case) -> Result<Vec<Handle>, Failure> {
    Ok(vec![case.handle(), case.second_handle("other").await?])
}

/// Runs `tasks` tasks at once, each on the next of the handles, and gives what they return.
async fn at_once<T, F>(
    handles: &[Handle],
    tasks: usize,
    task: impl Fn(usize, Handle) -> F,
) -> Result<Vec<T>, Failure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Failure>> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(tasks));
    let mut running = JoinSet::new();
    for n in 0..tasks {
        let barrier = barrier.clone();
        let task = task(n, handles[n % handles.len()].clone());
        running.spawn(async move {
            barrier.wait().await;
            task.await
        });
    }
    running.join_all().await.into_iter().collect()
}

async fn whole_batches(case: &Case, handles: Vec<Handle>) -> Verdict {
    let first = &handles[0];
    first.backend.commit(bundle(first, "there")).await?;
    let told = at_once(&handles, 32, async |n, store: Handle| {
        let batch = bundle(&store, &n.to_string());
        if n % 4 > 0 {
            store.backend.commit(batch).await?;
            return Ok(Some(n.to_string()));
        }
        let clash = clashes(&store, "there").remove(0);
        let position = batch.ops.len().to_string();
        match store.backend.commit(batch.with(clash)).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                must_equal!(error.get("op"), Some(position.as_str()), "the error's `op`");
                Ok(None)
            }
            other => Err(Failure::values("a batch refused among many", &"Conflict", &other)),
        }
    })
    .await?;
    let mut expected = ids(told.iter().flatten().map(String::as_str));
    expected.insert("there".to_owned());
    for store in &handles {
        must_equal!(whole_bundles(store).await?, expected, "the batches that are stored");
    }
    case.verify().await
}

pub(crate) async fn whole(case: &mut Case) -> Verdict {
    whole_batches(case, vec![case.handle()]).await
}

pub(crate) async fn whole_on_two_handles(case: &mut Case) -> Verdict {
    whole_batches(case, two_handles(case).await?).await
}

async fn dense_indexes(case: &Case, handles: Vec<Handle>) -> Verdict {
    case.sessions()?.start_session(NewSession::new().id("s")).await?;
    let told = at_once(&handles, 32, async |n, store: Handle| {
        let mut batch: Batch =
            (0..5).map(|part| NewTurn::new("s", "user", format!("{n}.{part}"))).collect();
        if n % 4 == 0 {
            batch.push(NewTurn::new("nowhere", "user", ""));
            let refused = store.backend.commit(batch).await;
            must!(refused.is_err(), refused, "a batch with a turn of no session is refused");
            return Ok(Vec::new());
        }
        let outcomes = store.backend.commit(batch).await?.outcomes;
        let index = |outcome: Outcome| Ok(outcome.into_turn()?.index);
        outcomes.into_iter().map(index).collect::<Result<Vec<u64>, Failure>>()
    })
    .await?;
    for indexes in &told {
        let dense = indexes.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        must!(dense, indexes, "the indexes of a batch follow each other");
    }
    let mut indexes: Vec<u64> = told.into_iter().flatten().collect();
    indexes.sort_unstable();
    must_equal!(indexes, (0..120).collect::<Vec<u64>>(), "the indexes that were told");
    let store = case.sessions()?;
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items;
    let listed: Vec<u64> = turns.iter().map(|turn| turn.index).collect();
    must_equal!(listed, indexes, "the indexes that are listed");
    let session = store.session(&Scope::All, &"s".into()).await?;
    let totals = session.map(|s| (s.turn_count, s.next_turn));
    must_equal!(totals, Some((120, 120)), "the count of turns and the next index");
    case.verify().await
}

pub(crate) async fn indexes(case: &mut Case) -> Verdict {
    dense_indexes(case, vec![case.handle()]).await
}

pub(crate) async fn indexes_on_two_handles(case: &mut Case) -> Verdict {
    dense_indexes(case, two_handles(case).await?).await
}

async fn one_id(case: &Case, handles: Vec<Handle>) -> Verdict {
    at_once(&handles, 16, async |_, store: Handle| {
        Ok(store.backend.commit(creations(&store, "x")).await?)
    })
    .await?;
    let store = &handles[0];
    for kind in kinds(store).into_iter().filter(|kind| *kind != RecordKind::State) {
        must_equal!(ids_of(store, kind).await?, ["x"], "the {} records", kind.as_str());
    }
    let won = at_once(&handles, 16, async |n, store: Handle| {
        let batch = bundle_in(&store, "y", &format!("w{n}"));
        match store.backend.commit(batch).await {
            Ok(_) => Ok(Some(format!("w{n}"))),
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(None),
            Err(error) => Err(error.into()),
        }
    })
    .await?;
    let won: Vec<String> = won.into_iter().flatten().collect();
    must_equal!(won.len(), 1, "how many of 16 different batches got the id");
    let counted = store.backend.workspaces().await?;
    let counted: Vec<&str> = counted.iter().map(|row| row.workspace.as_str()).collect();
    must_equal!(counted, ["default", &won[0]], "the workspaces");
    case.verify().await
}

pub(crate) async fn ids_once(case: &mut Case) -> Verdict {
    one_id(case, vec![case.handle()]).await
}

pub(crate) async fn ids_once_on_two_handles(case: &mut Case) -> Verdict {
    one_id(case, two_handles(case).await?).await
}

async fn one_key(case: &Case, handles: Vec<Handle>) -> Verdict {
    let receipts = at_once(&handles, 8, async |_, store: Handle| {
        Ok(store.backend.commit(anonymous(&store, "named").key("key")).await?)
    })
    .await?;
    for receipt in &receipts {
        must_equal!(*receipt, receipts[0], "the receipts of one batch under one key");
    }
    let store = &handles[0];
    for kind in kinds(store).into_iter().filter(|kind| *kind != RecordKind::State) {
        let expected = 1 + usize::from(kind == RecordKind::Session);
        must_equal!(ids_of(store, kind).await?.len(), expected, "{} records", kind.as_str());
    }
    case.verify().await
}

pub(crate) async fn keys_once(case: &mut Case) -> Verdict {
    one_key(case, vec![case.handle()]).await
}

pub(crate) async fn keys_once_on_two_handles(case: &mut Case) -> Verdict {
    one_key(case, two_handles(case).await?).await
}

/// Records change and go when they have just come, many times more than a backend may leave out of an
/// index for the time being.
async fn found(case: &Case, handles: Vec<Handle>) -> Verdict {
    const WRITERS: usize = 16;
    const ROUNDS: usize = 24;
    const EACH: usize = 8;
    at_once(&handles, WRITERS, async |n, store: Handle| {
        for round in 0..ROUNDS {
            let id = |part: usize| format!("{n}.{round}.{part}");
            let add =
                |part| NewEpisode::new("The cache was stale.", "The disk was full.").id(id(part));
            store.backend.commit((0..EACH).map(add).collect()).await?;
            let change = |part: usize| match part % 4 {
                0 => Some(EpisodeRevision::new(id(part)).problem("The worker crashed.").into()),
                1 => Some(Op::DeleteEpisode { episode: id(part).into(), closed_before: None }),
                _ => None,
            };
            store.backend.commit((0..EACH).filter_map(change).collect()).await?;
        }
        Ok(())
    })
    .await?;
    let all = WRITERS * ROUNDS * EACH;
    for (text, left) in [("worker", all / 4), ("cache", all / 2), ("disk", all * 3 / 4)] {
        let hits = case.episodic()?.recall(&RecallQuery::new(text).k(usize::MAX)).await?;
        must_equal!(hits.len(), left, "how many episodes are found by {text:?}");
    }
    case.verify().await
}

pub(crate) async fn found_as_they_are(case: &mut Case) -> Verdict {
    found(case, vec![case.handle()]).await
}

pub(crate) async fn found_as_they_are_on_two_handles(case: &mut Case) -> Verdict {
    found(case, two_handles(case).await?).await
}

pub(crate) async fn opening_at_once(case: &mut Case) -> Verdict {
    let (place, barrier) = (case.other_place()?, Arc::new(Barrier::new(8)));
    let mut tasks = JoinSet::new();
    for n in 0..8 {
        let (factory, clock) = (case.factory.clone(), case.clock.clone());
        let (place, barrier) = (place.clone(), barrier.clone());
        tasks.spawn(async move {
            barrier.wait().await;
            let store = factory.open(&place, clock).await?;
            store.backend.commit(bundle(&store, &n.to_string())).await?;
            Ok::<Handle, Failure>(store)
        });
    }
    let handles = tasks.join_all().await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let all: Vec<String> = (0..8).map(|n| n.to_string()).collect();
    for store in handles {
        let there = whole_bundles(&store).await?;
        must_equal!(there, ids(all.iter().map(String::as_str)), "what each handle sees");
        store.backend.close().await?;
    }
    Ok(())
}

pub(crate) async fn readers_see_whole_batches(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..2 {
        let (store, done) = (store.clone(), done.clone());
        readers.spawn(async move {
            while !done.load(Ordering::SeqCst) {
                let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items;
                must_equal!(turns.len() % 5, 0, "turns beyond whole batches, of {}", turns.len());
                let session = store.session(&Scope::All, &"s".into()).await?;
                let count = session.map_or(0, |session| session.turn_count);
                must_equal!(count % 5, 0, "counted turns beyond whole batches, of {count}");
                let seen = turns.len() as u64;
                must!(count >= seen, count, "a later read sees no fewer turns than {seen}");
            }
            Ok::<(), Failure>(())
        });
    }
    for n in 0..60 {
        let batch: Batch = (0..5).map(|_| NewTurn::new("s", "user", format!("{n}"))).collect();
        store.commit(batch).await?;
    }
    done.store(true, Ordering::SeqCst);
    readers.join_all().await.into_iter().collect()
}

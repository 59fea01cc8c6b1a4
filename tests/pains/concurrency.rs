//! Rows 17 to 24: several at once.

use memkeep::{
    Batch, ErrorKind, Expected, ListTurns, NewSession, NewTurn, Outcome, PutState, Scope, Workspace,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, on_every_backend};

on_every_backend! {
    /// 19.
    async fn indexes_do_not_race(fixture: Fixture) {
        fixture.store.start_session(NewSession::new().id("s")).await.unwrap();
        let other = fixture.second_handle().await;
        let mut tasks = JoinSet::new();
        for n in 0..32 {
            let store = if n % 2 == 0 { fixture.store.clone() } else { other.clone() };
            tasks.spawn(async move {
                store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap().index
            });
        }
        let mut indexes = tasks.join_all().await;
        indexes.sort_unstable();
        assert_eq!(indexes, (0..32).collect::<Vec<u64>>());
        fixture.verify().await;
    }

    /// 20.
    async fn no_update_is_lost(fixture: Fixture) {
        fixture.store.put_state(PutState::new("n", json!(0))).await.unwrap();
        let other = fixture.second_handle().await;
        let mut tasks = JoinSet::new();
        for n in 0..60 {
            let store = if n % 2 == 0 { fixture.store.clone() } else { other.clone() };
            tasks.spawn(async move {
                loop {
                    let held = store.state(&Workspace::default(), "n").await.unwrap().unwrap();
                    let next = json!(held.value.as_i64().unwrap() + 1);
                    let put = PutState::new("n", next).expected(Expected::Version(held.version));
                    match store.put_state(put).await {
                        Ok(_) => return,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict),
                    }
                }
            });
        }
        tasks.join_all().await;
        let last = fixture.store.state(&Workspace::default(), "n").await.unwrap().unwrap();
        assert_eq!((last.value, last.version), (json!(60), 61));
        let stale = PutState::new("n", json!(0)).expected(Expected::Version(3));
        let error = fixture.store.put_state(stale).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
    }

    /// 21: dropped at each await point, a write is there whole or not at all, and nothing is held.
    async fn a_dropped_write_leaves_nothing_behind(fixture: Fixture) {
        use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};

        fixture.store.start_session(NewSession::new().id("s")).await.unwrap();
        for polls in 0..4 {
            for n in 0..8 {
                let batch = Batch::new()
                    .with(NewTurn::new("s", "user", format!("{polls}/{n}")))
                    .with(PutState::new(format!("{polls}/{n}"), json!(1)));
                let mut commit = pin!(fixture.store.commit(batch));
                for _ in 0..polls {
                    let mut context = Context::from_waker(Waker::noop());
                    if let Poll::Ready(result) = commit.as_mut().poll(&mut context) {
                        result.unwrap();
                        break;
                    }
                }
            }
            // The next operation is clean, and comes after all that was accepted.
            fixture.store.record_turn(NewTurn::new("s", "user", "next")).await.unwrap();
            let turns = fixture.store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap();
            for turn in turns.items.iter().filter(|t| t.content != "next") {
                let state = fixture.store.state(&Workspace::default(), &turn.content).await.unwrap();
                assert!(state.is_some(), "half of {} is there", turn.content);
            }
            let indexes: Vec<u64> = turns.items.iter().map(|t| t.index).collect();
            assert_eq!(indexes, (0..indexes.len() as u64).collect::<Vec<_>>());
        }
        fixture.verify().await;
    }

    /// 24.
    async fn a_retry_records_once(fixture: Fixture) {
        let store = &fixture.store;
        store.start_session(NewSession::new().id("s")).await.unwrap();
        let turn = NewTurn::new("s", "user", "once").id("t");
        let first = store.record_turn(turn.clone()).await.unwrap();
        assert_eq!(store.record_turn(turn).await.unwrap(), first);
        let batch = Batch::from(NewTurn::new("s", "user", "twice?")).key("k");
        let first = store.commit(batch.clone()).await.unwrap();
        fixture.reopen().await;
        let store = &fixture.store;
        assert_eq!(store.commit(batch).await.unwrap().outcomes, first.outcomes);
        let all = store.turns(&ListTurns::new("s")).await.unwrap().items;
        assert_eq!(all.len(), 2);
        let other = Batch::from(NewTurn::new("s", "user", "another")).key("k");
        assert_eq!(store.commit(other).await.unwrap_err().kind(), ErrorKind::Conflict);
    }

    /// Many writers at once, each batch whole, refused ones without a trace.
    async fn batches_are_whole_among_many_writers(fixture: Fixture) {
        fixture.store.start_session(NewSession::new().id("s")).await.unwrap();
        let mut tasks = JoinSet::new();
        for n in 0..64 {
            let store = fixture.store.clone();
            tasks.spawn(async move {
                let mut batch = Batch::new();
                for part in 0..5 {
                    batch.push(NewTurn::new("s", "user", format!("{n}.{part}")));
                }
                if n % 4 == 0 {
                    batch.push(NewTurn::new("nowhere", "user", ""));
                }
                (n, store.commit(batch).await)
            });
        }
        let mut accepted = 0;
        for (n, result) in tasks.join_all().await {
            match result {
                Ok(receipt) => {
                    accepted += 1;
                    let index = |outcome: Outcome| outcome.into_turn().unwrap().index;
                    let indexes: Vec<u64> = receipt.outcomes.into_iter().map(index).collect();
                    assert!(indexes.windows(2).all(|pair| pair[0] + 1 == pair[1]));
                }
                Err(error) => {
                    assert_eq!((n % 4, error.kind()), (0, ErrorKind::NotFound));
                    assert_eq!(error.get("op"), Some("5"));
                }
            }
        }
        let session = fixture.store.session(&Scope::All, &"s".into()).await.unwrap().unwrap();
        assert_eq!((accepted, session.turn_count, session.next_turn), (48, 240, 240));
        fixture.verify().await;
    }
}

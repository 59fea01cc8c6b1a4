//! A clock that jumps.

#![cfg(can_watch)]

use std::{sync::Arc, time::Duration};

use memkeep_core::{
    Backend, Batch, Expected, ListTurns, ManualClock, MemoryBackend, NewAudit, NewEpisode,
    NewSession, NewTurn, Op, Prune, PutState, Record, RecordKind, Scan, Timestamp, verify::Verify,
};
use memkeep_durability::{
    STORE, Subject,
    disk::{Image, Recorder},
    now,
};
use memkeep_inmem::InmemConfig;
use serde_json::json;

/// From one end of time to the other, and less.
fn instants() -> Vec<Timestamp> {
    let day = Duration::from_hours(24);
    vec![
        now(),
        Timestamp::MAX,
        Timestamp::MIN,
        now().saturating_add(10_000 * day),
        now(),
        now().saturating_sub(10_000 * day),
        Timestamp::MIN,
        Timestamp::MAX,
        now().saturating_add(day),
        now(),
    ]
}

/// Whatever the clock says: positions, versions and chains go on, keys are honoured, and nothing is
/// pruned that is not over. All backends hold the same.
#[tokio::test]
async fn a_clock_that_jumps_disturbs_nothing() {
    let clock = Arc::new(ManualClock::new(now()));
    let model = InmemConfig::new().clock(Arc::clone(&clock)).open().await.unwrap();
    let wanted = live(&model, &clock).await;
    for subject in Subject::durable() {
        let place = subject.place(&Image::default(), Arc::new(Recorder::new(Image::default())));
        let place = place.unwrap();
        let store = place.open_with(STORE, clock.clone()).await.unwrap();
        assert_eq!(live(&*store, &clock).await, wanted, "{subject:?}");
        store.close().await.unwrap();
        let store = place.open_with(STORE, clock.clone()).await.unwrap();
        assert_eq!(records(&*store).await, wanted, "{subject:?}");
    }
}

/// Commits at each instant, and returns what is there then.
async fn live(store: &dyn MemoryBackend, clock: &ManualClock) -> Vec<Record> {
    for (n, at) in (0_u64..).zip(instants()) {
        clock.set(at);
        let versions = if n == 0 { Expected::Absent } else { Expected::Version(n) };
        let batch = Batch::new()
            .with(Op::EnsureSession(NewSession::new().id("s")))
            .with(NewTurn::new("s", "user", n.to_string()).id(n.to_string()))
            .with(NewEpisode::new(n.to_string(), "").id(n.to_string()))
            .with(PutState::new("key", json!(n)).expected(versions))
            .with(NewAudit::new("jump", "allow").id(n.to_string()))
            .key(n.to_string());
        store.commit(batch.clone()).await.unwrap();
        let before = records(store).await;
        store.commit(batch).await.unwrap();
        assert_eq!(records(store).await, before, "a retry at {at}");
        // Nothing has ended.
        let pruned = store.prune(&Prune::new(Timestamp::MAX)).await.unwrap();
        assert_eq!(pruned, memkeep_core::Counts::default(), "at {at}");
    }
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    assert!(turns.iter().map(|turn| turn.content.clone()).eq((0..10).map(|n| n.to_string())));
    assert!(turns.iter().map(|turn| turn.index).eq(0..10));
    assert_eq!(store.verify(&Verify::new()).await.unwrap().problems, []);
    records(store).await
}

async fn records(store: &dyn Backend) -> Vec<Record> {
    let mut all = Vec::new();
    for kind in RecordKind::ALL {
        all.extend(store.scan(&Scan::new(kind).limit(usize::MAX)).await.unwrap().items);
    }
    all
}

//! What an engine's failures and its end look like from above.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use memkeep_core::{
    Backend, EpisodicBackend, ErrorKind, ListEpisodes, NewEpisode, Scope, SystemClock,
    embedded::EmbeddedOptions, verify::Verify,
};

mod support;
use support::{Gate, Poke};

#[tokio::test]
async fn a_commit_that_the_engine_refuses_has_not_happened() {
    let map = Poke::default();
    let store = map.open(Arc::new(SystemClock)).await.unwrap();
    store.add_episode(NewEpisode::new("first", "")).await.unwrap();
    let before = map.lasting();

    map.set_full(true);
    let refused = store.add_episode(NewEpisode::new("second", "")).await.unwrap_err();
    assert_eq!((refused.kind(), refused.operation()), (ErrorKind::StorageFull, Some("commit")));
    let refused = store.verify(&Verify::new().repair(true)).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::StorageFull);
    assert_eq!(map.lasting(), before);
    assert_eq!(store.episodes(&ListEpisodes::new()).await.unwrap().items.len(), 1);

    map.set_full(false);
    store.add_episode(NewEpisode::new("second", "")).await.unwrap();
    assert_eq!(store.stats(&Scope::All).await.unwrap().counts.episodes, 2);
}

#[tokio::test]
async fn closing_lets_go_of_the_engine() {
    let map = Poke::default();
    let store = map.open(Arc::new(SystemClock)).await.unwrap();
    store.add_episode(NewEpisode::new("first", "")).await.unwrap();
    assert_eq!(store.episodes(&ListEpisodes::new()).await.unwrap().items.len(), 1);
    store.close().await.unwrap();
    assert_eq!(map.copies(), 1);
    // The handle is still there, and says so.
    assert_eq!(store.info().name, "poke");
    let closed = store.episodes(&ListEpisodes::new()).await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);

    let again = map.open(Arc::new(SystemClock)).await.unwrap();
    assert_eq!(again.episodes(&ListEpisodes::new()).await.unwrap().items.len(), 1);
    drop(again);
    assert_eq!(map.copies(), 1);
}

/// With both readers held, the third call is told so in time, and everything goes on afterwards.
#[tokio::test]
async fn a_call_does_not_wait_for_a_reader_forever() {
    let map = Poke::default();
    let mut options = EmbeddedOptions::default();
    options.patience = Duration::from_millis(20);
    let store = Arc::new(map.open_with(options).await.unwrap());
    let (come, arrivals) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    map.set_gate(Some(Gate { come, go: Arc::new(Mutex::new(gone)) }));
    let read = || {
        let store = store.clone();
        tokio::spawn(async move { store.episodes(&ListEpisodes::new()).await })
    };
    let held = [read(), read()];
    tokio::task::spawn_blocking(move || [arrivals.recv().unwrap(), arrivals.recv().unwrap()])
        .await
        .unwrap();

    let late = store.episodes(&ListEpisodes::new()).await.unwrap_err();
    assert_eq!((late.kind(), late.is_retryable()), (ErrorKind::Timeout, true));

    map.set_gate(None);
    drop(go);
    for read in held {
        read.await.unwrap().unwrap();
    }
    store.episodes(&ListEpisodes::new()).await.unwrap();
}

#[tokio::test]
async fn what_an_engine_cannot_do_is_unsupported() {
    let store = Poke::default().open(Arc::new(SystemClock)).await.unwrap();
    let kind = |result: memkeep_core::Result<()>| result.unwrap_err().kind();
    assert_eq!(kind(store.compact().await), ErrorKind::Unsupported);
    assert_eq!(kind(store.backup("copy".as_ref()).await), ErrorKind::Unsupported);
    assert_eq!(store.stats(&Scope::All).await.unwrap().bytes, None);
}

//! A store that somebody else is writing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use memkeep_core::{EpisodicBackend, ErrorKind, NewEpisode, Scope};
use memkeep_sqlite::SqliteConfig;
use rusqlite::Connection;
use tokio::time;

/// Blocking the runtime (zeroclaw-labs/zeroclaw#738): while another holds the store for a fixed
/// number of ticks, a single-threaded runtime goes on ticking, reads go on, and the write ends well.
#[tokio::test]
async fn a_locked_store_does_not_stop_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = SqliteConfig::new(&path).open().await.unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();

    let ticks = AtomicU32::new(0);
    let ticker = async {
        let mut interval = time::interval(Duration::from_millis(10));
        while ticks.fetch_add(1, Ordering::SeqCst) < 50 {
            interval.tick().await;
            assert!(store.episode(&Scope::All, &"none".into()).await.unwrap().is_none());
        }
        other.execute_batch("COMMIT").unwrap();
    };
    let write = async {
        let written = store.add_episode(NewEpisode::new("p", "s")).await;
        (written, ticks.load(Ordering::SeqCst))
    };
    let ((), (written, ticks_before)) = tokio::join!(ticker, write);
    written.unwrap();
    assert!(ticks_before >= 50, "the write came after {ticks_before} ticks");
}

#[tokio::test]
async fn a_lock_that_stays_is_a_timeout_to_be_retried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let config = SqliteConfig::new(&path).busy_timeout(Duration::from_millis(20));
    let store = Arc::new(config.open().await.unwrap());
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let write = || store.add_episode(NewEpisode::new("p", "s").id("e"));
    let error = write().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
    assert!(error.is_retryable());
    // Those who wait together have waited together: it does not add up.
    let started = Instant::now();
    let writers = (0..200).map(|n| {
        let (store, new) = (store.clone(), NewEpisode::new("p", n.to_string()));
        tokio::spawn(async move { store.add_episode(new).await })
    });
    for writer in writers.collect::<Vec<_>>() {
        assert_eq!(writer.await.unwrap().unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    other.execute_batch("COMMIT").unwrap();
    write().await.unwrap();
}

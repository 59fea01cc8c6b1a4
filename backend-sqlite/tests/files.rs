//! What is done to a store's files while it is open.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use memkeep_core::{
    Backend, Error, ErrorKind, ListTurns, NewSession, NewTurn, Scope, SessionStore, verify::Verify,
};
use memkeep_sqlite::{SqliteBackend, SqliteConfig};
use rusqlite::Connection;

const SUFFIXES: [&str; 3] = ["", "-wal", "-shm"];

fn beside(path: &Path, suffix: &str) -> PathBuf {
    format!("{}{suffix}", path.display()).into()
}

/// An open store with a session and `turns` turns.
async fn store_in(path: &Path, turns: usize) -> SqliteBackend {
    let store = SqliteConfig::new(path).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..turns {
        let content = format!("turn {n} {}", "x".repeat(2_000));
        store.record_turn(NewTurn::new("s", "user", content)).await.unwrap();
    }
    store
}

async fn turns(store: &SqliteBackend) -> memkeep_core::Result<usize> {
    Ok(store.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items.len())
}

/// What each kind of use comes to.
async fn refusals(store: &SqliteBackend, folder: &Path) -> Vec<Error> {
    vec![
        store.record_turn(NewTurn::new("s", "user", "lost?")).await.unwrap_err(),
        turns(store).await.unwrap_err(),
        store.stats(&Scope::All).await.unwrap_err(),
        store.verify(&Verify::new()).await.unwrap_err(),
        store.verify(&Verify::new().repair(true)).await.unwrap_err(),
        store.compact().await.unwrap_err(),
        store.backup(&folder.join("never.db")).await.unwrap_err(),
    ]
}

/// Nothing is acknowledged that would be stored nowhere, whichever file is gone; with its files back
/// the store goes on.
#[tokio::test]
#[cfg(unix)]
async fn a_store_whose_file_was_deleted_takes_nothing() {
    for suffix in SUFFIXES {
        for has_reader in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("agent.db");
            let store = store_in(&path, 3).await;
            if has_reader {
                turns(&store).await.unwrap();
            }
            let file = beside(&path, suffix);
            let away = folder.path().join("away");
            fs::rename(&file, &away).unwrap();
            for error in refusals(&store, folder.path()).await {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{suffix}: {error:?}");
                assert!(error.message().contains("deleted or replaced"), "{error:?}");
                assert_eq!(error.get("path"), file.to_str(), "{error:?}");
            }
            assert!(!folder.path().join("never.db").exists());
            fs::rename(&away, &file).unwrap();
            store.record_turn(NewTurn::new("s", "user", "here")).await.unwrap();
            assert_eq!(turns(&store).await.unwrap(), 4);
        }
    }
}

/// Another store is put in the place of an open one, as a crash left it: its last turns are only in
/// its log. The handle neither writes to it nor takes anything away, also when it is closed.
#[tokio::test]
#[cfg(unix)]
async fn another_store_in_the_place_is_left_as_it_is() {
    // Which files are replaced.
    for suffixes in [&["", "-wal"][..], &SUFFIXES[..], &["-wal"]] {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("agent.db"), folder.path().join("other.db"));
        let store = store_in(&path, 3).await;
        assert_eq!(turns(&store).await.unwrap(), 3);
        let live = store_in(&other, 5).await;
        for suffix in suffixes {
            let file = beside(&path, suffix);
            fs::remove_file(&file).unwrap();
            fs::copy(beside(&other, suffix), &file).unwrap();
        }
        let read = || ["", "-wal"].map(|suffix| fs::read(beside(&path, suffix)).unwrap());
        let before = read();
        for error in refusals(&store, folder.path()).await {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{suffixes:?}: {error:?}");
        }
        store.close().await.unwrap();
        assert!(read() == before, "{suffixes:?}");
        live.close().await.unwrap();
        if suffixes.contains(&"") {
            let there = SqliteConfig::new(&path).open().await.unwrap();
            assert_eq!(turns(&there).await.unwrap(), 5);
        }
    }
}

/// Restoring by moving a backup over the open store, and opening that: it is the backup, not a
/// mixture of it and the log of the store that was there.
#[tokio::test]
#[cfg(unix)]
async fn a_backup_moved_over_an_open_store_is_that_backup() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("agent.db"), folder.path().join("copy.db"));
    let store = store_in(&path, 3).await;
    store.backup(&copy).await.unwrap();
    for n in 0..50 {
        store.record_turn(NewTurn::new("s", "user", format!("later {n}"))).await.unwrap();
    }
    assert_eq!(turns(&store).await.unwrap(), 53);
    fs::hard_link(&path, folder.path().join("old.db")).unwrap();
    fs::rename(&copy, &path).unwrap();
    let error = store.record_turn(NewTurn::new("s", "user", "lost?")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    store.close().await.unwrap();

    for (name, count) in [("agent.db", 3), ("old.db", 53)] {
        let store = SqliteConfig::new(folder.path().join(name)).open().await.unwrap();
        assert_eq!(turns(&store).await.unwrap(), count, "{name}");
        assert_eq!(store.verify(&Verify::new()).await.unwrap().problems, [], "{name}");
    }
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// All that is left of it may be in the log.
#[tokio::test]
async fn a_store_that_was_emptied_is_corrupt_and_its_log_is_kept() {
    for has_reader in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let store = store_in(&path, 3).await;
        if has_reader {
            turns(&store).await.unwrap();
        }
        cut(&path, 0);
        let log = || fs::read(beside(&path, "-wal")).unwrap();
        let before = log();
        for error in refusals(&store, folder.path()).await {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.get("path"), path.to_str(), "{error:?}");
        }
        for read_only in [false, true] {
            let again = SqliteConfig::new(&path).read_only(read_only).open().await;
            assert_eq!(again.err().unwrap().kind(), ErrorKind::Corrupt);
        }
        store.close().await.unwrap();
        assert!(log() == before);
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}

#[tokio::test]
async fn a_store_that_was_cut_is_corrupt() {
    for read_only in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let store = store_in(&path, 60).await;
        // What is in the log cannot be missed.
        store.compact().await.unwrap();
        let store = if read_only {
            store.close().await.unwrap();
            SqliteConfig::new(&path).read_only(true).open().await.unwrap()
        } else {
            store
        };
        assert_eq!(turns(&store).await.unwrap(), 60);
        cut(&path, fs::metadata(&path).unwrap().len() / 2);
        let error = turns(&store).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        if !read_only {
            let error = store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_store_that_lost_its_tables_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = store_in(&path, 3).await;
    assert_eq!(turns(&store).await.unwrap(), 3);
    let vandal = Connection::open(&path).unwrap();
    vandal
        .execute_batch("DROP TABLE turn_tags; DROP TABLE turns; PRAGMA user_version = 0")
        .unwrap();
    for _ in 0..2 {
        let commit = store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap_err();
        for error in [commit, turns(&store).await.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.get("path"), path.to_str());
        }
    }
}

/// Compacting by somebody else makes the file smaller, as it may.
#[tokio::test]
async fn a_store_that_another_handle_compacts_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = store_in(&path, 60).await;
    let other = SqliteConfig::new(&path).open().await.unwrap();
    for round in 0..3 {
        assert_eq!(turns(&store).await.unwrap(), 60 - 20 * round);
        for turn in store.turns(&ListTurns::new("s").limit(20_usize)).await.unwrap().items {
            store.delete_turn(&turn.id).await.unwrap();
        }
        other.compact().await.unwrap();
    }
    store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap();
    assert_eq!(turns(&store).await.unwrap(), 1);
}

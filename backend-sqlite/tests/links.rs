//! Stores that are opened through symbolic links: their logs are beside what the links lead to.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::Path};

use memkeep_core::{Backend, ErrorKind, NewSession, Scope, SessionStore};
use memkeep_sqlite::SqliteConfig;
use rusqlite::Connection;

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_newer_store_behind_a_link_is_left_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    SqliteConfig::new(of("newer.db")).open().await.unwrap().close().await.unwrap();
    let newer = Connection::open(of("newer.db")).unwrap();
    newer.execute_batch("PRAGMA user_version = 3").unwrap();
    fs::create_dir(of("real")).unwrap();
    for suffix in ["", "-wal"] {
        let from = of(&format!("newer.db{suffix}"));
        fs::copy(from, of(&format!("real/agent.db{suffix}"))).unwrap();
    }
    symlink("real/agent.db", of("link.db")).unwrap();
    symlink("real", of("folder")).unwrap();
    let read =
        || ["", "-wal"].map(|suffix| fs::read(of(&format!("real/agent.db{suffix}"))).unwrap());
    let before = read();
    for name in ["link.db", "folder/agent.db"] {
        for read_only in [false, true] {
            let config = SqliteConfig::new(of(name)).read_only(read_only);
            let error = config.open().await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::SchemaTooNew, "{error:?}");
            assert!(read() == before, "{name}");
        }
    }
}

#[tokio::test]
async fn a_store_behind_a_link_is_measured_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    fs::create_dir(of("real")).unwrap();
    symlink(of("real/agent.db"), of("link.db")).unwrap();
    symlink("link.db", of("link of a link.db")).unwrap();
    // The first finds nothing behind the link.
    for (n, name) in ["link of a link.db", "link.db", "real/agent.db"].into_iter().enumerate() {
        let store = SqliteConfig::new(of(name)).open().await.unwrap();
        store.start_session(NewSession::new().id(format!("s{n}"))).await.unwrap();
        for before in 0..=n {
            let id = format!("s{before}").into();
            assert!(store.session(&Scope::All, &id).await.unwrap().is_some());
        }
        let len = |suffix| fs::metadata(of(&format!("real/agent.db{suffix}"))).unwrap().len();
        assert_eq!(store.stats(&Scope::All).await.unwrap().bytes, Some(len("") + len("-wal")));
        assert_eq!(names(&of("real")), ["agent.db", "agent.db-shm", "agent.db-wal"]);
        // Where a link leads to later is not where the store is.
        if n == 1 {
            fs::remove_file(of("link.db")).unwrap();
            store.start_session(NewSession::new()).await.unwrap();
            symlink(of("real/agent.db"), of("link.db")).unwrap();
        }
        store.close().await.unwrap();
    }
    assert_eq!(names(folder.path()), ["link of a link.db", "link.db", "real"]);
}

#[tokio::test]
async fn a_link_to_itself_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    symlink("agent.db", &path).unwrap();
    let error = SqliteConfig::new(&path).open().await.err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
}

//! Files and folders that may not be written.

#![cfg(unix)]

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use memkeep_core::{Backend, ErrorKind, NewSession, Op, Scope, SessionStore};
use memkeep_sqlite::SqliteConfig;

const CHILD: &str = "MEMKEEP_TEST_FOLDER";

/// A link to the store that crashed, outside its folder.
const LINK: &str = "link.db";

/// Somebody who owns nothing here; root may write everywhere.
const NOBODY: u32 = 65_534;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The folders of the test, each with what its store can do.
fn folders(parent: &Path) -> [PathBuf; 5] {
    ["file", "folder", "both", "crashed", "empty"].map(|name| parent.join(name))
}

/// Not a test of its own: what the process without permissions does.
#[tokio::test]
async fn child_reads_what_it_may_not_write() {
    let Some(parent) = std::env::var_os(CHILD) else { return };
    let [file, folder, both, crashed, empty] = folders(Path::new(&parent));
    for folder in [file, folder, both] {
        let store = SqliteConfig::new(folder.join("agent.db")).open().await.unwrap();
        assert!(store.session(&Scope::All, &"s".into()).await.unwrap().is_some(), "{folder:?}");
        let op = Op::DeleteSession { session: "s".into(), ended_before: None };
        let error = store.commit_one(op).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{folder:?}: {error:?}");
        store.close().await.unwrap();
    }
    for (path, kind) in [
        (crashed.join("agent.db"), ErrorKind::Unavailable),
        (Path::new(&parent).join(LINK), ErrorKind::Unavailable),
        (empty.join("agent.db"), ErrorKind::ReadOnly),
    ] {
        for read_only in [false, true] {
            let opened = SqliteConfig::new(&path).read_only(read_only).open().await;
            let error = opened.err().unwrap();
            let kind = if read_only && !path.exists() { ErrorKind::NotFound } else { kind };
            assert_eq!(error.kind(), kind, "{path:?}: {error:?}");
        }
    }
}

/// A read-only file, a read-only folder: what is there is read, and a write says `ReadOnly`; but a
/// log that cannot be taken along is not left out silently.
#[tokio::test]
async fn what_may_not_be_written_is_read() {
    let parent = tempfile::tempdir().unwrap();
    mode(parent.path(), 0o755);
    let [file, folder, both, crashed, empty] = folders(parent.path());
    for folder in [&file, &folder, &both, &crashed, &empty] {
        fs::create_dir(folder).unwrap();
    }
    for folder in [&file, &folder, &both] {
        let store = SqliteConfig::new(folder.join("agent.db")).open().await.unwrap();
        store.start_session(NewSession::new().id("s")).await.unwrap();
        store.close().await.unwrap();
    }
    let live = SqliteConfig::new(parent.path().join("live.db")).open().await.unwrap();
    live.start_session(NewSession::new()).await.unwrap();
    for suffix in ["", "-wal"] {
        let from = parent.path().join(format!("live.db{suffix}"));
        fs::copy(from, crashed.join(format!("agent.db{suffix}"))).unwrap();
    }
    live.close().await.unwrap();
    symlink(crashed.join("agent.db"), parent.path().join(LINK)).unwrap();

    mode(&file.join("agent.db"), 0o444);
    mode(&file, 0o777);
    mode(&folder.join("agent.db"), 0o666);
    mode(&both.join("agent.db"), 0o444);
    for folder in [&folder, &both, &crashed, &empty] {
        mode(folder, 0o555);
    }

    // The test's own folder may be closed to others.
    let test = parent.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    let mut child = Command::new(&test);
    child.args(["--exact", "child_reads_what_it_may_not_write"]).env(CHILD, parent.path());
    child.current_dir(parent.path());
    if fs::metadata(parent.path()).unwrap().uid() == 0 {
        child.uid(NOBODY).gid(NOBODY);
    }
    let status = child.status().unwrap();
    for folder in [&folder, &both, &crashed, &empty] {
        mode(folder, 0o755);
    }
    assert!(status.success());
}

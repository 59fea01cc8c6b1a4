//! What is done to a store's file while it is open, and what compacting and backups make of it.

use std::{
    fs::{self, OpenOptions},
    path::Path,
};

use memkeep_core::{
    Backend, EpisodicBackend, Error, ErrorKind, ListTurns, NewEpisode, NewSession, NewTurn, Scope,
    SessionStore, verify::Verify,
};
use memkeep_redb::{RedbBackend, RedbConfig};

const SECRET: &str = "correct-horse-battery-staple";

/// An open store with a session and `turns` turns.
async fn store_in(path: &Path, turns: usize) -> RedbBackend {
    let store = RedbConfig::new(path).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..turns {
        let content = format!("turn {n} {}", "x".repeat(2_000));
        store.record_turn(NewTurn::new("s", "user", content)).await.unwrap();
    }
    store
}

async fn turns(store: &RedbBackend) -> memkeep_core::Result<usize> {
    Ok(store.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items.len())
}

/// What each kind of use comes to.
async fn refusals(store: &RedbBackend, folder: &Path) -> Vec<Error> {
    vec![
        store.record_turn(NewTurn::new("s", "user", "lost?")).await.unwrap_err(),
        turns(store).await.unwrap_err(),
        store.stats(&Scope::All).await.unwrap_err(),
        store.verify(&Verify::new()).await.unwrap_err(),
        store.verify(&Verify::new().repair(true)).await.unwrap_err(),
        store.compact().await.unwrap_err(),
        store.backup(&folder.join("never.redb")).await.unwrap_err(),
    ]
}

/// Nothing is acknowledged that would be stored nowhere; with its file back the store goes on.
#[tokio::test]
#[cfg(unix)]
async fn a_store_whose_file_was_deleted_takes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("agent.redb"), folder.path().join("away"));
    let store = store_in(&path, 3).await;
    fs::rename(&path, &away).unwrap();
    for error in refusals(&store, folder.path()).await {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.message().contains("deleted or replaced"), "{error:?}");
        assert_eq!(error.get("path"), path.to_str(), "{error:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::rename(&away, &path).unwrap();
    store.record_turn(NewTurn::new("s", "user", "here")).await.unwrap();
    assert_eq!(turns(&store).await.unwrap(), 4);
}

/// The handle neither writes to another store in its place nor takes anything away from it.
#[tokio::test]
#[cfg(unix)]
async fn another_store_in_the_place_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("agent.redb"), folder.path().join("other.redb"));
    let store = store_in(&path, 3).await;
    store_in(&other, 5).await.close().await.unwrap();
    let before = fs::read(&other).unwrap();
    fs::rename(&other, &path).unwrap();
    for error in refusals(&store, folder.path()).await {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    }
    store.close().await.unwrap();
    assert!(fs::read(&path).unwrap() == before);
    let there = RedbConfig::new(&path).open().await.unwrap();
    assert_eq!(turns(&there).await.unwrap(), 5);
}

#[tokio::test]
async fn a_store_that_was_cut_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    for divisor in [2, usize::MAX] {
        let path = folder.path().join(format!("{divisor}.redb"));
        let store = store_in(&path, 60).await;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(file.metadata().unwrap().len() / divisor as u64).unwrap();
        let left = fs::read(&path).unwrap();
        for error in refusals(&store, folder.path()).await {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.get("path"), path.to_str(), "{error:?}");
        }
        assert!(fs::read(&path).unwrap() == left);
    }
}

/// A page that nobody reads, for it is in memory, is looked at by a repair. The store goes on, and keeps
/// others out.
#[tokio::test]
#[cfg(unix)]
async fn a_repair_looks_at_every_page() {
    use std::os::unix::fs::FileExt as _;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let store = store_in(&path, 60).await;
    let repair = Verify::new().repair(true);
    assert_eq!(store.verify(&repair).await.unwrap().problems, []);

    // When it returns, nothing is left to be written to the file.
    store.reindex().await.unwrap();
    let sound = fs::read(&path).unwrap();
    let mut found = 0;
    for at in (0..sound.len()).step_by(4_096).map(|page| page + 100) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        let copy = folder.path().join(format!("{at}.redb"));
        fs::write(&copy, &damaged).unwrap();
        if RedbConfig::new(&copy).check(true).open().await.is_ok() {
            continue;
        }
        found += 1;
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        file.write_all_at(&damaged[at..=at], at as u64).unwrap();
        assert_eq!(store.verify(&Verify::new()).await.unwrap().problems, []);
        let problems = store.verify(&repair).await.unwrap().problems;
        let found: Vec<_> = problems.iter().map(|p| (p.location.as_str(), p.repaired)).collect();
        assert_eq!(found, [("file", false)], "{at}");
        let refused = store.compact().await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused:?}");
        assert_eq!(refused.get("location"), Some("file"));
        file.write_all_at(&sound[at..=at], at as u64).unwrap();
    }
    assert!(found > 0, "no page that matters was changed");
    assert_eq!(store.verify(&repair).await.unwrap().problems, []);
    assert_eq!(turns(&store).await.unwrap(), 60);
    let second = RedbConfig::new(&path).open().await.map(drop).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AlreadyOpen);
    store.record_turn(NewTurn::new("s", "user", "one more")).await.unwrap();
}

fn holds_secret(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    })
}

#[tokio::test]
async fn after_compact_no_text_of_what_was_deleted_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let store = RedbConfig::new(&path).open().await.unwrap();
    for session in ["kept", "gone"] {
        store.start_session(NewSession::new().id(session)).await.unwrap();
        for n in 0..200 {
            let secret = if session == "gone" { SECRET } else { "" };
            let text = format!("{n} {secret} {}", "x".repeat(n * 50));
            let turn = NewTurn::new(session, "user", text).embedding_id(secret);
            let tags = [(secret.to_owned(), Some(secret.to_owned()))]
                .into_iter()
                .collect::<std::collections::BTreeMap<_, _>>();
            store.record_turn(turn.tags(tags)).await.unwrap();
        }
    }
    let before = store.stats(&Scope::All).await.unwrap().bytes.unwrap();
    store.delete_session(&"gone".into()).await.unwrap();
    assert!(holds_secret(folder.path()), "redb leaves it until then");
    store.compact().await.unwrap();
    assert!(!holds_secret(folder.path()));
    let after = store.stats(&Scope::All).await.unwrap().bytes.unwrap();
    assert!(after < before * 3 / 4, "{after} of {before}");

    // The handle goes on with the new file, and so does the next.
    store.record_turn(NewTurn::new("kept", "user", "later")).await.unwrap();
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    let taken = RedbConfig::new(&path).open().await.err().unwrap();
    assert_eq!(taken.kind(), ErrorKind::AlreadyOpen);
    store.close().await.unwrap();
    let store = RedbConfig::new(&path).open().await.unwrap();
    let turns = store.turns(&ListTurns::new("kept").limit(usize::MAX)).await.unwrap().items;
    assert!(turns.iter().map(|turn| turn.index).eq(0..201));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Reads go on meanwhile, and nothing is lost between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_while_the_store_is_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let store = std::sync::Arc::new(store_in(&path, 40).await);
    let reading = store.clone();
    let reader = tokio::spawn(async move {
        let mut reads = 0;
        while std::sync::Arc::strong_count(&reading) > 1 {
            assert_eq!(turns(&reading).await.unwrap(), 40);
            reads += 1;
        }
        reads
    });
    for _ in 0..5 {
        store.compact().await.unwrap();
    }
    drop(store);
    assert!(reader.await.unwrap() > 0);
}

#[tokio::test]
#[cfg(unix)]
async fn a_compacted_file_keeps_its_mode_and_what_a_crash_left_goes() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("agent.redb"), folder.path().join("link.redb"));
    let left = folder.path().join("agent.redb-compacting");
    store_in(&path, 3).await.close().await.unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("agent.redb", &link).unwrap();
    fs::write(&left, SECRET).unwrap();
    let before = fs::metadata(&path).unwrap();
    let store = RedbConfig::new(&link).open().await.unwrap();
    assert!(!left.exists());
    fs::write(&left, SECRET).unwrap();
    store.compact().await.unwrap();
    assert!(!left.exists() && fs::symlink_metadata(&link).unwrap().is_symlink());
    let after = fs::metadata(&path).unwrap();
    assert_eq!((after.mode(), after.uid(), after.gid()), (0o100_640, before.uid(), before.gid()));
    assert_ne!(after.ino(), before.ino());
    assert_eq!(turns(&store).await.unwrap(), 3);
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(&folder.path().join("agent.redb"), 50).await;
    let copy = folder.path().join("copy.redb");
    store.backup(&copy).await.unwrap();
    store.record_turn(NewTurn::new("s", "user", "later")).await.unwrap();
    assert_eq!(store.backup(&copy).await.unwrap_err().kind(), ErrorKind::Conflict);
    let nowhere = store.backup(&folder.path().join("no/where")).await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::Unavailable);

    let copy = RedbConfig::new(&copy).open().await.unwrap();
    let there = copy.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    let live = store.turns(&ListTurns::new("s").limit(50_usize)).await.unwrap().items;
    assert_eq!(there, live);
    copy.record_turn(NewTurn::new("s", "user", "here")).await.unwrap();
    assert!(copy.verify(&Verify::new()).await.unwrap().is_clean());
}

/// A report, not an end: whichever page is overwritten, redb's panics included.
#[tokio::test]
async fn a_damaged_file_is_reported_and_takes_nobody_down() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.redb");
    store_in(&whole, 30).await.close().await.unwrap();
    let bytes = fs::read(&whole).unwrap();
    let used: Vec<usize> =
        (1..bytes.len() / 4096).filter(|page| bytes[page * 4096..][..4096] != [0; 4096]).collect();
    let mut noticed = 0;
    for page in &used {
        let path = folder.path().join("damaged.redb");
        let mut damaged = bytes.clone();
        damaged[page * 4096..][..4096].fill(0xa5);
        fs::write(&path, &damaged).unwrap();
        let store = match RedbConfig::new(&path).open().await {
            Ok(store) => store,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
                noticed += 1;
                continue;
            }
        };
        match store.verify(&Verify::new()).await {
            // A page that was free.
            Ok(report) if report.is_clean() => assert_eq!(turns(&store).await.unwrap(), 30),
            Ok(_) => noticed += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
                noticed += 1;
            }
        }
        // Whatever it comes to, the store can be told more, and be closed.
        if let Err(error) = store.add_episode(NewEpisode::new("p", "s")).await {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        }
        store.close().await.unwrap();
    }
    assert!(noticed > used.len() / 3, "{noticed} of {}", used.len());
}

/// A commit makes the file longer or shorter, which no reader takes for damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_go_on_while_the_file_grows_and_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let store = std::sync::Arc::new(store_in(&path, 1).await);
    let writer = store.clone();
    let writing = tokio::spawn(async move {
        for n in 0..12 {
            let id = format!("large {n}");
            let large = NewEpisode::new("x".repeat(4 << 20), "").id(&*id);
            writer.add_episode(large).await.unwrap();
            writer.delete_episode(&id.into()).await.unwrap();
            writer.record_turn(NewTurn::new("s", "user", "more")).await.unwrap();
        }
    });
    while !writing.is_finished() {
        turns(&store).await.unwrap();
    }
    writing.await.unwrap();
}

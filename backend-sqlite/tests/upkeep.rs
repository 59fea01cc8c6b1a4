//! Deletion, compacting, copies.

use std::{fs, path::Path, time::Duration};

use memkeep_core::{
    Backend, Batch, EpisodicBackend, ErrorKind, ListSessions, ListTurns, NewEpisode, NewSession,
    NewTurn, Op, Prune, RecordKind, Scan, Scope, SessionStore, Timestamp,
};
use memkeep_sqlite::{SqliteConfig, Synchronous};
use rusqlite::Connection;

const SECRET: &str = "correct-horse-battery-staple";

fn holds_secret(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().any(|file| {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
    })
}

#[tokio::test]
async fn after_compact_no_text_of_what_was_deleted_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = SqliteConfig::new(&path).open().await.unwrap();
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
    assert!(holds_secret(folder.path()));
    store.delete_session(&"gone".into()).await.unwrap();
    store.compact().await.unwrap();
    assert!(!holds_secret(folder.path()));
    assert!(store.stats(&Scope::All).await.unwrap().bytes.unwrap() < before * 3 / 4);

    // Order of insertion and cursors outlive it.
    let turns = store.turns(&ListTurns::new("kept").limit(usize::MAX)).await.unwrap().items;
    assert!(turns.iter().map(|turn| turn.index).eq(0..200));
    let scanned = store.scan(&Scan::new(RecordKind::Turn).limit(1_usize)).await.unwrap();
    assert!(scanned.next.is_some());
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    for (name, config) in [
        ("file", SqliteConfig::new(folder.path().join("agent.db"))),
        ("memory", SqliteConfig::memory()),
    ] {
        let store = config.open().await.unwrap();
        store.start_session(NewSession::new().id("s")).await.unwrap();
        for n in 0..50 {
            store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap();
        }
        let copy = folder.path().join(format!("{name}.copy"));
        store.backup(&copy).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", "later")).await.unwrap();
        let refused = store.backup(&copy).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        let nowhere = store.backup(&folder.path().join("no/where")).await.unwrap_err();
        assert_eq!(nowhere.kind(), ErrorKind::Unavailable);

        let copy = SqliteConfig::new(&copy).open().await.unwrap();
        let turns = copy.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
        let live = store.turns(&ListTurns::new("s").limit(50_usize)).await.unwrap().items;
        assert_eq!(turns, live);
        copy.record_turn(NewTurn::new("s", "user", "here")).await.unwrap();
        store.compact().await.unwrap();
    }
}

/// Too many SQL variables (NousResearch/hermes-agent#102679).
#[tokio::test]
async fn forty_thousand_sessions_are_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig::new(folder.path().join("agent.db"));
    let store = config.synchronous(Synchronous::Normal).open().await.unwrap();
    for batch in 0..4 {
        let ops = (0..10_000).flat_map(|n| {
            let id = format!("s{batch}-{n}");
            [
                Op::StartSession(NewSession::new().id(id.as_str())),
                Op::EndSession { session: id.into(), at: Some(Timestamp::default()) },
            ]
        });
        store.commit(ops.collect::<Batch>()).await.unwrap();
    }
    store.start_session(NewSession::new().id("open")).await.unwrap();
    let prune = Prune::new(Timestamp::MAX);
    assert_eq!(store.prune(&prune).await.unwrap().sessions, 40_000);
    assert_eq!(store.prune(&prune).await.unwrap().sessions, 0);
    let left = store.sessions(&ListSessions::new()).await.unwrap().items;
    assert_eq!(left.len(), 1);
}

#[tokio::test]
async fn writes_are_seen_by_other_handles_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let one = SqliteConfig::new(&path).open().await.unwrap();
    let other = SqliteConfig::new(&path).open().await.unwrap();
    for n in 0..20 {
        let (writer, reader) = if n % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let id = writer.add_episode(NewEpisode::new("p", "s")).await.unwrap().id;
        assert!(reader.episode(&Scope::All, &id).await.unwrap().is_some());
    }
}

/// While somebody reads an older state the log cannot be cut, and the text may still be in it.
#[tokio::test]
async fn compact_says_when_it_could_not_wipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let config = SqliteConfig::new(&path).busy_timeout(Duration::from_millis(20));
    let store = config.open().await.unwrap();
    store.add_episode(NewEpisode::new(SECRET, "").id("e")).await.unwrap();
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM episodes").unwrap();
    store.delete_episode(&"e".into()).await.unwrap();
    let error = store.compact().await.unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true));
    assert!(holds_secret(folder.path()));
    reader.execute_batch("COMMIT").unwrap();
    store.compact().await.unwrap();
    assert!(!holds_secret(folder.path()));
}

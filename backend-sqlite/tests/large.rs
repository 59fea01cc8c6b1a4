//! Values near the limits of SQLite, which takes 10^9 bytes as one.

use std::collections::BTreeMap;

use memkeep_core::{
    ListTurns, NewSession, NewTurn, Scope, SessionStore, Turn, bounds::MAX_TEXT_BYTES,
};
use memkeep_sqlite::{SqliteBackend, SqliteConfig};
use rusqlite::Connection;

/// As one JSON text, in which each byte of theirs takes six, these tags are more than SQLite takes.
#[tokio::test]
async fn a_turn_whose_tags_are_too_large_for_one_value_is_read_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = SqliteConfig::new(&path).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    store.record_turn(NewTurn::new("s", "user", "hello").id("t")).await.unwrap();
    // As ops store them; measuring them in a debug build takes a minute.
    let other = Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA synchronous = OFF").unwrap();
    let large = "\u{1}".repeat(MAX_TEXT_BYTES);
    for name in ["a", "b", "c"] {
        let sql = "INSERT INTO turn_tags SELECT pk, ?, ? FROM turns";
        other.execute(sql, [name, &large]).unwrap();
    }
    drop(other);
    let tags = store.turn(&Scope::All, &"t".into()).await.unwrap().unwrap().tags;
    assert_eq!(tags.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert!(tags.values().all(|value| value.as_ref() == Some(&large)));
    assert_eq!(turns(&store).await[0].tags.len(), 3);
    assert!(store.delete_turn(&"t".into()).await.unwrap().existed);
    assert_eq!(turns(&store).await, []);
}

async fn turns(store: &SqliteBackend) -> Vec<Turn> {
    store.turns(&ListTurns::new("s")).await.unwrap().items
}

/// Just where tags are read as rows, and no longer as one value.
#[tokio::test]
async fn tags_are_the_same_on_both_sides_of_that_limit() {
    let store = SqliteConfig::memory().open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for (n, bytes) in [(16 << 20) - 6, (16 << 20) - 5, (16 << 20) - 4].into_iter().enumerate() {
        let id = format!("t{n}");
        let tags: BTreeMap<_, _> = [
            (String::new(), None),
            ("a\0".to_owned(), Some("\0b".to_owned())),
            (
                "c".to_owned(),
                Some("\u{e9}".repeat(bytes / 2) + if bytes % 2 == 1 { "x" } else { "" }),
            ),
        ]
        .into();
        let turn = NewTurn::new("s", "user", "hello").id(id.as_str()).tags(tags.clone());
        store.record_turn(turn).await.unwrap();
        let read = store.turn(&Scope::All, &id.as_str().into()).await.unwrap().unwrap();
        assert!(read.tags == tags, "{bytes}");
    }
}

//! The index of words by which `find_turns` finds what is rare: what it finds is what looking at every
//! turn finds.

#![cfg(all(feature = "inmem", feature = "redb", feature = "sqlite"))]

use std::sync::Arc;

use memkeep::{
    Batch, FindTurns, MemoryBackend, NewSession, NewTurn, Op, Scope, Timestamp, Workspace,
    verify::Verify,
};

type Store = Arc<dyn MemoryBackend>;

/// More than are looked at before the index is asked.
const TURNS: usize = 1_500;

/// What some old turns have and no others.
const RARE: [&str; 8] = [
    "Die Straße ist gesperrt",
    "see src/main.rs:42 for e-mail",
    "今天部署到生产环境",
    "request 7f3a99c0-1b2d failed",
    "naïve café",
    "!!! ???",
    "nul \u{0} byte",
    "ΣΊΣΥΦΟΣ",
];

/// Stretches of text: of one word, across words, of signs alone, of letters that fold.
const SOUGHT: [&str; 26] = [
    "strasse",
    "STRASSE IST",
    "rasse ist ges",
    "main.rs:4",
    "ain.rs",
    "s:42 f",
    "e-mail",
    "部署",
    "天部",
    "部",
    "3a99c",
    "c0-1b",
    "ve ca",
    "é",
    "café",
    "e\u{301}",
    "???",
    "! ?",
    "\u{0}",
    "l \u{0} b",
    "σίσυφοσ",
    "υφος",
    "turn 17 ",
    "number",
    "zzz",
    "word2",
];

async fn fill(store: &Store) {
    for first in (0..TURNS).step_by(500) {
        let mut batch = Batch::new();
        for at in first..first + 500 {
            let session = format!("s{}", at / 100);
            if at % 100 == 0 {
                let workspace = if at % 200 == 0 { "a" } else { "b" };
                let new = NewSession::new().id(session.as_str()).workspace(workspace);
                batch.push(Op::StartSession(new));
            }
            let role = if at % 3 == 0 { "user" } else { "assistant" };
            let mut text = format!("turn {at} has the number {} word{}", at * 7919, at % 10);
            if let Some(rare) = RARE.get(at / 11).filter(|_| at % 11 == 0) {
                text = format!("{text}; {rare}");
            }
            batch.push(NewTurn::new(session, role, text).id(format!("t{at}")));
        }
        store.commit(batch).await.unwrap();
    }
    // Longer than any key.
    let long = format!("{}needle{}", "x".repeat(200), "y".repeat(200));
    let mut batch = Batch::new();
    batch.push(NewTurn::new("s0", "tool", long).id("long"));
    store.commit(batch).await.unwrap();
}

async fn found(store: &Store, find: &FindTurns) -> Vec<String> {
    let turns = store.find_turns(find).await.unwrap();
    turns.into_iter().map(|turn| turn.id.to_string()).collect()
}

/// Asks both for everything.
async fn compare(store: &Store, plain: &Store) {
    for text in SOUGHT.into_iter().chain(["xneedley"]) {
        for (scope, role, limit) in [
            (Scope::All, None, 3_usize),
            (Scope::All, None, 5_000),
            (Scope::from(Workspace::from("b")), None, 20),
            (Scope::All, Some("user"), 20),
        ] {
            let mut find = FindTurns::new(text).scope(scope).limit(limit);
            find.role = role.map(str::to_owned);
            assert_eq!(found(store, &find).await, found(plain, &find).await, "{find:?}");
        }
    }
}

async fn check(url: &str) {
    let plain = memkeep::open("inmem:").await.unwrap();
    let store = memkeep::open(&format!("{url}?find_index=true")).await.unwrap();
    for store in [&plain, &store] {
        fill(store).await;
    }
    // While the last turns wait to be indexed, and when all are.
    compare(&store, &plain).await;
    store.reindex().await.unwrap();
    compare(&store, &plain).await;
    assert_eq!(found(&store, &FindTurns::new("部署")).await, ["t22"]);

    for store in [&plain, &store] {
        let mut batch = Batch::new();
        for id in ["t22", "t1499", "long"] {
            batch.push(Op::DeleteTurn { turn: id.into() });
        }
        batch.push(NewTurn::new("s1", "user", "once more 部署 and main.rs:4").id("again"));
        store.commit(batch).await.unwrap();
    }
    compare(&store, &plain).await;
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    store.close().await.unwrap();
}

#[tokio::test]
async fn the_index_finds_what_looking_at_every_turn_finds() {
    let folder = tempfile::tempdir().unwrap();
    check("inmem:").await;
    for backend in ["sqlite", "redb"] {
        check(&format!("{backend}:{}", folder.path().join(backend).display())).await;
    }
}

/// A store that was without the index gets it, whoever opens it then keeps it, and `reindex` of a handle
/// that does not ask for it drops it.
#[tokio::test]
async fn a_store_gets_the_index_later() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("memory.db").display());
    let plain = memkeep::open("inmem:").await.unwrap();
    fill(&plain).await;
    let store = memkeep::open(&url).await.unwrap();
    fill(&store).await;
    store.compact().await.unwrap();
    let without = store.stats(&Scope::All).await.unwrap().bytes.unwrap();
    store.close().await.unwrap();

    let store = memkeep::open(&format!("{url}?find_index=true")).await.unwrap();
    compare(&store, &plain).await;
    store.reindex().await.unwrap();
    store.compact().await.unwrap();
    compare(&store, &plain).await;
    let with = store.stats(&Scope::All).await.unwrap().bytes.unwrap();
    assert!(with > without, "{with} {without}");
    store.close().await.unwrap();

    let store = memkeep::open(&url).await.unwrap();
    compare(&store, &plain).await;
    store.compact().await.unwrap();
    assert_eq!(store.stats(&Scope::All).await.unwrap().bytes.unwrap(), with);
    store.reindex().await.unwrap();
    store.compact().await.unwrap();
    assert!(store.stats(&Scope::All).await.unwrap().bytes.unwrap() < with);
    compare(&store, &plain).await;
    store.close().await.unwrap();
}

/// What lies behind all that recall reads of a text is found.
#[tokio::test]
async fn the_end_of_a_huge_text_is_found() {
    let store = memkeep::open("inmem:?find_index=true").await.unwrap();
    fill(&store).await;
    let huge = format!("{} far-behind", "filler ".repeat(600_000));
    let mut batch = Batch::new();
    batch.push(NewTurn::new("s0", "tool", huge).id("huge").created_at(Timestamp::MIN));
    store.commit(batch).await.unwrap();
    store.reindex().await.unwrap();
    assert_eq!(found(&store, &FindTurns::new("far-behind")).await, ["huge"]);
}

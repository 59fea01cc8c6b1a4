//! The methods that a backend gets for nothing, over one that has only the required ones.

mod support;

use std::{sync::Arc, time::Duration};

use memkeep_core::{
    recall::{Language, Scorer},
    verify::Verify,
    *,
};
use serde_json::json;
use support::PlainStore;

#[tokio::test]
async fn the_traits_work_as_an_object() {
    let store: Arc<dyn MemoryBackend> = Arc::new(PlainStore::default());
    let session = store.start_session(NewSession::new().workspace("w")).await.unwrap();
    for n in 0..30 {
        let turn = NewTurn::new(&session.id, "user", format!("turn {n}"));
        assert_eq!(store.record_turn(turn).await.unwrap().index, n);
    }
    let scope = Scope::from("w");
    let last = store.last_turns(&scope, &session.id, 2).await.unwrap();
    assert_eq!(last.iter().map(|t| t.index).collect::<Vec<_>>(), [28, 29]);
    assert!(store.last_turns(&"v".into(), &session.id, 2).await.is_err());
    let page = store.turns(&ListTurns::new(&session.id)).await.unwrap();
    assert_eq!(page.items.len(), DEFAULT_LIMIT);
    store.end_session(&session.id).await.unwrap();
    let counts = store.delete_session(&session.id).await.unwrap().counts;
    assert_eq!((counts.sessions, counts.turns), (1, 30));
}

#[tokio::test]
async fn recall_ranks_and_filters_before_the_limit() {
    let store = PlainStore::default();
    for n in 0..600 {
        let new = NewEpisode::new(format!("cache eviction policy {n}"), "cache");
        store.done(new.workspace("b"));
    }
    store.done(NewEpisode::new("cache", "first").workspace("a").id("old").open(false));
    store.clock.advance(Duration::from_secs(1));
    store.done(NewEpisode::new("cache", "second").workspace("a").id("new").open(false));
    let ids =
        |hits: &[Hit<Episode>]| hits.iter().map(|h| h.record.id.to_string()).collect::<Vec<_>>();
    for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
        let query = RecallQuery::new("cache eviction").scope("a").k(5_usize).scorer(scorer);
        let hits = store.recall(&query).await.unwrap();
        assert_eq!(ids(&hits), ["new", "old"], "{scorer:?}");
        let until = hits[0].record.created_at;
        assert_eq!(ids(&store.recall(&query.clone().until(until)).await.unwrap()), ["old"]);
        assert_eq!(ids(&store.recall(&query.clone().since(until)).await.unwrap()), ["new"]);
        assert!(store.recall(&query.clone().open(true)).await.unwrap().is_empty());
        assert!(store.recall(&query.k(0_usize)).await.unwrap().is_empty());
    }
    assert_eq!(store.recall(&RecallQuery::new("cache")).await.unwrap().len(), DEFAULT_RECALL);
}

#[tokio::test]
async fn recall_stems_in_the_language_that_the_backend_tells() {
    for (language, is_found) in [(Language::German, true), (Language::English, false)] {
        let store = PlainStore { language, ..PlainStore::default() };
        store.done(NewEpisode::new("zwei alte Häuser", ""));
        for scorer in [Scorer::Bm25, Scorer::Context] {
            let hits = store.recall(&RecallQuery::new("Haus").scorer(scorer)).await.unwrap();
            assert_eq!(!hits.is_empty(), is_found, "{language:?}");
        }
    }
}

#[tokio::test]
async fn turns_are_found_literally_and_newest_first() {
    let store = PlainStore::default();
    store.done(Op::StartSession(NewSession::new().id("s")));
    for (role, content) in [
        ("user", "processed 1000 items"),
        ("user", "coverage 100%"),
        ("tool", "STRASSE 100%"),
        ("user", "Straße a\0b 100%"),
    ] {
        store.clock.advance(Duration::from_secs(1));
        store.done(NewTurn::new("s", role, content));
    }
    // An older clock does not make it the newest.
    store.clock.advance(Duration::ZERO);
    let found = async |find: FindTurns| {
        let turns = store.find_turns(&find).await.unwrap();
        turns.into_iter().map(|t| t.index).collect::<Vec<_>>()
    };
    assert_eq!(found(FindTurns::new("100%")).await, [3, 2, 1]);
    assert_eq!(found(FindTurns::new("100%").limit(1_usize)).await, [3]);
    assert_eq!(found(FindTurns::new("strasse")).await, [3, 2]);
    assert_eq!(found(FindTurns::new("A\0B")).await, [3]);
    assert_eq!(found(FindTurns::new("100%").role("tool".to_owned())).await, [2]);
    assert!(found(FindTurns::new("_")).await.is_empty());
    let error = store.find_turns(&FindTurns::new("")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn pruning_takes_what_is_over_and_nothing_else() {
    let store = PlainStore::default();
    for n in 0..3_000 {
        store.done(Op::StartSession(NewSession::new().id(format!("s{n}"))));
        if n % 2 == 0 {
            store.done(Op::EndSession { session: format!("s{n}").into(), at: None });
        }
    }
    store.done(NewEpisode::new("open", ""));
    store.done(NewEpisode::new("closed", "").open(false));
    store.done(PutState::new("stays", json!(1)));
    store.done(PutState::new("goes", json!(1)).ttl(Duration::from_secs(1)));
    store.done(NewNote::new("a lesson stays"));
    store.apply(Batch::from(NewAudit::new("stays", "allow")).key("k")).unwrap();
    store.clock.advance(RECEIPT_RETENTION + Duration::from_mins(1));
    let before = store.clock.now();
    let pruned = store.prune(&Prune::new(before)).await.unwrap();
    let expected = Counts { sessions: 1_500, episodes: 1, states: 1, ..Counts::default() };
    assert_eq!(pruned, expected);
    assert_eq!(store.prune(&Prune::new(before)).await.unwrap(), Counts::default());
    assert!(store.tables().receipts.is_empty());
    let left = store.stats(&Scope::All).await.unwrap().counts;
    let expected = Counts {
        sessions: 1_500,
        episodes: 1,
        notes: 1,
        states: 1,
        audits: 1,
        ..Counts::default()
    };
    assert_eq!(left, expected);
}

#[tokio::test]
async fn verification_names_what_is_wrong() {
    let store = PlainStore::default();
    store.done(Op::StartSession(NewSession::new().id("s")));
    store.done(NewTurn::new("s", "user", "x").id("t").tokens(3));
    for n in 1..=3 {
        store.done(NewAudit::new("a", "allow").id(format!("a{n}")));
    }
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    {
        let mut tables = store.tables();
        tables.sessions["s"].record.total_tokens = 4;
        tables.turns["t"].record.index = 7;
        tables.audits["a2"].decision = "deny".into();
    }
    let problems = store.verify(&Verify::new()).await.unwrap().problems;
    let locations: Vec<&str> = problems.iter().map(|p| p.location.as_str()).collect();
    assert_eq!(locations, ["audit a2", "session s", "session s"]);
    assert!(problems[0].message.contains("seq 2"));
    let repair = store.verify(&Verify::new().repair(true)).await.unwrap_err();
    assert_eq!(repair.kind(), ErrorKind::Unsupported);
}

//! Rows 33 to 35, 41 and 42, and what the reference systems get wrong: forgetting, and staying whole.

use std::time::Duration;

use memkeep::{
    Batch, Counts, EpisodeRevision, ErrorKind, FindTurns, ListAudit, ListEpisodes, NewAudit,
    NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, Prune, PutState, RecallQuery,
    RecordKind, Scan, Scope, Workspace, recall::Scorer,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::fixture::{Fixture, on_every_backend};

on_every_backend! {
    /// 33.
    async fn a_deleted_session_leaves_nothing(fixture: Fixture) {
        let store = &fixture.store;
        for id in ["gone", "stays"] {
            store.start_session(NewSession::new().id(id)).await.unwrap();
            for n in 0..10 {
                let turn = NewTurn::new(id, "user", format!("needle {n}"));
                let turn = store.record_turn(turn).await.unwrap();
                store.tag_turn(&turn.id, "tag", None).await.unwrap();
                store.record_step(NewStep::new(id, "n", "ok")).await.unwrap();
            }
        }
        let deleted = store.delete_session(&"gone".into()).await.unwrap();
        let counts = Counts { sessions: 1, turns: 10, steps: 10, ..Counts::default() };
        assert_eq!((deleted.existed, deleted.counts), (true, counts));
        assert!(!store.delete_session(&"gone".into()).await.unwrap().existed);
        store.compact().await.unwrap();
        for kind in [RecordKind::Turn, RecordKind::Step] {
            assert_eq!(store.scan(&Scan::new(kind)).await.unwrap().items.len(), 10);
        }
        let find = FindTurns::new("needle").limit(usize::MAX);
        assert_eq!(store.find_turns(&find).await.unwrap().len(), 10);
        for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
            let query = RecallQuery::new("needle").k(usize::MAX).scorer(scorer);
            assert_eq!(store.recall_turns(&query).await.unwrap().len(), 10, "{scorer:?}");
        }
        fixture.verify().await;
    }

    /// 34 and 41.
    async fn pruning_is_bounded_and_repeatable(fixture: Fixture) {
        let store = &fixture.store;
        let mut batch = Batch::new();
        for n in 0..40_000 {
            let id = format!("s{n}");
            batch.push(Op::StartSession(NewSession::new().id(&id[..])));
            batch.push(Op::EndSession { session: id.into(), at: None });
        }
        store.commit(batch).await.unwrap();
        store.start_session(NewSession::new().id("open")).await.unwrap();
        store.add_episode(NewEpisode::new("open", "")).await.unwrap();
        store.add_episode(NewEpisode::new("closed", "").open(false)).await.unwrap();
        store.put_state(PutState::new("k", json!(1)).ttl(Duration::from_secs(1))).await.unwrap();
        fixture.clock.advance(Duration::from_secs(60));
        let prune = Prune::new(memkeep::Clock::now(&*fixture.clock));
        let counts = Counts { sessions: 40_000, episodes: 1, states: 1, ..Counts::default() };
        assert_eq!(store.prune(&prune).await.unwrap(), counts);
        assert_eq!(store.prune(&prune).await.unwrap(), Counts::default());
        assert_eq!(fixture.total().await, 2);
        fixture.verify().await;
    }

    /// 35.
    async fn nothing_drifts(fixture: Fixture) {
        let store = &fixture.store;
        store.add_episode(NewEpisode::new("alpha", "first").id("e")).await.unwrap();
        let revision = EpisodeRevision::new("e").problem("beta");
        store.revise_episode(revision).await.unwrap();
        let found = async |word: &str| {
            let mut ids = Vec::new();
            for scorer in [Scorer::Overlap, Scorer::Bm25] {
                let query = RecallQuery::new(word).scorer(scorer);
                ids.push(store.recall(&query).await.unwrap().len());
            }
            ids
        };
        assert_eq!((found("alpha").await, found("beta").await), (vec![0, 0], vec![1, 1]));
        store.set_episode_open(&"e".into(), false).await.unwrap();
        store.delete_episode(&"e".into()).await.unwrap();
        assert_eq!(found("beta").await, [0, 0]);
        store.add_episode(NewEpisode::new("gamma", "second").id("e")).await.unwrap();
        assert_eq!((found("beta").await, found("gamma").await), (vec![0, 0], vec![1, 1]));

        store.start_session(NewSession::new().id("s")).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", "alpha").id("t")).await.unwrap();
        store.tag_turn(&"t".into(), "one", None).await.unwrap();
        store.untag_turn(&"t".into(), "one").await.unwrap();
        store.tag_turn(&"t".into(), "two", None).await.unwrap();
        store.delete_turn(&"t".into()).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", "beta").id("t")).await.unwrap();
        let turn = store.turn(&Scope::All, &"t".into()).await.unwrap().unwrap();
        assert!(turn.tags.is_empty());
        assert_eq!(turn.index, 1);
        fixture.verify().await;
    }

    /// 42.
    async fn audit_chains_hold(fixture: Fixture) {
        let mut tasks = JoinSet::new();
        for n in 0..16 {
            let store = fixture.second_handle().await;
            tasks.spawn(async move {
                let new = NewAudit::new("act", "allow").detail(json!({"z": n, "a": 0.1, "m": null}));
                store.append_audit(new).await.unwrap().seq
            });
        }
        let mut seqs = tasks.join_all().await;
        seqs.sort_unstable();
        assert_eq!(seqs, (1..=16).collect::<Vec<u64>>());
        fixture.reopen().await;
        fixture.verify().await;
        let log = fixture.store.audit_log(&ListAudit::new()).await.unwrap().items;
        let head = fixture.store.audit_head(&Workspace::default()).await.unwrap();
        assert_eq!(head, log.last().unwrap().head());
        let empty = fixture.store.audit_head(&"elsewhere".into()).await.unwrap();
        assert_eq!(empty.seq, 0);
    }

    /// An unknown id is told, where something was to be changed.
    async fn nothing_is_silent(fixture: Fixture) {
        let store = &fixture.store;
        let errors = [
            store.end_session(&"no".into()).await.err(),
            store.set_summary(&"no".into(), None).await.err(),
            store.set_episode_open(&"no".into(), true).await.err(),
            store.record_turn(NewTurn::new("no", "user", "x")).await.err(),
            store.add_note(NewNote::new("n").sources(vec!["no".into()])).await.err(),
        ];
        for error in errors {
            assert_eq!(error.unwrap().kind(), ErrorKind::NotFound);
        }
        assert_eq!(fixture.total().await, 0);
    }

    /// A closed handle says so.
    async fn closed_is_closed(fixture: Fixture) {
        let store = fixture.store.clone();
        store.close().await.unwrap();
        store.close().await.unwrap();
        let error = store.add_note(NewNote::new("n")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        let error = store.episodes(&ListEpisodes::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    }

    /// The feed tells this handle's commits, in order, and says what a slow subscriber missed.
    async fn the_feed_tells_commits_in_order(fixture: Fixture) {
        use memkeep::Event;

        let store = &fixture.store;
        let mut feed = store.subscribe().unwrap();
        for n in 0..3 {
            store.add_note(NewNote::new("n").id(format!("n{n}"))).await.unwrap();
        }
        for n in 0..3 {
            let Some(Event::Committed(receipt)) = feed.next().await else { panic!("an event") };
            let note = receipt.outcomes[0].clone().into_note().unwrap();
            assert_eq!(note.id.as_str(), format!("n{n}"));
        }
        for _ in 0..3_000 {
            store.add_note(NewNote::new("n")).await.unwrap();
        }
        let Some(Event::Missed(missed)) = feed.next().await else { panic!("some were missed") };
        let mut told = 0;
        store.close().await.unwrap();
        while let Some(event) = feed.next().await {
            assert!(matches!(event, Event::Committed(_)));
            told += 1;
        }
        assert_eq!(missed + told, 3_000);
    }
}

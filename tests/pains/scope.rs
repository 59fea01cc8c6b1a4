//! Rows 10 and 11: what belongs to whom.

use memkeep::{
    Batch, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates, ListTurns,
    NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, PutState, RecallQuery,
    RecordKind, Scan, Scope, Workspace,
};
use serde_json::json;

use crate::fixture::{Fixture, on_every_backend};

async fn furnish(fixture: &Fixture, workspace: &str) {
    let id = |what: &str| format!("{workspace}/{what}");
    let batch = Batch::new()
        .with(Op::StartSession(NewSession::new().id(id("s")).workspace(workspace)))
        .with(NewTurn::new(id("s"), "user", "the shared secret").id(id("t")))
        .with(NewStep::new(id("s"), "look", "ok").id(id("p")))
        .with(NewEpisode::new("the shared secret", "").id(id("e")).workspace(workspace))
        .with(NewNote::new("the shared secret").id(id("n")).workspace(workspace))
        .with(PutState::new("key", json!("secret")).workspace(workspace))
        .with(NewAudit::new("act", "allow").id(id("a")).workspace(workspace));
    fixture.store.commit(batch).await.unwrap();
}

on_every_backend! {
    /// 10.
    async fn a_prefix_does_not_reach_its_sibling(fixture: Fixture) {
        let names = ["acme", "acme-corp", "acme\0", "", "ACME", "acme/"];
        for name in names {
            furnish(&fixture, name).await;
        }
        let store = &fixture.store;
        for name in names {
            let scope = Scope::from(name);
            let of = |workspaces: Vec<Workspace>| {
                assert_eq!(workspaces, [Workspace::from(name)], "{name:?}");
            };
            let sessions = store.sessions(&ListSessions::new().scope(scope.clone())).await.unwrap();
            of(sessions.items.into_iter().map(|r| r.workspace).collect());
            let episodes = store.episodes(&ListEpisodes::new().scope(scope.clone())).await.unwrap();
            of(episodes.items.into_iter().map(|r| r.workspace).collect());
            let notes = store.notes(&ListNotes::new().scope(scope.clone())).await.unwrap();
            of(notes.items.into_iter().map(|r| r.workspace).collect());
            let states = store.states(&ListStates::new().scope(scope.clone())).await.unwrap();
            of(states.items.into_iter().map(|r| r.workspace).collect());
            let audit = store.audit_log(&ListAudit::new().scope(scope.clone())).await.unwrap();
            of(audit.items.into_iter().map(|r| r.workspace).collect());
            for kind in RecordKind::ALL {
                let page = store.scan(&Scan::new(kind).scope(scope.clone())).await.unwrap();
                of(page.items.iter().map(|r| r.workspace().clone()).collect());
            }
            let query = RecallQuery::new("secret").scope(scope.clone()).k(99_usize);
            let hits = store.recall(&query).await.unwrap();
            of(hits.into_iter().map(|h| h.record.workspace).collect());
            let hits = store.recall_turns(&query).await.unwrap();
            of(hits.into_iter().map(|h| h.record.workspace).collect());
            let find = FindTurns::new("secret").scope(scope.clone());
            let turns = store.find_turns(&find).await.unwrap();
            of(turns.into_iter().map(|r| r.workspace).collect());
        }
        // By id, too, another's record is not there.
        let acme = Scope::from("acme");
        assert!(store.session(&acme, &"acme-corp/s".into()).await.unwrap().is_none());
        assert!(store.turn(&acme, &"acme-corp/t".into()).await.unwrap().is_none());
        assert!(store.episode(&acme, &"acme-corp/e".into()).await.unwrap().is_none());
        assert!(store.note(&acme, &"acme-corp/n".into()).await.unwrap().is_none());
        let turns = ListTurns::new("acme-corp/s").scope(acme);
        assert!(store.turns(&turns).await.is_err());

        let forget = Op::ForgetWorkspace { workspace: "acme".into() };
        let gone = store.commit_one(forget).await.unwrap().into_deleted().unwrap();
        assert_eq!(gone.counts.total(), 7);
        assert_eq!(fixture.total().await, 35);
        fixture.verify().await;
    }

    /// 11.
    async fn names_are_data(fixture: Fixture) {
        let store = &fixture.store;
        store.start_session(NewSession::new().id("s")).await.unwrap();
        let tags = ["x') OR 1=1--", "a.b", "a\"b", "a", "", "a\0b"];
        for tag in tags {
            let turn = store.record_turn(NewTurn::new("s", "user", "same words")).await.unwrap();
            store.tag_turn(&turn.id, tag, Some("'".to_owned())).await.unwrap();
        }
        for tag in tags {
            let query = RecallQuery::new("same words").tag(tag.to_owned()).k(99_usize);
            let hits = store.recall_turns(&query).await.unwrap();
            assert_eq!(hits.len(), 1, "{tag:?}");
            assert_eq!(hits[0].record.tags[tag].as_deref(), Some("'"));
        }
        let query = RecallQuery::new("same words").tag("' OR ''='".to_owned());
        assert!(store.recall_turns(&query).await.unwrap().is_empty());
    }
}

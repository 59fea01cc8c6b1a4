//! Every op through the public interface, and every read of what it left.

use std::collections::BTreeMap;

use memkeep_core::{
    AuditId, Backend, Batch, Cursor, DeleteState, EpisodeId, EpisodeRevision, EpisodicBackend,
    ErrorKind, Expected, FindTurns, Json, ListAudit, ListEpisodes, ListNotes, ListSessions,
    ListStates, ListSteps, ListTurns, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn,
    Op, Outcome, Page, PutState, RecordKind, ReflectiveStore, Scan, Scope, SessionId, SessionOrder,
    SessionStore, Timestamp, Workspace, WorkspaceCounts, verify::Verify,
};
use memkeep_sqlite::{SqliteBackend, SqliteConfig};
use serde_json::json;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

fn map(value: Json) -> memkeep_core::Metadata {
    let Json::Object(map) = value else { panic!("{value} is no object") };
    map
}

/// A store in a file and one in memory, since they read over different connections.
async fn both() -> (tempfile::TempDir, Vec<SqliteBackend>) {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteConfig::new(folder.path().join("deep/er/agent.db")).open().await.unwrap();
    let memory = SqliteConfig::memory().open().await.unwrap();
    (folder, vec![file, memory])
}

/// Reads a listing page by page, `limit` rows each.
macro_rules! pages {
    ($store:expr, $list:ident, $query:expr, $limit:expr) => {{
        let mut query = $query.limit($limit);
        let mut all = Vec::new();
        loop {
            let Page { items, next } = $store.$list(&query).await.unwrap();
            assert!(items.len() <= $limit);
            all.extend(items);
            match next {
                // Through text, as callers may send it round the world.
                Some(next) => {
                    query.after = Some(next.to_string().parse::<Cursor>().unwrap());
                }
                None => break all,
            }
        }
    }};
}

#[tokio::test]
async fn sessions_turns_and_steps() {
    let (_folder, stores) = both().await;
    for store in stores {
        let text = "a\0b\u{1}\u{10ffff}";
        let new = NewSession::new()
            .id("s\0")
            .workspace("w\0")
            .started_at(at(-5))
            .model(text)
            .mode("")
            .metadata(map(
                json!({"k\u{0}": ["\u{0}", 2_512_292_042_121_000_001_u64, u64::MAX, 0.1]}),
            ));
        let started = store.start_session(new.clone()).await.unwrap();
        let read = store.session(&Scope::All, &started.id).await.unwrap().unwrap();
        assert_eq!(read, started);
        assert_eq!(store.start_session(new).await.unwrap(), started);

        let nuls = "\0".repeat(10_291);
        let tags =
            BTreeMap::from([("a\0b".to_owned(), Some("v\0".to_owned())), (String::new(), None)]);
        let first = store
            .record_turn(
                NewTurn::new("s\0", "user", nuls.as_str())
                    .tokens(-3)
                    .model("m")
                    .embedding_id("e")
                    .metadata(map(json!({"x": null})))
                    .tags(tags.clone()),
            )
            .await
            .unwrap();
        assert_eq!((first.index, &first.tags), (0, &tags));
        let second = store.record_turn(NewTurn::new("s\0", "assistant", text)).await.unwrap();
        let scoped = Scope::from("w\0");
        assert_eq!(store.turn(&scoped, &first.id).await.unwrap().as_ref(), Some(&first));
        assert_eq!(store.turn(&Scope::from("w"), &first.id).await.unwrap(), None);

        let tagged = store.tag_turn(&second.id, "x') OR 1=1--", None).await.unwrap();
        assert_eq!(store.turn(&Scope::All, &second.id).await.unwrap().unwrap(), tagged);
        let untagged = store.untag_turn(&first.id, "a\0b").await.unwrap();
        let embedded = store.set_embedding(&first.id, None).await.unwrap();
        assert_eq!(untagged.tags.len(), 1);
        assert_eq!(store.turn(&Scope::All, &first.id).await.unwrap().unwrap(), embedded);

        let step = store
            .record_step(NewStep::new("s\0", "plan", "ok\0").payload(json!([{"a": 1.5e300}])))
            .await
            .unwrap();
        assert_eq!(store.step(&scoped, &step.id).await.unwrap(), Some(step.clone()));
        let steps = store.steps(&ListSteps::new("s\0")).await.unwrap();
        assert_eq!(steps, Page::last(vec![step]));

        let turns = store.turns(&ListTurns::new("s\0").scope("w\0")).await.unwrap().items;
        assert_eq!(turns, [embedded, tagged.clone()]);
        let listed = store.sessions(&ListSessions::new()).await.unwrap().items;
        assert_eq!(listed[0].first_prompt.as_deref(), Some(&nuls[..256]));
        assert_eq!(
            (listed[0].turn_count, listed[0].total_tokens, listed[0].step_count),
            (2, -3, 1)
        );

        let deleted = store.delete_turn(&first.id).await.unwrap();
        assert!(deleted.existed);
        let third = store.record_turn(NewTurn::new("s\0", "user", "é".repeat(300))).await.unwrap();
        assert_eq!(third.index, 2);
        let session = store.session(&scoped, &started.id).await.unwrap().unwrap();
        assert_eq!(session.first_prompt, Some("é".repeat(256)));

        let ended = store.end_session(&started.id).await.unwrap();
        assert!(ended.ended_at.is_some());
        let refused = store.record_turn(NewTurn::new("s\0", "user", "")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Conflict);
        store.resume_session(&started.id).await.unwrap();
        let summed = store.set_summary(&started.id, Some(text.to_owned())).await.unwrap();
        let read = store.session(&Scope::All, &started.id).await.unwrap().unwrap();
        assert_eq!((read.summary, read.ended_at), (summed.summary, None));

        let foreign = Scope::from("elsewhere");
        for id in [SessionId::new("s\0"), SessionId::new("none")] {
            let list = ListTurns::new(&id).scope(foreign.clone()).limit(0_usize);
            assert_eq!(store.turns(&list).await.unwrap_err().kind(), ErrorKind::NotFound);
            let list = ListSteps::new(&id).scope(foreign.clone());
            assert_eq!(store.steps(&list).await.unwrap_err().kind(), ErrorKind::NotFound);
        }
        let found = store.find_turns(&FindTurns::new("\0b")).await.unwrap();
        assert_eq!(found, [tagged]);

        let verified = store.verify(&Verify::new()).await.unwrap();
        assert_eq!(verified.problems, []);
        let deleted = store.delete_session(&started.id).await.unwrap();
        assert_eq!((deleted.counts.turns, deleted.counts.steps), (2, 1));
        assert_eq!(store.workspaces().await.unwrap(), []);
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn episodes_and_notes() {
    let (_folder, stores) = both().await;
    for store in stores {
        let mut episodes = Vec::new();
        for n in 0..5 {
            let new = NewEpisode::new(format!("problem {n}"), "summary")
                .id(format!("e{n}"))
                .created_at(at(if n == 4 { 1 } else { 7 }))
                .open(n % 2 == 0)
                .metadata(map(json!({"n": n})));
            episodes.push(store.add_episode(new).await.unwrap());
        }
        episodes.rotate_right(1);
        for limit in [1, 2, 5, usize::MAX] {
            assert_eq!(pages!(store, episodes, ListEpisodes::new(), limit), episodes);
            for scope in [Scope::All, Scope::from("default")] {
                let list = ListEpisodes::new().open(true).scope(scope);
                let open = pages!(store, episodes, list, limit);
                assert_eq!(
                    open.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(),
                    ["e4", "e0", "e2"]
                );
            }
        }
        assert!(store.episodes(&ListEpisodes::new().limit(0_usize)).await.unwrap().next.is_none());
        let foreign = ListNotes::new().window().unwrap();
        let foreign = foreign.cursor(memkeep_core::Position::Time(Timestamp::default(), 1));
        let refused = store.episodes(&ListEpisodes::new().after(foreign)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);

        let id = EpisodeId::new("e0");
        let revised =
            store.revise_episode(EpisodeRevision::new("e0").summary("new")).await.unwrap();
        let closed = store.set_episode_open(&id, false).await.unwrap();
        assert_eq!((revised.summary.as_str(), closed.open), ("new", false));
        assert_eq!(store.episode(&Scope::All, &id).await.unwrap(), Some(closed));

        let sources = vec![EpisodeId::new("e0"), EpisodeId::new("e4")];
        let note = store.add_note(NewNote::new("a lesson").sources(sources)).await.unwrap();
        assert_eq!(store.note(&Scope::All, &note.id).await.unwrap(), Some(note.clone()));
        assert!(store.delete_episode(&id).await.unwrap().existed);
        assert_eq!(
            store.notes(&ListNotes::new()).await.unwrap().items,
            std::slice::from_ref(&note)
        );
        assert!(store.delete_note(&note.id).await.unwrap().existed);
        assert_eq!(store.note(&Scope::All, &note.id).await.unwrap(), None);
    }
}

#[tokio::test]
async fn states_by_key_bytes() {
    let (_folder, stores) = both().await;
    for store in stores {
        let keys = ["", "a", "a\0b", "a_b", "a_c", "axb", "é", "\u{10ffff}"];
        for workspace in ["", "acme", "acme-corp"] {
            for key in keys {
                let put = PutState::new(key, json!({"k": key})).workspace(workspace);
                store.put_state(put).await.unwrap();
            }
            let gone = PutState::new("a_gone", 1).workspace(workspace).ttl_ms(0_u64);
            store.put_state(gone).await.unwrap();
            store.put_state(PutState::new("a_x", 1).workspace(workspace)).await.unwrap();
            store.delete_state(DeleteState::new("a_x").workspace(workspace)).await.unwrap();
        }
        for limit in [1, 2, 3, usize::MAX] {
            let all = pages!(store, states, ListStates::new(), limit);
            let names = all.iter().map(|e| (e.workspace.as_str(), e.key.as_str()));
            let expected = ["", "acme", "acme-corp"].into_iter().flat_map(|w| keys.map(|k| (w, k)));
            assert!(names.eq(expected));
            let some = pages!(store, states, ListStates::new().scope("acme").prefix("a_"), limit);
            assert_eq!(some.iter().map(|e| e.key.as_str()).collect::<Vec<_>>(), ["a_b", "a_c"]);
            let some = pages!(store, states, ListStates::new().prefix("a_"), limit);
            assert_eq!(some.len(), 6);
            let last = pages!(store, states, ListStates::new().prefix("\u{10ffff}"), limit);
            assert_eq!(last.len(), 3);
        }
        let workspace = Workspace::new("acme");
        let again = PutState::new("a_x", u64::MAX).workspace("acme").expected(Expected::Absent);
        let again = store.put_state(again).await.unwrap();
        assert_eq!(again.version, 2);
        assert_eq!(store.state(&workspace, "a_x").await.unwrap(), Some(again));
        let stale = PutState::new("a_x", 0).workspace("acme").expected(Expected::Version(1));
        assert_eq!(store.put_state(stale).await.unwrap_err().kind(), ErrorKind::Conflict);
        assert_eq!(store.state(&workspace, "a_gone").await.unwrap(), None);
    }
}

#[tokio::test]
async fn audit_by_seq() {
    let (_folder, stores) = both().await;
    for store in stores {
        for n in 0..3 {
            for workspace in ["b", "a"] {
                let new = NewAudit::new("act", "allow").workspace(workspace).detail(json!([n]));
                store.append_audit(new).await.unwrap();
            }
        }
        for limit in [1, 2, usize::MAX] {
            let all = pages!(store, audit_log, ListAudit::new(), limit);
            let names: Vec<_> = all.iter().map(|r| (r.workspace.as_str(), r.seq)).collect();
            assert_eq!(names, [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("b", 3)]);
            let one = pages!(store, audit_log, ListAudit::new().scope("b"), limit);
            assert_eq!(one, all[3..]);
            assert_eq!(store.audit_head(&"b".into()).await.unwrap(), one[2].head());
        }
        assert_eq!(store.audit_head(&"none".into()).await.unwrap().seq, 0);
        assert_eq!(store.verify(&Verify::new()).await.unwrap().problems, []);
    }
}

#[tokio::test]
async fn newest_first_with_ties_by_insertion() {
    let (_folder, stores) = both().await;
    for store in stores {
        let started = [5, 9, 5, 1, 9, 5];
        for (n, time) in started.into_iter().enumerate() {
            let new = NewSession::new()
                .id(format!("s{n}"))
                .started_at(at(time))
                .workspace(if n == 3 { "other" } else { "default" });
            store.start_session(new).await.unwrap();
            let turn = NewTurn::new(format!("s{n}"), "user", "needle").created_at(at(100 - time));
            store.record_turn(turn).await.unwrap();
        }
        for limit in [1, 2, 4, usize::MAX] {
            let ids = |all: Vec<memkeep_core::Session>| {
                all.into_iter().map(|s| s.id.to_string()).collect::<Vec<_>>()
            };
            let by_start = ids(pages!(store, sessions, ListSessions::new(), limit));
            assert_eq!(by_start, ["s1", "s4", "s0", "s2", "s5", "s3"]);
            let list = ListSessions::new().order(SessionOrder::Active);
            let by_activity = ids(pages!(store, sessions, list.clone(), limit));
            assert_eq!(by_activity, ["s3", "s0", "s2", "s5", "s1", "s4"]);
            let scoped = ids(pages!(store, sessions, list.scope("default"), limit));
            assert_eq!(scoped, ["s0", "s2", "s5", "s1", "s4"]);
        }
        let found = store.find_turns(&FindTurns::new("NEEDLE")).await.unwrap();
        let found: Vec<_> = found.iter().map(|t| t.session.as_str()).collect();
        assert_eq!(found, ["s3", "s0", "s2", "s5", "s1", "s4"]);

        for n in 1..10 {
            store.record_turn(NewTurn::new("s0", "user", n.to_string())).await.unwrap();
        }
        for limit in [1, 3, 10, usize::MAX] {
            let up = pages!(store, turns, ListTurns::new("s0"), limit);
            assert!(up.iter().map(|t| t.index).eq(0..10));
            let down = pages!(store, turns, ListTurns::new("s0").newest_first(true), limit);
            assert!(down.iter().eq(up.iter().rev()));
            for kind in RecordKind::ALL {
                let scanned = pages!(store, scan, Scan::new(kind).scope("default"), limit);
                assert!(scanned.iter().all(|r| r.kind() == kind));
            }
        }
        let last = store.last_turns(&Scope::All, &"s0".into(), 2).await.unwrap();
        assert!(last.iter().map(|t| t.index).eq(8..10));
    }
}

/// A batch that fills a workspace, forgets it and fills it again; under a key, so that it can be
/// replayed.
#[tokio::test]
async fn batches_and_whole_workspaces() {
    let (_folder, stores) = both().await;
    for store in stores {
        let fill = |name: &str| {
            [
                Op::StartSession(NewSession::new().id(format!("{name}-s")).workspace(name)),
                NewTurn::new(format!("{name}-s"), "user", "hello").id(format!("{name}-t")).into(),
                NewStep::new(format!("{name}-s"), "plan", "ok").id(format!("{name}-st")).into(),
                NewEpisode::new("p", "s").id(format!("{name}-e")).workspace(name).into(),
                NewNote::new("n").id(format!("{name}-n")).workspace(name).into(),
                PutState::new("k", 1).workspace(name).into(),
                NewAudit::new("a", "d")
                    .id(AuditId::new(format!("{name}-a")))
                    .workspace(name)
                    .into(),
            ]
        };
        store.commit(fill("kept").into_iter().collect()).await.unwrap();
        let forget = Op::ForgetWorkspace { workspace: "w".into() };
        let ops = fill("w").into_iter().chain([forget]).chain(fill("w"));
        let batch = ops.collect::<Batch>().key("k");
        let receipt = store.commit(batch.clone()).await.unwrap();
        let Outcome::Deleted(deleted) = receipt.outcomes[7] else { panic!() };
        assert_eq!((deleted.existed, deleted.counts.total()), (true, 7));
        assert_eq!(store.commit(batch).await.unwrap().outcomes.len(), 15);
        let counts = store.workspaces().await.unwrap();
        let names = counts
            .iter()
            .map(|WorkspaceCounts { workspace, counts }| (workspace.as_str(), counts.total()));
        assert!(names.eq([("kept", 7), ("w", 7)]));
        let forgotten = store
            .commit_one(Op::ForgetWorkspace { workspace: "w".into() })
            .await
            .unwrap()
            .into_deleted()
            .unwrap();
        assert_eq!(forgotten.counts.total(), 7);
        assert_eq!(store.workspaces().await.unwrap().len(), 1);
        assert_eq!(store.verify(&Verify::new().repair(true)).await.unwrap().problems, []);
    }
}

/// What one store holds, another takes back as it is.
#[tokio::test]
async fn records_are_restored_as_they_were() {
    let (_folder, stores) = both().await;
    let [from, to] = &stores[..] else { panic!() };
    from.start_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..3 {
        let turn = NewTurn::new("s", "user", n.to_string()).id(format!("t{n}")).tokens(n);
        from.record_turn(turn).await.unwrap();
        from.append_audit(NewAudit::new("a", "d")).await.unwrap();
    }
    from.delete_turn(&"t1".into()).await.unwrap();
    from.tag_turn(&"t2".into(), "t", Some("v".to_owned())).await.unwrap();
    from.record_step(NewStep::new("s", "n", "ok")).await.unwrap();
    from.put_state(PutState::new("k", json!(null))).await.unwrap();
    from.delete_state(DeleteState::new("k")).await.unwrap();
    from.add_episode(NewEpisode::new("p", "s").open(false)).await.unwrap();
    for _ in 0..2 {
        for kind in RecordKind::ALL {
            let records = from.scan(&Scan::new(kind)).await.unwrap().items;
            to.commit(records.into_iter().map(Op::from).collect()).await.unwrap();
        }
    }
    for kind in RecordKind::ALL {
        let scan = Scan::new(kind);
        assert_eq!(from.scan(&scan).await.unwrap().items, to.scan(&scan).await.unwrap().items);
    }
}

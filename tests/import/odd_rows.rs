//! Rows that hold what they should not: each is stored, repaired or skipped, and told of; none hides
//! another.

use std::fmt::Write as _;

use memkeep::{
    ImportAction, ImportOptions, ImportReport, Json, ListEpisodes, ListNotes, ListSessions,
    ListSteps, ListTurns, Scope, Timestamp, Workspace,
};
use serde_json::json;

use crate::support::{
    Source, Store, dump, import_all, import_with, imports_again, of_action, on_every_backend,
};

const EPOCH: &str = "1970-01-01T00:00:00.000000Z";

fn reasons(report: &ImportReport, action: ImportAction, table: &str, rowid: i64) -> Vec<String> {
    of_action(report, action)
        .into_iter()
        .filter(|issue| issue.table == table && issue.rowid == rowid)
        .map(|issue| issue.reason.clone())
        .collect()
}

async fn state(store: &Store, key: &str) -> Option<Json> {
    store.state(&Workspace::default(), key).await.unwrap().map(|state| state.value)
}

on_every_backend! {
    async fn sessions_of_any_content(store: Store) {
        let source = Source::velune();
        source.run(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES
                ('good', '/w', 1000.5), ('inf', '/w', 9e999), ('huge', '/w', 1e300),
                ('negative', '/w', -5.25), ('null', '/w', NULL), ('text', '/w', 'soon'),
                ('rfc', '/w', '2026-01-01T00:00:00Z'), (NULL, '/w', 1), ('', '/w', 2),
                (X'62', NULL, 3), (CAST(X'ff41' AS TEXT), CAST(X'2fff' AS TEXT), 4);
             INSERT INTO sessions VALUES ('end', '', 7, 'never', NULL, 5, NULL, X'cafe');
             INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                ('t1', '', 0, 'user', 'of the empty id', 1),
                ('t2', CAST(X'ff41' AS TEXT), 0, 'user', 'of the broken id', 1);",
        );
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.sessions.stored, report.counts.turns.stored), (12, 2));
        assert_eq!((report.counts.sessions.repaired, report.counts.total().skipped), (10, 0));

        let sessions = store.sessions(&ListSessions::new().limit(usize::MAX)).await.unwrap().items;
        let named = |id: &str| sessions.iter().find(|s| s.id.as_str() == id).unwrap();
        let started = |id: &str| named(id).started_at.to_string();
        assert_eq!(named("good").started_at, Timestamp::from_micros(1_000_500_000).unwrap());
        for id in ["inf", "huge", "null", "text"] {
            assert_eq!(started(id), EPOCH, "{id}");
        }
        assert_eq!(started("negative"), "1969-12-31T23:59:54.750000Z");
        assert_eq!(started("rfc"), "2026-01-01T00:00:00.000000Z");
        assert_eq!(named("b").workspace.as_str(), "");
        assert_eq!(named("%FFA").workspace.as_str(), "/\u{fffd}");
        let end = named("end");
        assert_eq!((end.ended_at, end.mode.as_deref()), (Some(end.started_at), Some("5")));
        assert_eq!(end.summary.as_deref(), Some("\u{fffd}\u{fffd}"));

        let made: Vec<_> = sessions.iter().filter(|s| s.id.as_str().starts_with("ses-")).collect();
        assert_eq!(made.len(), 2);
        assert_eq!(made.iter().map(|session| session.turn_count).sum::<u64>(), 1);
        assert_eq!(named("%FFA").turn_count, 1);
        assert_eq!(reasons(&report, ImportAction::Repaired, "sessions", 8).len(), 1);
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn turns_of_any_content(store: Store) {
        let source = Source::velune();
        source.run(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES ('s', '/w', 1000);
             INSERT INTO turns(id, session_id, turn_index, role, content, tokens_used, created_at) VALUES
                ('a', 's', 0, 'user', 'good', 7, 1001),
                ('b', 's', 1, NULL, NULL, NULL, 1002),
                ('c', 's', 1, 'user', X'c3a9', 1.5, 1003),
                ('d', 's', 3, 'user', CAST(X'61ff62' AS TEXT), 'many', 'later'),
                (NULL, 's', NULL, X'75', 12, '9223372036854775808', 9e999),
                ('f', 's', 'x', 'user', 'a' || char(0) || 'b', 9223372036854775807, 1006),
                ('g', 's', 6, 'user', 'last', -5, 1007);
             INSERT INTO memory_tags VALUES ('a', 'plain', NULL), ('a', X'74', X'ff'),
                (NULL, 'lost', 'x'), ('nobody', 'lost', 'y'), ('g', 'g', 3);",
        );
        let report = import_all(&store, &source.path).await;
        let counts = report.counts;
        assert_eq!((counts.turns.stored, counts.turns.skipped), (7, 0));
        assert_eq!((counts.tags.stored, counts.tags.skipped), (3, 2));
        let turns = store.turns(&ListTurns::new("s")).await.unwrap().items;
        let texts: Vec<_> = turns.iter().map(|turn| turn.content.as_str()).collect();
        assert_eq!(texts, ["good", "", "é", "a\u{fffd}b", "12", "a\0b", "last"]);
        let tokens: Vec<_> = turns.iter().map(|turn| turn.tokens).collect();
        // The sum of the sixth and the first exceeds 64 bits.
        assert_eq!(tokens, [Some(7), None, None, None, None, None, Some(-5)]);
        assert_eq!(turns.iter().map(|turn| turn.index).collect::<Vec<_>>(), (0..7).collect::<Vec<_>>());
        let session = store.session(&Scope::All, &"s".into()).await.unwrap().unwrap();
        assert_eq!(session.total_tokens, 2);
        // A time that is none becomes that of the session's start.
        assert_eq!(turns[3].created_at, session.started_at);
        assert_eq!(turns[4].created_at, session.started_at);
        assert!(turns[4].id.as_str().starts_with("trn-"));
        assert_eq!(json!(turns[0].tags), json!({ "plain": null, "t": "\u{fffd}" }));
        assert_eq!(json!(turns[6].tags), json!({ "g": "3" }));
        let index = &reasons(&report, ImportAction::Repaired, "turns", 3)[0];
        assert_eq!(index, "turn_index is 1: by its place in the session it is 2");
        assert_eq!(reasons(&report, ImportAction::Repaired, "turns", 1).len(), 0);
        let second = import_all(&store, &source.path).await.counts.total();
        assert_eq!((second.stored, second.already_there, second.skipped), (0, 11, 2));
    }

    async fn totals_that_are_not_the_sum_are_told_of(store: Store) {
        let source = Source::velune();
        source.run(
            "INSERT INTO sessions VALUES ('right', '/w', 1, 2, NULL, NULL, 7, NULL),
                ('wrong', '/w', 1, 2, NULL, NULL, 4295, NULL), ('open', '/w', 1, NULL, NULL, NULL, 0, NULL),
                ('none', '/w', 1, 2, NULL, NULL, NULL, NULL), ('bare', '/w', 1, 2, NULL, NULL, 'x', NULL);
             INSERT INTO turns(id, session_id, turn_index, role, content, tokens_used, created_at)
                SELECT id, id, 0, 'user', '', iif(id = 'right', 7, 5072), 1 FROM sessions WHERE id != 'bare'",
        );
        let report = import_all(&store, &source.path).await;
        let repaired: Vec<_> = of_action(&report, ImportAction::Repaired)
            .into_iter()
            .map(|issue| (issue.id.as_deref().unwrap(), issue.reason.as_str()))
            .collect();
        let should = [
            ("wrong", "total_tokens 4295, its turns make 5072"),
            ("bare", "total_tokens x, its turns make 0"),
        ];
        assert_eq!((repaired, report.counts.sessions.repaired), (should.to_vec(), 2));
        let session = store.session(&Scope::All, &"wrong".into()).await.unwrap().unwrap();
        assert_eq!(session.total_tokens, 5072);
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn reasons_show_long_values_cut(store: Store) {
        let source = Source::velune();
        let long = "9".repeat(5_000);
        source.run(&format!(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES ('s', '/w', 1e300), ('l', '/w', '{long}');
             INSERT INTO turns(id, session_id, turn_index, role, content, tokens_used, created_at) VALUES
                ('a', 's', 0, 'user', '', 1e300, '{long}');"
        ));
        let muse = Source::muse();
        muse.run(&format!(
            "INSERT INTO episodes VALUES ('e', 'p', 's', '{long}', 1), ('f', 'p', 's', 1e300, 1);
             INSERT INTO notes VALUES (1, '', '[[{}1]]', 1); INSERT INTO state VALUES ('k', '-{long}');",
            "1, ".repeat(2_000)
        ));
        for source in [&source, &muse] {
            let report = import_all(&store, &source.path).await;
            assert!(report.issues.len() >= 4);
            for issue in report.issues {
                assert!(issue.reason.len() < 200, "{}", issue.reason);
            }
        }
    }

    async fn json_of_any_content(store: Store) {
        let source = Source::muse();
        let deep = format!("{}{}", "[".repeat(101), "]".repeat(101));
        source.run(&format!(
            r#"INSERT INTO state VALUES ('good', '{{"a": [1, 0.1]}}'), ('broken', '{{"a": '),
                ('nan', '[NaN, Infinity, -Infinity]'), ('big', '[1180591620717411303424]'),
                ('lone', '"\ud83d"'), ('twice', '{{"a": 1, "a": 2}}'), ('null', NULL),
                ('blob', X'31'), ('deep', '{deep}'), ('utf8', CAST(X'22ff22' AS TEXT)),
                ('empty', ''), ('number', 5), (NULL, '1'), ('u64', '18446744073709551615');
            INSERT INTO audit VALUES (1, 5, 'a', NULL, '[]'), (2, NULL, NULL, 'd', 'nope');"#
        ));
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.states.stored, report.counts.audits.stored), (14, 2));
        assert_eq!((report.counts.states.repaired, report.counts.total().skipped), (10, 0));
        let should = [
            ("good", json!({ "a": [1, 0.1] })),
            ("broken", json!("{\"a\": ")),
            ("nan", json!(["NaN", "Infinity", "-Infinity"])),
            ("big", json!(["1180591620717411303424"])),
            ("lone", json!("\u{fffd}")),
            ("twice", json!({ "a": 2 })),
            ("null", json!(null)),
            ("blob", json!(1)),
            ("deep", json!(deep)),
            ("utf8", json!("\u{fffd}")),
            ("empty", json!("")),
            ("number", json!(5)),
            ("", json!(1)),
            ("u64", json!(u64::MAX)),
        ];
        for (key, value) in should {
            assert_eq!(state(&store, key).await, Some(value), "{key}");
        }
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn episodes_and_notes_of_any_content(store: Store) {
        let source = Source::muse();
        source.run(
            r#"INSERT INTO episodes VALUES ('a', 'p', 's', 1, 10), ('b', NULL, X'ff', 2, -9e999),
                ('c', 'p', 's', 'yes', 'x'), ('d', 'p', 's', NULL, 40), (NULL, 'p', 's', 0, 50);
            INSERT INTO notes VALUES (1, 'n', '["a", "gone"]', 10), (2, NULL, 'a', NULL),
                (3, 'n', '{"a": 1}', 30), (4, 'n', '[1, "", null, "d"]', 40), (5, 'n', NULL, 50);"#,
        );
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.episodes.stored, report.counts.notes.stored), (5, 5));
        assert_eq!((report.counts.episodes.repaired, report.counts.notes.repaired), (4, 4));
        let episodes = store.episodes(&ListEpisodes::new()).await.unwrap().items;
        let open: Vec<_> = episodes.iter().map(|episode| episode.open).collect();
        assert_eq!(open, [true, true, true, false, false]);
        assert!(episodes[4].id.as_str().starts_with("ep-"));
        let notes = store.notes(&ListNotes::new()).await.unwrap().items;
        let sources: Vec<_> = notes.iter().map(|note| json!(note.sources)).collect();
        let should =
            [json!(["a"]), json!(["a", "gone"]), json!([r#"{"a":1}"#]), json!(["1", "null", "d"]), json!([])];
        assert_eq!(sources, should);
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn tier_1_rows_of_any_content(store: Store) {
        let source = Source::tier1();
        source.run(
            r#"INSERT INTO conversation_turns VALUES (1, 's', 'user', 'good', 20, '{"a": 1}'),
                (2, 's', 'user', 'a list', 10, '[NaN]'), (3, 's', 'user', 'none', 9e999, NULL),
                (4, NULL, NULL, 'nobody''s', 5, 'nope');
            INSERT INTO execution_steps VALUES (1, 's', 'run', 'ok', '[1]', 15),
                (2, 's', NULL, X'ff', 'nope', NULL);"#,
        );
        let report = import_all(&store, &source.path).await;
        let counts = report.counts;
        let stored = (counts.sessions.stored, counts.turns.stored, counts.steps.stored);
        assert_eq!((stored, counts.total().skipped), ((2, 4, 2), 0));
        let turns = store.turns(&ListTurns::new("tier1:s")).await.unwrap().items;
        let metadata: Vec<_> = turns.iter().map(|turn| json!(turn.metadata)).collect();
        assert_eq!(
            metadata,
            [json!({ "a": 1 }), json!({ "imported": { "metadata": ["NaN"] } }), json!({})]
        );
        let steps = store.steps(&ListSteps::new("tier1:s")).await.unwrap().items;
        let steps: Vec<_> = steps.iter().map(|s| json!([s.name, s.status, s.payload])).collect();
        assert_eq!(steps, [json!(["run", "ok", [1]]), json!(["", "\u{fffd}", "nope"])]);
        // Begun at the earlier of the first turn and the first step, ended at the latest of all.
        let session = store.session(&Scope::All, &"tier1:s".into()).await.unwrap().unwrap();
        assert_eq!(session.started_at, Timestamp::from_micros(15_000_000).unwrap());
        assert_eq!(session.ended_at, Timestamp::from_micros(20_000_000));
        assert!(store.session(&Scope::All, &"tier1:".into()).await.unwrap().is_some());
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn what_exceeds_the_bounds_is_skipped_alone(store: Store) {
        let source = Source::velune();
        let long = "x".repeat(1025);
        source.run(&format!(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES ('s', '/w', 1), ('{long}', '/w', 2);
             INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                ('a', 's', 0, 'user', 'good', 1), ('b', 's', 1, '{long}', 'bad', 2),
                ('c', '{long}', 0, 'user', 'lost', 3), ('{long}', 's', 2, 'user', 'bad', 4),
                ('d', 's', 3, 'user', 'good', 5);
             INSERT INTO memory_tags VALUES ('b', 't', NULL), ('d', '{long}', NULL),
                ('d', 'good', 'v');"
        ));
        let report = import_all(&store, &source.path).await;
        let counts = report.counts;
        assert_eq!((counts.sessions.stored, counts.sessions.skipped), (1, 1));
        // The last one is stored without the tags that cannot be.
        assert_eq!((counts.turns.stored, counts.turns.skipped), (2, 3));
        assert_eq!((counts.tags.stored, counts.tags.skipped), (1, 2));
        let turns = store.turns(&ListTurns::new("s")).await.unwrap().items;
        assert_eq!(json!(turns[1].tags), json!({ "good": "v" }));
        let tag = &reasons(&report, ImportAction::Skipped, "memory_tags", 2)[0];
        let shown = "x".repeat(80);
        assert_eq!(
            *tag,
            format!(
                "the tag `{shown}…` is not stored: InvalidArgument: name: 1025 bytes, at most 1024 are allowed"
            )
        );
        assert_eq!(
            reasons(&report, ImportAction::Skipped, "turns", 2),
            ["InvalidArgument: role: 1025 bytes, at most 1024 are allowed"]
        );
        assert!(reasons(&report, ImportAction::Skipped, "turns", 3)[0].starts_with("its session"));
        let second = import_all(&store, &source.path).await.counts;
        assert_eq!((second.total().stored, second.turns.already_there), (0, 2));
    }

    async fn bad_rows_do_not_multiply_the_work(store: Store) {
        let source = Source::muse();
        let long = "x".repeat(1025);
        let mut sql = String::from("BEGIN;");
        for n in 0..5_000 {
            let id = if n % 3 == 0 { format!("e{n}") } else { format!("{long}{n}") };
            write!(sql, "INSERT INTO episodes VALUES ('{id}', 'p', 's', 1, {n});").unwrap();
        }
        source.run(&sql).run("COMMIT");
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.episodes.stored, report.counts.episodes.skipped), (1_667, 3_333));
    }

    async fn a_dry_run_tells_the_same_and_stores_nothing(store: Store) {
        let source = Source::muse();
        let long = "x".repeat(1025);
        source.run(&format!(
            "INSERT INTO episodes VALUES ('a', 'p', 's', 1, 10), ('{long}', 'p', 's', 1, 10);
             INSERT INTO state VALUES ('k', 'NaN'), ('taken', '1');
             INSERT INTO audit VALUES (1, 5, 'a', 'd', '{{}}');"
        ));
        store.put_state(memkeep::PutState::new("taken", 2)).await.unwrap();
        let before = dump(&store).await;
        let dry = import_with(&store, &source.path, ImportOptions::new().dry_run(true)).await;
        assert_eq!(dump(&store).await, before);
        let wet = import_all(&store, &source.path).await;
        assert_eq!(dry.counts, wet.counts);
        assert_eq!(dry.issues.len(), wet.issues.len());
        assert_eq!((wet.counts.total().stored, wet.counts.total().skipped), (3, 2));
        let again = import_with(&store, &source.path, ImportOptions::new().dry_run(true)).await;
        assert_eq!((again.counts.total().stored, again.counts.total().already_there), (0, 3));
    }
}

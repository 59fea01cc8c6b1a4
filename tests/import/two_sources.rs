//! A file that has grown since it was imported, and two files that name the same things.

use memkeep::{
    EpisodeRevision, ImportAction, ImportOptions, ListAudit, ListEpisodes, ListNotes, ListTurns,
    Scope, Workspace,
};
use serde_json::json;

use crate::support::{
    Source, Store, dump, fixture, import_all, import_with, imports_again, of_action,
    on_every_backend,
};

async fn contents(store: &Store, session: &str) -> Vec<String> {
    let list = ListTurns::new(session).limit(usize::MAX);
    store.turns(&list).await.unwrap().items.into_iter().map(|turn| turn.content).collect()
}

/// A source of tier 1 whose rows say whose they are.
fn tier1(whose: &str, at: u32) -> Source {
    let source = Source::tier1();
    source.run(&format!(
        "INSERT INTO conversation_turns VALUES (1, 'run', 'user', 'of {whose}', {at}, '{{}}');
         INSERT INTO execution_steps VALUES (1, 'run', 'step of {whose}', 'ok', '{{}}', {at});"
    ));
    source
}

on_every_backend! {
    async fn a_velune_file_that_has_grown_adds_what_is_new(store: Store) {
        let source = Source::velune();
        source.run(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES ('s', '/w', 1);
             INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                ('a', 's', 0, 'user', 'one', 1), ('o', 'nowhere', 0, 'user', 'uno', 1);",
        );
        import_all(&store, &source.path).await;
        store.tag_turn(&"a".into(), "own", None).await.unwrap();
        source.run(
            "UPDATE sessions SET ended_at = 9, summary = 'done';
             INSERT INTO sessions(id, workspace_root, started_at) VALUES ('new', '/w', 5);
             INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                ('b', 's', 1, 'user', 'two', 2), ('p', 'nowhere', 1, 'user', 'due', 2),
                ('n', 'new', 0, 'user', 'hello', 6);",
        );
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.turns.stored, report.counts.turns.already_there), (3, 2));
        assert_eq!((report.counts.sessions.stored, report.counts.sessions.already_there), (1, 2));
        assert_eq!(report.counts.total().skipped, 0);
        let kept: Vec<_> = of_action(&report, ImportAction::Kept)
            .into_iter()
            .map(|issue| (issue.id.as_deref().unwrap(), issue.reason.as_str()))
            .collect();
        assert_eq!(
            kept,
            [
                ("s", "the store has another ended_at, summary: left as it is"),
                ("nowhere", "the store has another ended_at: left as it is"),
                ("a", "the store has another tags: left as it is"),
            ]
        );
        assert_eq!(contents(&store, "s").await, ["one", "two"]);
        assert_eq!(contents(&store, "nowhere").await, ["uno", "due"]);
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn a_tag_that_was_added_later_is_told_of(store: Store) {
        let source = Source::velune();
        source.run(
            "INSERT INTO sessions(id, workspace_root, started_at) VALUES ('s', '/w', 1);
             INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                ('a', 's', 0, 'user', 'one', 1);",
        );
        import_all(&store, &source.path).await;
        source.run("INSERT INTO memory_tags VALUES ('a', 'late', NULL)");
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.turns.already_there, report.counts.tags.skipped), (1, 1));
        let skipped = of_action(&report, ImportAction::Skipped);
        assert_eq!((skipped[0].table, skipped[0].rowid), ("memory_tags", 1));
    }

    async fn tier_1_that_has_grown_adds_what_is_new(store: Store) {
        let source = Source::tier1();
        source.run("INSERT INTO execution_steps VALUES (1, 'run', 'plan', 'ok', '{}', 5)");
        import_all(&store, &source.path).await;
        source.run(
            "INSERT INTO conversation_turns VALUES (1, 'run', 'user', 'hello', 6, '{}');
             INSERT INTO execution_steps VALUES (2, 'run', 'act', 'ok', '{}', 7);",
        );
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.turns.stored, report.counts.steps.stored), (1, 1));
        assert_eq!(report.counts.total().skipped, 0);
        imports_again(&store, &source.path, ImportOptions::new()).await;
    }

    async fn a_muse_file_that_has_grown_adds_what_is_new(store: Store) {
        let source = Source::muse();
        source.run(
            "INSERT INTO episodes VALUES ('a', 'p', 's', 1, 10);
             INSERT INTO state VALUES ('cycle', '1'), ('stays', '1');
             INSERT INTO audit VALUES (1, 11, 'one', 'allow', '{}');",
        );
        import_all(&store, &source.path).await;
        store.append_audit(memkeep::NewAudit::new("own", "allow")).await.unwrap();
        source.run(
            "UPDATE episodes SET is_open = 0; UPDATE state SET value = '2' WHERE key = 'cycle';
             INSERT INTO episodes VALUES ('b', 'p', 's', 1, 20);
             INSERT INTO notes VALUES (1, 'n', '[\"a\"]', 21);
             INSERT INTO audit VALUES (2, 22, 'two', 'allow', '{}');",
        );
        let report = import_all(&store, &source.path).await;
        let counts = report.counts;
        assert_eq!((counts.episodes.stored, counts.episodes.already_there), (1, 1));
        assert_eq!((counts.notes.stored, counts.audits.stored), (1, 1));
        assert_eq!((counts.states.already_there, counts.states.skipped), (1, 1));
        assert!(store.episode(&Scope::All, &"a".into()).await.unwrap().unwrap().open);
        let state = store.state(&Workspace::default(), "cycle").await.unwrap().unwrap();
        assert_eq!((state.value, state.version), (json!(1), 1));
        let audit = store.audit_log(&ListAudit::new()).await.unwrap().items;
        let actions: Vec<_> = audit.iter().map(|record| record.action.as_str()).collect();
        assert_eq!(actions, ["one", "own", "two"]);
    }

    async fn sessions_of_two_files_never_mix(store: Store) {
        let sessions = |whose: &str| {
            let source = Source::velune();
            source.run(&format!(
                "INSERT INTO sessions(id, workspace_root, started_at, model_used)
                    VALUES ('s', '/w', 1, 'of {whose}');
                 INSERT INTO turns(id, session_id, turn_index, role, content, created_at) VALUES
                    ('{whose}', 's', 0, 'user', '{whose}', 1), ('{whose} 2', 's', 1, 'user', '{whose}', 1),
                    ('{whose} 3', 'gone', 0, 'user', '{whose}', 1);
                 INSERT INTO memory_tags VALUES ('{whose}', 't', NULL);",
            ));
            source
        };
        import_all(&store, sessions("ana").path).await;
        let before = dump(&store).await;
        let bob = sessions("bob");
        let report = import_all(&store, &bob.path).await;
        assert_eq!(dump(&store).await, before);
        let counts = report.counts;
        assert_eq!((counts.sessions.skipped, counts.turns.skipped, counts.tags.skipped), (2, 3, 1));
        let remedy = of_action(&report, ImportAction::Skipped)
            .into_iter()
            .filter(|issue| issue.reason.contains("a workspace of its own"))
            .map(|issue| issue.id.as_deref().unwrap())
            .collect::<Vec<_>>();
        assert_eq!(remedy, ["gone", "bob 3"]);
        let session = of_action(&report, ImportAction::Skipped)[0];
        assert!(session.reason.ends_with("import the file into a store of its own to keep both"));

        // The remedy brings those that have no workspace of their own.
        let report = import_with(&store, &bob.path, ImportOptions::new().workspace("bob")).await;
        assert_eq!((report.counts.sessions.stored, report.counts.turns.stored), (1, 1));
        assert_eq!(contents(&store, "bob:gone").await, ["bob"]);
        assert_eq!(contents(&store, "gone").await, ["ana"]);
    }

    async fn tier_1_of_two_files_never_mixes(store: Store) {
        import_all(&store, tier1("ana", 1).path).await;
        let bob = tier1("bob", 1);
        let before = dump(&store).await;
        let report = import_all(&store, &bob.path).await;
        assert_eq!(dump(&store).await, before);
        assert_eq!((report.counts.total().stored, report.counts.total().skipped), (0, 3));
        assert_eq!(
            report.remarks,
            ["workspace `default` held 3 records before that are not this file's"]
        );

        let options = || ImportOptions::new().workspace("bob");
        let report = import_with(&store, &bob.path, options()).await;
        assert_eq!((report.counts.total().stored, report.counts.total().skipped), (3, 0));
        assert_eq!(contents(&store, "tier1:bob:run").await, ["of bob"]);
        assert_eq!(contents(&store, "tier1:run").await, ["of ana"]);
        imports_again(&store, &bob.path, options()).await;
    }

    async fn the_same_rows_can_be_placed_twice(store: Store) {
        let source = tier1("ana", 1);
        import_all(&store, &source.path).await;
        let report = import_with(&store, &source.path, ImportOptions::new().workspace("copy")).await;
        assert_eq!((report.counts.total().stored, report.counts.total().skipped), (3, 0));
    }

    async fn two_muse_files_meet_in_a_workspace(store: Store) {
        let muse = |whose: &str, at: u32| {
            let source = Source::muse();
            source.run(&format!(
                "INSERT INTO episodes VALUES ('{whose}', 'p', 's', 1, {at}),
                    ('same', 'p {whose}', 's {whose}', 1, 1);
                 INSERT INTO notes VALUES (1, '{whose}', '[]', {at});
                 INSERT INTO state VALUES ('{whose}', '1'), ('same', '\"{whose}\"'), ('equal', '1');
                 INSERT INTO audit VALUES (1, {at}, '{whose}', 'allow', '{{}}');"
            ));
            source
        };
        import_all(&store, muse("ana", 5).path).await;
        let bob = muse("bob", 4);
        let report = import_all(&store, &bob.path).await;
        let skipped: Vec<_> = of_action(&report, ImportAction::Skipped)
            .into_iter()
            .map(|issue| (issue.table, issue.id.as_deref().unwrap()))
            .collect();
        assert_eq!(skipped, [("episodes", "same"), ("state", "same")]);
        assert_eq!(report.counts.total().stored, 4);
        assert_eq!(report.remarks.len(), 1);
        let state = store.state(&Workspace::default(), "same").await.unwrap().unwrap();
        assert_eq!(state.value, json!("ana"));
        // One chain, in the order of the imports.
        let audit = store.audit_log(&ListAudit::new()).await.unwrap().items;
        let actions: Vec<_> = audit.iter().map(|record| record.action.as_str()).collect();
        assert_eq!(actions, ["ana", "bob"]);
        let state = of_action(&report, ImportAction::Skipped)[1];
        assert!(state.reason.contains("a workspace of its own"), "{}", state.reason);
    }

    async fn a_muse_file_can_be_kept_twice(store: Store) {
        let path = fixture("muse_small.db");
        import_all(&store, &path).await;
        let options = || ImportOptions::new().workspace("copy");
        let dry = import_with(&store, &path, options().dry_run(true)).await;
        let report = import_with(&store, &path, options()).await;
        assert_eq!((&dry.counts, &dry.issues), (&report.counts, &report.issues));
        let counts = report.counts;
        assert_eq!((counts.total().stored, counts.total().skipped), (127, 0));
        assert_eq!(counts.episodes.repaired, 60);
        imports_again(&store, &path, options()).await;
        imports_again(&store, &path, ImportOptions::new()).await;

        let episodes = |scope: &str| ListEpisodes::new().scope(scope).limit(usize::MAX);
        let ids = async |list| {
            let items = store.episodes(&list).await.unwrap().items;
            items.into_iter().map(|episode| episode.id.to_string()).collect::<Vec<_>>()
        };
        let (own, copied) = (ids(episodes("default")).await, ids(episodes("copy")).await);
        assert_eq!(copied, own.iter().map(|id| format!("copy:{id}")).collect::<Vec<_>>());
        // The notes are those of the copied episodes; sources that name none stay as they are.
        let sources = async |workspace: &str| {
            let list = ListNotes::new().scope(workspace).limit(usize::MAX);
            let notes = store.notes(&list).await.unwrap().items;
            notes.into_iter().flat_map(|n| n.sources).map(|id| id.to_string()).collect::<Vec<_>>()
        };
        let should: Vec<_> = sources("default").await.into_iter()
            .map(|id| if own.contains(&id) { format!("copy:{id}") } else { id })
            .collect();
        assert!(should.iter().any(|id| id.starts_with("copy:")));
        assert_eq!(sources("copy").await, should);

        // What was revised is still known; so is what no other record is in the way of any more.
        let revise = EpisodeRevision::new(copied[0].as_str()).problem("new").summary("new");
        store.revise_episode(revise).await.unwrap();
        store.delete_episode(&own[1].as_str().into()).await.unwrap();
        imports_again(&store, &path, options()).await;
    }

    async fn two_muse_files_that_share_an_id_are_both_kept(store: Store) {
        let muse = |whose: &str| {
            let source = Source::muse();
            source.run(&format!(
                "INSERT INTO episodes VALUES ('same', 'p {whose}', 's {whose}', 1, 1),
                    ('{whose}', 'p', 's', 1, 1);
                 INSERT INTO notes VALUES (1, '{whose}', '[\"same\", \"{whose}\"]', 1);"
            ));
            source
        };
        let (ana, bob, eve) = (muse("ana"), muse("bob"), muse("eve"));
        let (own, lab) = (ImportOptions::new, || ImportOptions::new().workspace("lab"));
        import_with(&store, &ana.path, own()).await;
        let report = import_with(&store, &bob.path, own()).await;
        let skipped = of_action(&report, ImportAction::Skipped);
        assert!(skipped[0].reason.ends_with("with a workspace of its own to keep both"));

        let report = import_with(&store, &bob.path, lab()).await;
        assert_eq!((report.counts.total().stored, report.counts.total().skipped), (3, 0));
        let repaired: Vec<_> = of_action(&report, ImportAction::Repaired)
            .into_iter()
            .map(|issue| (issue.id.as_deref().unwrap(), issue.reason.as_str()))
            .collect();
        assert_eq!(
            repaired,
            [
                ("lab:same", "its id is taken by another episode: it is now lab:same"),
                ("lab:bob", "its id is taken by another episode: it is now lab:bob"),
            ]
        );
        let notes = store.notes(&ListNotes::new().scope("lab")).await.unwrap().items;
        assert_eq!(json!(notes[0].sources), json!(["lab:same", "lab:bob"]));
        for (file, options) in [(&ana, own()), (&bob, lab())] {
            imports_again(&store, &file.path, options).await;
        }

        // In the same workspace only one more can have it.
        let report = import_with(&store, &eve.path, lab()).await;
        let skipped = of_action(&report, ImportAction::Skipped);
        assert_eq!(skipped[0].id.as_deref(), Some("lab:same"));
        let report = import_with(&store, &eve.path, ImportOptions::new().workspace("eve")).await;
        assert_eq!((report.counts.episodes.stored, report.counts.total().skipped), (2, 0));
        imports_again(&store, &eve.path, ImportOptions::new().workspace("eve")).await;
    }

    async fn turns_of_velune_are_kept_by_two_stores(store: Store) {
        let path = fixture("velune_small.db");
        import_all(&store, &path).await;
        let report = import_with(&store, &path, ImportOptions::new().workspace("copy")).await;
        let turns: Vec<_> = of_action(&report, ImportAction::Skipped)
            .into_iter()
            .filter(|issue| issue.table == "turns")
            .collect();
        assert_eq!(turns.len(), 3);
        let remedy = "into a store of its own to keep both";
        assert!(turns.iter().all(|issue| issue.reason.ends_with(remedy)), "{turns:?}");
    }
}

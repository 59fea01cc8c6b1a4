//! What `MuseEngine` answers over its own database, memkeep answers over the imported one.

use memkeep::{
    DeleteState, EpisodeId, ImportAction, ImportOptions, Json, ListAudit, ListEpisodes, ListNotes,
    NewAudit, PutState, RecallQuery, Scope, Workspace,
    recall::{Scorer, overlap_tokens},
};
use serde_json::json;

use crate::support::{
    expected, fixture, import_all, import_with, imports_again, micros, of_action, on_every_backend,
};

fn texts(json: &Json) -> Vec<&str> {
    json.as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

#[test]
fn tokens_are_the_reference_s() {
    for case in expected("muse_expected.json")["tokens"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let tokens = overlap_tokens(text);
        let reference = texts(&case["tokens"]);
        if text.is_ascii() {
            assert_eq!(tokens.iter().collect::<Vec<_>>(), reference, "{text:?}");
        } else {
            assert!(reference.iter().all(|token| tokens.contains(*token)), "{text:?}");
        }
    }
}

on_every_backend! {
    async fn recall_answers_as_the_reference(store: Store) {
        import_all(&store, fixture("muse_small.db")).await;
        for case in expected("muse_expected.json")["recall"].as_array().unwrap() {
            let text = case["query"].as_str().unwrap();
            for (k, reference) in case["results"].as_object().unwrap() {
                // A negative k is a slice from the end in Python: nothing to reproduce.
                let Ok(k) = k.parse::<usize>() else { continue };
                let query = RecallQuery::new(text).scorer(Scorer::Overlap).k(k);
                let hits = store.recall(&query).await.unwrap();
                let ids: Vec<_> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
                let reference = texts(reference);
                if text.is_ascii() {
                    assert_eq!(ids, reference, "{text:?}, k = {k}");
                } else if k == 1000 {
                    assert!(reference.iter().all(|id| ids.contains(id)), "{text:?}");
                }
            }
        }
    }

    async fn records_are_the_reference_s(store: Store) {
        let report = import_all(&store, fixture("muse_small.db")).await;
        let counts = report.counts;
        let stored = [counts.episodes, counts.notes, counts.states, counts.audits].map(|t| t.stored);
        assert_eq!((stored, counts.total().stored), ([60, 15, 12, 40], 127));
        // 2**70; NaN and -Infinity in one value.
        assert_eq!((counts.states.repaired, counts.total().repaired), (2, 2));
        assert_eq!(of_action(&report, ImportAction::Repaired).len(), 3);

        let reference = expected("muse_expected.json");
        let episodes = store.episodes(&ListEpisodes::new()).await.unwrap().items;
        let as_reference: Vec<_> = episodes
            .iter()
            .map(|e| (e.id.as_str(), &*e.problem, &*e.summary, e.open, e.created_at))
            .collect();
        let should: Vec<_> = reference["episodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| {
                let text = |field: &str| e[field].as_str().unwrap();
                let (open, at) = (e["is_open"].as_bool().unwrap(), micros(&e["created_at"]));
                (text("id"), text("problem"), text("summary"), open, at)
            })
            .collect();
        assert_eq!(as_reference, should);

        let open = store.episodes(&ListEpisodes::new().open(true)).await.unwrap().items;
        let open: Vec<_> = open.iter().map(|e| e.id.as_str()).collect();
        assert_eq!(open, texts(&reference["episodes_only_open"]));

        // Notes are in order of their ids there, by time here: the same, the clock standing still.
        let notes = store.notes(&ListNotes::new()).await.unwrap().items;
        let notes: Vec<_> = notes.iter().map(|n| json!([n.text, n.sources, n.created_at])).collect();
        let should: Vec<_> = reference["notes_rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| json!([row[1], row[2], micros(&row[3])]))
            .collect();
        assert_eq!(notes, should);

        for entry in reference["get_state"].as_array().unwrap() {
            let (key, value) = (entry["key"].as_str().unwrap(), &entry["value"]);
            let state = store.state(&Workspace::default(), key).await.unwrap();
            let should = match key {
                // What JSON of 64 bits cannot hold is kept as text.
                "big" => Some(json!("1180591620717411303424")),
                "nan" => Some(json!({ "best": "-Infinity", "loss": "NaN" })),
                _ => (value != "DEFAULT").then(|| value.clone()),
            };
            assert_eq!(state.map(|state| state.value), should, "{key:?}");
        }

        let audit = store.audit_log(&ListAudit::new()).await.unwrap().items;
        let audit: Vec<_> = audit
            .iter()
            .map(|a| json!([a.created_at, a.action, a.decision, a.detail]))
            .collect();
        let should: Vec<_> = reference["audit_log"]
            .as_array()
            .unwrap()
            .iter()
            .map(|a| json!([micros(&a["at"]), a["action"], a["decision"], a["detail"]]))
            .collect();
        assert_eq!(audit, should);
    }

    async fn a_second_import_adds_nothing(store: Store) {
        import_all(&store, fixture("muse_small.db")).await;
        imports_again(&store, &fixture("muse_small.db"), ImportOptions::new()).await;
    }

    async fn a_second_import_leaves_what_was_changed(store: Store) {
        import_all(&store, fixture("muse_small.db")).await;
        let open = store.episodes(&ListEpisodes::new().open(true)).await.unwrap().items;
        let id: EpisodeId = open[0].id.clone();
        store.set_episode_open(&id, false).await.unwrap();
        store.put_state(PutState::new("cycle", 19)).await.unwrap();
        store.delete_state(DeleteState::new("name")).await.unwrap();
        store.append_audit(NewAudit::new("own", "allow")).await.unwrap();
        imports_again(&store, &fixture("muse_small.db"), ImportOptions::new()).await;
        assert!(!store.episode(&Scope::All, &id).await.unwrap().unwrap().open);
    }

    async fn a_workspace_can_be_told(store: Store) {
        let options = || ImportOptions::new().workspace("lab");
        import_with(&store, fixture("muse_small.db"), options()).await;
        let workspaces = store.workspaces().await.unwrap();
        assert_eq!(workspaces.len(), 1);
        assert_eq!((workspaces[0].workspace.as_str(), workspaces[0].counts.total()), ("lab", 127));
        imports_again(&store, &fixture("muse_small.db"), options()).await;
    }
}

//! Episodes, notes and the audit log.

use serde_json::json;

use crate::support::Store;

fn episode(store: &Store, problem: &str, summary: &str) -> String {
    store.make(&["add", "episode", "--problem", problem, "--summary", summary])
}

#[test]
fn an_episode_is_added_revised_closed_and_reopened() {
    let store = Store::new();
    let id = episode(&store, "-j8 runs out of memory", "");
    assert!(id.starts_with("ep-"), "{id}");
    let revised = store.one(&["revise", &id, "--summary", "- link alone"]);
    assert_eq!(revised["problem"], "-j8 runs out of memory");
    assert_eq!(revised["summary"], "- link alone");
    assert_eq!(store.one(&["revise", &id, "--problem", "", "--summary", "x"])["problem"], "");
    store.run(&["revise", &id]).failed(2, "InvalidArgument");

    let closed = store.one(&["close", &id]);
    assert_eq!(closed["open"], false);
    assert!(closed["closed_at"].is_string());
    assert_eq!(store.json(&["episodes", "--open"]).len(), 0);
    assert_eq!(store.one(&["reopen", &id])["open"], true);
    assert_eq!(store.json(&["episodes", "--open"]).len(), 1);
    assert!(store.text(&["close", &id]).contains("closed"));

    let words = ["add", "episode", "--problem", "p", "--summary", "s", "--closed"];
    assert_eq!(store.one(&words)["open"], false);
    assert_eq!(store.json(&["episodes"]).len(), 2);
    let text = store.text(&["episodes"]);
    assert!(text.contains("PROBLEM") && text.contains(&id), "{text}");
    assert_eq!(store.text(&["delete", "episode", &id]), "deleted: episodes 1\n");
}

#[test]
fn notes_name_their_sources() {
    let store = Store::new();
    let (a, b) = (episode(&store, "one", "1"), episode(&store, "two", "2"));
    let note = store.one(&["add", "note", "- measure first", "--source", &b, "--source", &a]);
    assert_eq!(note["sources"], json!([b, a]));
    let id = store.make(&["add", "note", "alone"]);
    assert!(id.starts_with("nte-"), "{id}");
    store.run(&["add", "note", "x", "--source", "ep-none"]).failed(1, "NotFound");
    assert_eq!(store.json(&["notes"]).len(), 2);
    assert!(store.text(&["notes"]).contains("- measure first"));
    assert_eq!(store.one(&["delete", "note", &id])["existed"], true);
}

#[test]
fn the_audit_log_is_a_chain() {
    let store = Store::new();
    let id = store.make(&["add", "audit", "write_file", "allow", r#"{"path":"a"}"#]);
    assert!(id.starts_with("aud-"), "{id}");
    store.make(&["add", "audit", "", "deny"]);
    let log = store.json(&["audit"]);
    assert_eq!((&log[0]["seq"], &log[0]["detail"]), (&json!(1), &json!({"path": "a"})));
    assert_eq!((&log[1]["seq"], &log[1]["action"]), (&json!(2), &json!("")));
    assert_eq!(log[0]["hash"].as_str().unwrap().len(), 64);
    let text = store.text(&["audit"]);
    assert!(text.contains("DECISION") && text.contains("write_file"), "{text}");
    store.run(&["verify"]).done();
}

#[test]
fn lists_of_nothing_say_so() {
    let store = Store::new();
    store.make(&["start"]);
    for (words, said) in [
        (&["episodes"][..], "no episodes\n"),
        (&["notes"], "no notes\n"),
        (&["audit"], "no audit records\n"),
        (&["state", "list"], "no state entries\n"),
        (&["recall", "x"], "no episodes\n"),
    ] {
        assert_eq!(store.text(words), said);
        assert!(store.json(words).is_empty());
    }
}

//! What `--workspace` keeps apart.

use serde_json::Value;

use crate::support::Store;

/// The same things in two workspaces, one name of which starts like the other.
struct Fixture {
    store: Store,
    turn: String,
    episode: String,
    note: String,
}

fn fixture() -> Fixture {
    let store = Store::new();
    let fill = |workspace: &str| {
        let id = format!("ses-{workspace}");
        let run = |words: &[&str]| store.make(&[&["--workspace", workspace], words].concat());
        run(&["start", "--id", &id]);
        let turn = run(&["turn", &id, "user", "common text"]);
        run(&["step", &id, "plan", "success"]);
        let episode = run(&["add", "episode", "--problem", "common text", "--summary", "s"]);
        let note = run(&["add", "note", "common text", "--source", &episode]);
        run(&["add", "audit", "act", "allow"]);
        run(&["state", "set", "k", "1"]);
        (turn, episode, note)
    };
    fill("acme-corp");
    let (turn, episode, note) = fill("acme");
    Fixture { store, turn, episode, note }
}

/// Everything in the store, as an export has it.
fn export(store: &Store) -> String {
    store.text(&["export"])
}

#[test]
fn reads_see_one_workspace_or_all() {
    let Fixture { store, .. } = fixture();
    for words in [
        &["sessions"][..],
        &["episodes"],
        &["notes"],
        &["audit"],
        &["workspaces"],
        &["state", "list"],
        &["find", "common"],
        &["recall", "common"],
        &["recall", "common", "--in", "turns"],
        &["recall", "common", "--in", "notes"],
    ] {
        assert_eq!(store.json(words).len(), 2, "{words:?}");
        let words = [words, &["--workspace", "acme"]].concat();
        let [row]: [Value; 1] = store.json(&words).try_into().unwrap();
        let record = row.get("record").unwrap_or(&row);
        assert_eq!(record["workspace"], "acme", "{words:?}");
    }
    assert_eq!(store.one(&["stats"])["counts"]["turns"], 2);
    assert_eq!(store.one(&["stats", "--workspace", "acme"])["counts"]["turns"], 1);
    assert!(!store.text(&["export", "--workspace", "acme"]).contains("acme-corp"));
    let text = store.text(&["sessions", "--workspace", "acme"]);
    assert!(!text.contains("WORKSPACE"), "{text}");
    assert!(store.text(&["sessions"]).contains("WORKSPACE"));
}

#[test]
fn an_id_of_another_workspace_is_not_found_and_not_touched() {
    let Fixture { store, turn, episode, note } = fixture();
    let before = export(&store);
    for words in [
        &["session", "ses-acme"][..],
        &["turns", "ses-acme"],
        &["turns", "ses-acme", "--last", "1"],
        &["steps", "ses-acme"],
        &["turn", "ses-acme", "user", "x"],
        &["step", "ses-acme", "plan", "success"],
        &["summarize", "ses-acme", "x"],
        &["end", "ses-acme"],
        &["resume", "ses-acme"],
        &["tag", &turn, "x"],
        &["untag", &turn, "x"],
        &["revise", &episode, "--summary", "x"],
        &["close", &episode],
        &["reopen", &episode],
        &["add", "note", "x", "--source", &episode],
        &["delete", "session", "ses-acme"],
        &["delete", "turn", &turn],
        &["delete", "episode", &episode],
        &["delete", "note", &note],
    ] {
        let words = [words, &["--workspace", "acme-corp"]].concat();
        store.run(&words).failed(1, "NotFound");
    }
    let words = ["start", "--id", "ses-acme", "--workspace", "acme-corp"];
    store.run(&words).failed(1, "Conflict");
    store.run(&["forget", "acme", "--workspace", "acme-corp"]).failed(2, "InvalidArgument");
    store.run(&["state", "delete", "k", "--workspace", "other"]).done();
    assert_eq!(export(&store), before);
}

#[test]
fn a_batch_stays_in_its_workspace() {
    let Fixture { store, episode, .. } = fixture();
    let before = export(&store);
    let feed = |op: &str| store.feed(&["batch", "--workspace", "acme-corp"], op.as_bytes());
    for op in [
        r#"{"op":"record_turn","session":"ses-acme","role":"user","content":"x"}"#,
        r#"{"op":"delete_session","session":"ses-acme"}"#,
        &format!(r#"{{"op":"delete_episode","episode":"{episode}"}}"#),
    ] {
        feed(op).failed(1, "NotFound");
    }
    for op in [
        r#"{"op":"add_note","text":"x","workspace":"acme"}"#,
        r#"{"op":"forget_workspace","workspace":"acme"}"#,
        r#"{"op":"forget_receipts","before":"2026-01-01T00:00:00Z"}"#,
    ] {
        feed(op).failed(1, "InvalidArgument");
    }
    assert_eq!(export(&store), before);

    let ops = "{\"op\":\"ensure_session\",\"id\":\"new\"}\n\
               {\"op\":\"record_turn\",\"session\":\"new\",\"role\":\"user\",\"content\":\"x\"}\n\
               {\"op\":\"add_note\",\"text\":\"x\"}\n";
    for outcome in feed(ops).done().lines() {
        assert_eq!(outcome["workspace"], "acme-corp");
    }
}

#[test]
fn forgetting_and_pruning_leave_the_others() {
    let Fixture { store, .. } = fixture();
    let prune = ["prune", "--older-than", "0s"];
    store.run(&["end", "ses-acme"]).done();
    store.run(&["end", "ses-acme-corp"]).done();
    assert_eq!(store.one(&[&prune[..], &["--workspace", "acme"]].concat())["sessions"], 1);
    assert_eq!(store.json(&["sessions"])[0]["id"], "ses-acme-corp");
    assert_eq!(store.one(&["forget", "acme"])["counts"]["audits"], 1);
    assert_eq!(store.text(&["forget", "acme"]), "there was nothing to delete\n");
    let [left]: [Value; 1] = store.json(&["workspaces"]).try_into().unwrap();
    assert_eq!(left["workspace"], "acme-corp");
}

#[test]
fn the_empty_workspace_is_one() {
    let store = Store::new();
    let note = store.one(&["add", "note", "x", "--workspace", ""]);
    assert_eq!(note["workspace"], "");
    store.run(&["add", "note", "y"]).done();
    assert_eq!(store.json(&["notes", "--workspace="]).len(), 1);
    assert_eq!(store.json(&["notes"]).len(), 2);
}

#[test]
fn what_concerns_the_whole_store_refuses_a_workspace() {
    let Fixture { store, .. } = fixture();
    let copy = store.word("copy.db");
    for words in [&["verify"][..], &["compact"], &["backup", &copy]] {
        let words = [words, &["--workspace", "acme"]].concat();
        store.run(&words).failed(2, "InvalidArgument");
    }
    assert!(!store.path("copy.db").exists());
}

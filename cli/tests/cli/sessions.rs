//! Sessions, turns and steps.

use serde_json::{Value, json};

use crate::support::Store;

/// A session with 4 turns.
fn conversation(store: &Store) -> String {
    let session = store.make(&["start", "--model", "m-1", "--mode", "chat", "--id", "s1"]);
    for (role, text) in
        [("user", "why does it crash"), ("assistant", "a leak"), ("user", "fix"), ("tool", "ok")]
    {
        store.make(&["turn", &session, role, text]);
    }
    session
}

#[test]
fn a_session_is_started_filled_read_and_ended() {
    let store = Store::new();
    assert_eq!(conversation(&store), "s1");

    let session = store.one(&["session", "s1"]);
    assert_eq!(session["id"], "s1");
    assert_eq!(session["workspace"], "default");
    assert_eq!(session["model"], "m-1");
    assert_eq!(session["mode"], "chat");
    assert_eq!(session["turn_count"], 4);
    assert_eq!(session["first_prompt"], "why does it crash");
    assert!(session.get("ended_at").is_none());
    let started = session["started_at"].as_str().unwrap();
    assert_eq!((started.len(), started.ends_with('Z')), (27, true), "{started}");

    assert_eq!(store.one(&["summarize", "s1", "- a leak"])["summary"], "- a leak");
    let ended = store.one(&["end", "s1"])["ended_at"].clone();
    assert!(ended.is_string());
    assert_eq!(store.one(&["end", "s1"])["ended_at"], ended, "the first end stays");
    store.run(&["turn", "s1", "user", "late"]).failed(1, "Conflict");
    assert!(store.one(&["resume", "s1"]).get("ended_at").is_none());

    let text = store.text(&["session", "s1"]);
    for part in ["id ", "s1", "m-1", "why does it crash", "- a leak"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(store.text(&["end", "s1"]).contains("ended"));
}

#[test]
fn turns_come_in_order_all_or_the_last() {
    let store = Store::new();
    conversation(&store);
    let contents = |words: &[&str]| -> Vec<String> {
        let turns = store.json(words);
        turns.iter().map(|turn| turn["content"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(contents(&["turns", "s1"]), ["why does it crash", "a leak", "fix", "ok"]);
    assert_eq!(contents(&["turns", "s1", "--last", "2"]), ["fix", "ok"]);
    assert_eq!(contents(&["turns", "s1", "--last", "0"]), [""; 0]);
    assert_eq!(contents(&["turns", "s1", "--last", "99999999999999999999999"]).len(), 4);

    let text = store.text(&["turns", "s1", "--last", "2"]);
    assert!(text.starts_with("#2 user "), "{text}");
    assert!(text.contains("\n    fix\n\n#3 tool "), "{text}");
    assert_eq!(store.text(&["turns", "s1", "--last", "0"]), "no turns\n");
}

#[test]
fn a_long_session_is_paged_through() {
    let store = Store::new();
    let turn = |i| json!({"op": "record_turn", "session": "long", "role": "user", "content": i});
    let ops: Vec<Value> = (0..1_203).map(|i: u32| turn(i.to_string())).collect();
    store.make(&["start", "--id", "long"]);
    store.batch(&[], &ops).done();
    let turns = store.json(&["turns", "long"]);
    assert_eq!(turns.len(), 1_203);
    for (i, turn) in turns.iter().enumerate() {
        assert_eq!(turn["index"], i);
        assert_eq!(turn["content"], i.to_string());
    }
    assert_eq!(
        store.text(&["turns", "long"]).lines().filter(|l| l.starts_with('#')).count(),
        1_203
    );
}

#[test]
fn a_turn_is_taken_from_stdin_byte_for_byte() {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    let text = "  line one\r\n\0\x1b[1mtwo\u{9b}\n";
    for words in [&["turn", "s", "user", "-"][..], &["turn", "s", "user"]] {
        store.feed(words, text.as_bytes()).done();
    }
    store.feed(&["turn", "s", "user"], b"").done();
    let turns = store.json(&["turns", "s"]);
    assert_eq!(turns[0]["content"], text);
    assert_eq!(turns[1]["content"], text);
    assert_eq!(turns[2]["content"], "");

    store.feed(&["turn", "s", "user"], b"caf\xe9").failed(1, "InvalidArgument");
    assert_eq!(store.one(&["session", "s"])["turn_count"], 3);
}

#[test]
fn the_record_of_a_write_is_printed_under_json() {
    let store = Store::new();
    let session = store.one(&["start"]);
    let id = session["id"].as_str().unwrap();
    assert!(id.starts_with("ses-"), "{id}");
    let turn = store.one(&["turn", id, "user", "hello"]);
    assert_eq!((&turn["index"], &turn["content"]), (&json!(0), &json!("hello")));
    let step = store.one(&["step", id, "plan", "success", r#"{"n":18446744073709551615}"#]);
    assert_eq!(step["payload"]["n"], u64::MAX);
    let negative = store.one(&["step", id, "plan", "success", "-5"]);
    assert_eq!(negative["payload"], -5);
    assert_eq!(store.one(&["step", id, "plan", "success"])["payload"], json!(null));
}

#[test]
fn steps_are_listed_in_order() {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    assert_eq!(store.text(&["steps", "s"]), "no steps\n");
    let id = store.make(&["step", "s", "plan", "running"]);
    assert!(id.starts_with("stp-"), "{id}");
    store.make(&["step", "s", "edit_file", "failed", r#"{"path":"a.rs"}"#]);
    let steps = store.json(&["steps", "s"]);
    assert_eq!(steps[0]["name"], "plan");
    assert_eq!((&steps[1]["index"], &steps[1]["status"]), (&json!(1), &json!("failed")));
    let text = store.text(&["steps", "s"]);
    assert!(text.contains("STATUS") && text.contains("edit_file"), "{text}");
}

#[test]
fn tags_come_and_go() {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    let turn = store.make(&["turn", "s", "user", "hello"]);
    store.run(&["tag", &turn, "topic", "greeting"]).done();
    let tagged = store.one(&["tag", &turn, "seen"]);
    assert_eq!(tagged["tags"], json!({"seen": null, "topic": "greeting"}));
    assert!(store.text(&["turns", "s"]).contains("[seen, topic=greeting]"));
    assert_eq!(store.one(&["untag", &turn, "topic"])["tags"], json!({"seen": null}));
    assert!(store.text(&["untag", &turn, "seen"]).contains("hello"));
}

#[test]
fn sessions_are_listed_newest_first_by_start_or_activity() {
    let store = Store::new();
    assert!(store.run(&["sessions"]).failed(1, "NotFound").out.is_empty());
    for id in ["a", "b", "c"] {
        store.make(&["start", "--id", id]);
    }
    store.make(&["turn", "a", "user", "again"]);
    let ids = |words: &[&str]| -> Vec<String> {
        let sessions = store.json(words);
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["sessions"]), ["c", "b", "a"]);
    assert_eq!(ids(&["sessions", "--order", "active"])[0], "a");
    assert_eq!(ids(&["sessions", "--limit", "1"]), ["c"]);
    assert_eq!(ids(&["sessions", "--limit", "0"]), [""; 0]);
    assert_eq!(ids(&["sessions", "--limit", "18446744073709551615"]).len(), 3);
    let text = store.text(&["sessions"]);
    assert!(text.starts_with("ID") && text.contains("FIRST PROMPT"), "{text}");
    assert_eq!(text.lines().count(), 4);
}

#[test]
fn find_is_literal_and_newest_first() {
    let store = Store::new();
    conversation(&store);
    store.make(&["turn", "s1", "user", "100% sure, A_B"]);
    store.make(&["turn", "s1", "tool", "AxB, Straße"]);
    let found = |words: &[&str]| store.json(words).len();
    assert_eq!(found(&["find", "%"]), 1);
    assert_eq!(found(&["find", "a_b"]), 1);
    assert_eq!(found(&["find", "STRASSE"]), 1);
    assert_eq!(found(&["find", "a", "--role", "user"]), 2);
    assert_eq!(found(&["find", "a", "--limit", "1"]), 1);
    assert_eq!(found(&["find", "a", "--limit", "0"]), 0);
    assert_eq!(found(&["find", "-v"]), 0);
    assert_eq!(store.json(&["find", "a"])[0]["content"], "AxB, Straße");
    store.run(&["find", ""]).failed(2, "InvalidArgument");
    let text = store.text(&["find", "100%"]);
    assert!(text.contains("SESSION") && text.contains("100% sure"), "{text}");
    assert_eq!(store.text(&["find", "nowhere"]), "no turns\n");
}

#[test]
fn deletions_tell_what_went() {
    let store = Store::new();
    conversation(&store);
    let turn = store.json(&["turns", "s1"])[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(store.text(&["delete", "turn", &turn]), "deleted: turns 1\n");
    assert_eq!(store.text(&["delete", "turn", &turn]), "there was nothing to delete\n");
    assert_eq!(store.json(&["turns", "s1"])[0]["index"], 1, "the index stays unused");
    let deleted = store.one(&["delete", "session", "s1"]);
    assert_eq!((&deleted["existed"], &deleted["counts"]["turns"]), (&json!(true), &json!(3)));
    assert_eq!(store.one(&["delete", "session", "s1"])["existed"], false);
    store.run(&["turns", "s1"]).failed(1, "NotFound");
}

#[test]
fn a_hyphen_is_stdin_unless_it_is_meant() {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    store.feed(&["turn", "s", "user", "-"], b"from stdin").done();
    store.feed(&["add", "note", "-"], b"a lesson\n").done();
    store.feed(&["turn", "s", "user", "--", "-"], b"no").done();
    store.feed(&["turn", "--", "s", "user", "-"], b"no").done();
    store.feed(&["add", "note", "--", "-"], b"no").done();
    store.feed(&["summarize", "s", "-"], b"all of it").done();
    let turns = store.json(&["turns", "s"]);
    let said: Vec<_> = turns.iter().map(|turn| turn["content"].as_str().unwrap()).collect();
    assert_eq!(said, ["from stdin", "-", "-"]);
    let notes = store.json(&["notes"]);
    assert_eq!((&notes[0]["text"], &notes[1]["text"]), (&json!("a lesson\n"), &json!("-")));
    assert_eq!(store.one(&["session", "s"])["summary"], "all of it");
}

//! Text that was made to do harm.

use serde_json::json;

use crate::support::Store;

const HOSTILE: &str = "\0nul \x1b[31mred\x1b]0;title\x07 \r\n\ttab \u{9b}2J \u{202e}live \u{200b}\u{200e}\u{61c} 100% _ ' \" \\ 部署 \u{7f}";

/// Nothing on stdout that steers a terminal.
#[track_caller]
fn assert_tame(text: &str) {
    let wild = |c: char| {
        let hides = ['\u{202e}', '\u{200b}', '\u{200e}', '\u{61c}'].contains(&c);
        hides || (c.is_control() && c != '\n')
    };
    assert!(!text.contains(wild), "{text:?}");
}

/// Arguments cannot hold a NUL; batches can.
fn store() -> Store {
    let store = Store::new();
    let ops = [
        json!({"op": "start_session", "id": HOSTILE, "workspace": HOSTILE, "model": HOSTILE}),
        json!({"op": "record_turn", "session": HOSTILE, "role": HOSTILE, "content": HOSTILE,
               "tags": {HOSTILE: HOSTILE}, "metadata": {HOSTILE: HOSTILE}}),
        json!({"op": "record_step", "session": HOSTILE, "name": HOSTILE, "status": HOSTILE,
               "payload": HOSTILE}),
        json!({"op": "set_summary", "session": HOSTILE, "summary": HOSTILE}),
        json!({"op": "add_episode", "id": HOSTILE, "problem": HOSTILE, "summary": HOSTILE}),
        json!({"op": "add_note", "text": HOSTILE, "sources": [HOSTILE]}),
        json!({"op": "put_state", "key": HOSTILE, "value": {HOSTILE: HOSTILE}}),
        json!({"op": "append_audit", "action": HOSTILE, "decision": HOSTILE, "detail": HOSTILE}),
    ];
    store.batch(&[], &ops).done();
    store
}

#[test]
fn it_is_escaped_for_people_and_whole_for_programs() {
    let store = store();
    let word = &HOSTILE[1..];
    store.make(&["start", "--id", word]);
    store.make(&["turn", word, word, word]);
    for words in [
        &["sessions"][..],
        &["session", word],
        &["turns", word],
        &["steps", word],
        &["workspaces"],
        &["episodes"],
        &["notes"],
        &["audit"],
        &["state", "list"],
        &["find", "red"],
        &["recall", "live"],
        &["recall", "live", "--in", "turns"],
        &["recall", "live", "--in", "notes"],
        &["verify"],
    ] {
        assert_tame(&store.text(words));
    }
    assert_eq!(store.json(&["notes"])[0]["text"], HOSTILE);
    assert_eq!(store.json(&["state", "list"])[0]["value"], json!({HOSTILE: HOSTILE}));
    assert_eq!(store.json(&["turns", word])[0]["content"], word);
    assert_eq!(store.json(&["recall", "live"])[0]["record"]["problem"], HOSTILE);
}

#[test]
fn json_for_people_is_escaped_and_equal() {
    let store = store();
    let queries = b"\"live\"\n";
    let hits = store.feed(&["recall", "--queries", "-"], queries).done();
    assert_tame(&hits.out);
    assert_eq!(hits.lines()[0][0]["record"]["problem"], HOSTILE);
    let note = json!({"op": "add_note", "text": HOSTILE});
    let outcome = store.batch(&[], &[note]).done();
    assert_tame(&outcome.out);
    assert_eq!(outcome.lines()[0]["text"], HOSTILE);
    let word = json!(&HOSTILE[1..]);
    let shown = store.text(&["state", "set", "k", &word.to_string()]);
    assert_tame(&shown);
    let value = shown.lines().find_map(|line| line.strip_prefix("value")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(value.trim()).unwrap(), word);
}

#[test]
fn a_long_word_is_not_repeated() {
    let store = Store::new();
    let long = "x".repeat(50_000);
    for words in [&["state", "set", "k", &long][..], &[&long], &["sessions", "--limit", &long]] {
        for json in [&[][..], &["--json"]] {
            let run = store.run(&[words, json].concat()).failed(2, "InvalidArgument");
            assert!(run.err.len() < 1_000, "{run:?}");
        }
    }
    store.make(&["start"]);
    let run = store.run(&["session", &long[..1_000]]).failed(1, "NotFound");
    assert!(run.err.len() < 300, "{run:?}");
}

#[test]
fn it_is_escaped_in_errors() {
    let store = store();
    let word = &HOSTILE[1..];
    for words in [
        &["session", "ses\x1b[31m\n"][..],
        &[word],
        &["sessions", "--limit", word],
        &["state", "get", &word[1..]],
        &["--store", word, "sessions"],
        &["start", "--workspace", "x", "--id", word, "--model", "\x1b[5m", word],
    ] {
        let run = store.run(words);
        assert_ne!(run.status, Some(0));
        assert_tame(&run.err);
    }
}

#[test]
fn tables_cut_what_texts_and_json_show_whole() {
    let store = Store::new();
    let long = "x".repeat(50_000);
    store.make(&["start", "--id", "s"]);
    store.make(&["turn", "s", "user", &long]);
    let table = store.text(&["find", "xxx"]);
    assert!(table.contains("…") && table.len() < 1_000, "{table}");
    assert!(store.text(&["turns", "s"]).contains(&long));
    assert_eq!(store.json(&["find", "xxx"])[0]["content"], long);
}

#[test]
fn names_out_of_bounds_are_refused() {
    let store = Store::new();
    let long = "x".repeat(1_025);
    store.run(&["start", "--id", &long]).failed(2, "InvalidArgument");
    store.run(&["start", "--id", ""]).failed(2, "InvalidArgument");
    store.run(&["state", "set", &long, "1"]).failed(2, "InvalidArgument");
    store.run(&["start", "--workspace", &long]).failed(2, "InvalidArgument");
    store.run(&["state", "set", &long[1..], "1"]).done();
    assert_eq!(store.json(&["state", "list"])[0]["key"], long[1..]);
}

//! Batches.

use serde_json::json;

use crate::support::Store;

const OPS: &str = r#"{"op":"start_session","id":"s"}
{"op":"record_turn","session":"s","role":"user","content":"hello","tokens":3}
{"op":"put_state","key":"k","value":{"a":[1,18446744073709551615,0.1]}}
{"op":"delete_note","note":"nte-none"}
"#;

#[test]
fn ops_are_committed_together_and_answered_one_by_one() {
    let store = Store::new();
    let outcomes = store.feed(&["batch", "-"], OPS.as_bytes()).done().lines();
    assert_eq!(outcomes[0]["outcome"], "session");
    assert_eq!(outcomes[1]["outcome"], "turn");
    assert_eq!(outcomes[2]["value"], json!({"a": [1, u64::MAX, 0.1]}));
    assert_eq!(
        (&outcomes[3]["outcome"], &outcomes[3]["existed"]),
        (&json!("deleted"), &json!(false))
    );
    assert_eq!(store.one(&["session", "s"])["total_tokens"], 3);
    assert!(store.feed(&["batch"], b"").done().out.is_empty());
}

#[test]
fn a_refused_batch_leaves_nothing() {
    let store = Store::new();
    let ops = format!("{OPS}{{\"op\":\"resume_session\",\"session\":\"none\"}}\n");
    let run = store.feed(&["batch", "--json"], ops.as_bytes());
    assert_eq!(run.failed(1, "NotFound").error()["context"]["op"], "4");
    assert!(store.json(&["sessions"]).is_empty());
}

#[test]
fn blank_lines_are_passed_over_and_counted() {
    let store = Store::new();
    let ops = OPS.replace('\n', "\n\n \r\n");
    assert_eq!(store.feed(&["batch"], ops.as_bytes()).done().lines().len(), 4);
    let none = r#"{"op":"resume_session","session":"none"}"#;
    let run = store.feed(&["batch"], format!("\n\n{none}\n").as_bytes()).failed(1, "NotFound");
    assert!(run.err.contains("line 3: ") && run.err.contains("op: 0"), "{run:?}");
    let run = store.feed(&["batch"], b"\n{\"op\":\n").failed(1, "InvalidArgument");
    assert!(run.err.contains("line 2: ") && run.err.contains("at column"), "{run:?}");
    let answers = store.feed(&["recall", "--queries", "-"], b"\n\"x\"\n\n").done();
    assert_eq!(answers.out, "[]\n");
}

#[test]
fn a_long_value_is_not_repeated() {
    let store = Store::new();
    let op = format!("{{\"op\":\"{}\"}}\n", "x".repeat(5_000));
    for words in [&["batch"][..], &["batch", "--json"]] {
        let run = store.feed(words, op.as_bytes()).failed(1, "InvalidArgument");
        assert!(run.err.contains("start_session") && run.err.len() < 1_000, "{run:?}");
    }
}

#[test]
fn an_integer_that_would_be_rounded_is_refused() {
    let store = Store::new();
    let op = r#"{"op":"put_state","key":"k","value":[1,18446744073709551616]}"#;
    let run = store.feed(&["batch"], format!("{OPS}{op}\n").as_bytes());
    assert!(run.failed(1, "InvalidArgument").err.contains("line 5: "));
}

/// The examples of the README.
#[test]
fn every_op_is_as_the_readme_shows_it() {
    let store = Store::new();
    let readme = include_str!("../../README.md");
    let ops: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.split('`').find(|code| code.starts_with("{\"op\"")))
        .filter(|op| !op.contains('…'))
        .collect();
    assert!(ops.len() >= 20, "{ops:?}");
    store.feed(&["batch"], ops.join("\n").as_bytes()).done();
}

#[test]
fn a_bad_line_is_named_and_nothing_is_stored() {
    let store = Store::new();
    for bad in ["{", "[]", r#"{"op":"fly"}"#, r#"{"op":"add_note","text":"a","txet":"b"}"#] {
        let ops = format!("{OPS}{bad}\n");
        let run = store.feed(&["batch", "--json"], ops.as_bytes()).failed(1, "InvalidArgument");
        assert_eq!(run.error()["context"]["line"], "5", "{bad}");
    }
    store.feed(&["batch"], b"\xff\n").failed(1, "InvalidArgument");
    assert!(!store.path("store.db").exists(), "what is refused makes no store");
}

#[test]
fn a_key_makes_a_batch_repeatable() {
    let store = Store::new();
    let words = ["batch", "--key", "once"];
    let first = store.feed(&words, OPS.as_bytes()).done();
    let second = store.feed(&words, OPS.as_bytes()).done();
    assert_eq!(first.out, second.out);
    assert_eq!(store.json(&["turns", "s"]).len(), 1);
    store.feed(&words, b"{\"op\":\"add_note\",\"text\":\"x\"}\n").failed(1, "Conflict");
}

#[test]
fn a_key_is_honoured_inside_a_workspace() {
    let store = Store::new();
    let words = ["batch", "--key", "once", "--workspace", "w"];
    let ops = format!("{OPS}{{\"op\":\"delete_session\",\"session\":\"s\"}}\n");
    store.feed(&words, ops.as_bytes()).done();
    let again = store.feed(&words, ops.as_bytes()).done().lines();
    assert_eq!(again[4]["counts"]["turns"], 1);
}

//! Recall.

use serde_json::{Value, json};

use crate::support::Store;

fn episodes(store: &Store) {
    let open = ["add", "episode", "--problem", "workers crash after deploy", "--summary", "leak"];
    store.make(&open);
    store.make(&[&open[..], &["--closed"]].concat());
    store.make(&["add", "episode", "--problem", "slow build", "--summary", "cache", "--closed"]);
}

fn count(store: &Store, words: &[&str]) -> usize {
    store.json(words).len()
}

#[test]
fn episodes_are_ranked_with_score_and_record() {
    let store = Store::new();
    episodes(&store);
    let hits = store.json(&["recall", "why do the workers crash"]);
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["score"], 2.5);
    assert_eq!(hits[1]["score"], 2.0);
    assert_eq!(hits[0]["id"], hits[0]["record"]["id"]);
    assert_eq!(hits[0]["record"]["open"], true);
    let keys: Vec<&String> = hits[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "record", "score"]);
    let text = store.text(&["recall", "workers"]);
    assert!(text.contains("SCORE") && text.contains("workers crash"), "{text}");
}

#[test]
fn k_takes_any_number() {
    let store = Store::new();
    episodes(&store);
    assert_eq!(count(&store, &["recall", "workers", "-k", "0"]), 0);
    assert_eq!(count(&store, &["recall", "workers", "-k", "1"]), 1);
    assert_eq!(count(&store, &["recall", "workers", "-k", "18446744073709551615"]), 2);
    assert_eq!(count(&store, &["recall", "workers", "-k99999999999999999999999"]), 2);
    store.run(&["recall", "workers", "-k", "-1"]).failed(2, "InvalidArgument");
}

#[test]
fn filters_apply() {
    let store = Store::new();
    episodes(&store);
    store.make(&["start", "--id", "s"]);
    let turn = store.make(&["turn", "s", "user", "the workers crash"]);
    store.make(&["turn", "s", "assistant", "restart the workers"]);
    store.run(&["tag", &turn, "bug"]).done();
    store.make(&["add", "note", "watch the workers"]);

    assert_eq!(count(&store, &["recall", "workers", "--open"]), 1);
    assert_eq!(count(&store, &["recall", "workers", "--in", "turns"]), 2);
    assert_eq!(count(&store, &["recall", "workers", "--in", "turns", "--role", "user"]), 1);
    assert_eq!(count(&store, &["recall", "workers", "--in", "turns", "--tag", "bug"]), 1);
    assert_eq!(count(&store, &["recall", "workers", "--in", "notes"]), 1);
    for scorer in ["overlap", "bm25", "context"] {
        for kind in ["episodes", "turns", "notes"] {
            let words = ["recall", "workers", "--in", kind, "--scorer", scorer];
            assert!(count(&store, &words) > 0, "{words:?}");
        }
    }
    assert_eq!(count(&store, &["recall", "workers", "--since", "2020-01-01"]), 2);
    assert_eq!(count(&store, &["recall", "workers", "--since", "9000-01-01T00:00:00Z"]), 0);
    for wrong in [
        &["recall", "x", "--since", "yesterday"][..],
        &["recall", "x", "--in", "everything"],
        &["recall", "x", "--scorer", "magic"],
        &["recall", "x", "--role", "user"],
        &["recall", "x", "--in", "turns", "--open"],
        &["recall", "x", "--in", "notes", "--tag", "t"],
    ] {
        store.run(wrong).failed(2, "InvalidArgument");
    }
}

#[test]
fn any_text_is_a_query() {
    let store = Store::new();
    episodes(&store);
    for text in ["don't", "NEAR(", "\"", "*", "?", "x:y", "-x", "--", "- item", "", "%", "\n"] {
        let words = ["recall", "--json", text];
        let words =
            if text == "--" { vec!["recall", "--json", "--", "--"] } else { words.to_vec() };
        store.run(&words).done();
    }
}

#[test]
fn queries_are_answered_line_by_line() {
    let store = Store::new();
    episodes(&store);
    let questions = "\"workers\"\n\"no such thing\"\r\n\"build\\u0000\"";
    for words in [&["recall", "--queries", "-"][..], &["recall", "--queries", "-", "--json"]] {
        let answers = store.feed(words, questions.as_bytes()).done().lines();
        assert_eq!(answers.len(), 3);
        assert_eq!(answers[0].as_array().unwrap().len(), 2);
        assert_eq!(answers[1], json!([]));
        assert_eq!(answers[2][0]["record"]["problem"], "slow build");
        assert_eq!(answers[0], Value::from(store.json(&["recall", "workers"])));
    }
    let run = store.feed(&["recall", "--queries", "-"], b"\"build\"\nbuild\n");
    assert_eq!(run.failed(1, "InvalidArgument").lines().len(), 1, "what was answered stays");
    let run = store.feed(&["recall", "--queries", "-", "--json"], b"\"a\"\n{}\n");
    let error = run.failed(1, "InvalidArgument").error();
    assert_eq!(error["context"]["line"], "2");
    store.feed(&["recall", "--queries", "-"], b"\"\xff\"\n").failed(1, "InvalidArgument");
    for wrong in
        [&["recall"][..], &["recall", "x", "--queries", "-"], &["recall", "--queries", "file"]]
    {
        store.run(wrong).failed(2, "InvalidArgument");
    }
}

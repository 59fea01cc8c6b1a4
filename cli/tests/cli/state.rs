//! Agent state.

use serde_json::{Value, json};

use crate::support::Store;

#[test]
fn a_value_is_set_read_listed_and_deleted() {
    let store = Store::new();
    let entry = store.one(&["state", "set", "plan", r#"{"step": 1, "n": 2512292042121000001}"#]);
    assert_eq!((&entry["version"], &entry["workspace"]), (&json!(1), &json!("default")));
    assert_eq!(store.one(&["state", "get", "plan"])["value"]["n"], 2_512_292_042_121_000_001_u64);
    for (key, value) in [("plan.b", "-1.5"), ("", "null"), ("100%", "\"x\"")] {
        store.run(&["state", "set", key, value]).done();
    }
    assert_eq!(store.one(&["state", "get", ""])["value"], Value::Null);
    let keys = |words: &[&str]| -> Vec<String> {
        let entries = store.json(words);
        entries.iter().map(|entry| entry["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&["state", "list"]), ["", "100%", "plan", "plan.b"]);
    assert_eq!(keys(&["state", "list", "plan"]), ["plan", "plan.b"]);
    assert_eq!(keys(&["state", "list", "%"]), [""; 0]);
    assert!(store.text(&["state", "list"]).contains("VERSION"));
    assert!(store.text(&["state", "get", "plan.b"]).contains("-1.5"));

    assert_eq!(store.text(&["state", "delete", "plan"]), "deleted: states 1\n");
    assert_eq!(store.one(&["state", "delete", "plan"])["existed"], false);
    store.run(&["state", "get", "plan"]).failed(1, "NotFound");
    assert_eq!(store.one(&["state", "set", "plan", "2"])["version"], 2, "the count goes on");
}

#[test]
fn an_expectation_is_kept_or_refused() {
    let store = Store::new();
    store.run(&["state", "set", "k", "1", "--if-absent"]).done();
    store.run(&["state", "set", "k", "2", "--if-absent"]).failed(1, "Conflict");
    assert_eq!(store.one(&["state", "set", "k", "2", "--if-version", "1"])["version"], 2);
    store.run(&["state", "set", "k", "3", "--if-version", "1"]).failed(1, "Conflict");
    store
        .run(&["state", "set", "k", "3", "--if-version", "1", "--if-absent"])
        .failed(2, "InvalidArgument");
    assert_eq!(store.one(&["state", "get", "k"])["value"], 2);
}

#[test]
fn a_ttl_ends_an_entry() {
    let store = Store::new();
    let entry = store.one(&["state", "set", "k", "1", "--ttl", "30d"]);
    assert!(entry["expires_at"].is_string());
    store.run(&["state", "get", "k"]).done();
    store.run(&["state", "set", "k", "1", "--ttl", "0s"]).done();
    store.run(&["state", "get", "k"]).failed(1, "NotFound");
    store.run(&["state", "set", "k", "1", "--ttl", "soon"]).failed(2, "InvalidArgument");
}

#[test]
fn a_value_is_strict_json() {
    let store = Store::new();
    for wrong in ["", "{", "nope", "NaN", "1 2", "{'a':1}", "01"] {
        store.run(&["state", "set", "k", wrong]).failed(2, "InvalidArgument");
    }
    assert!(!store.path("store.db").exists(), "wrong words make no store");
}

#[test]
fn a_get_without_a_workspace_spans_all() {
    let store = Store::new();
    store.run(&["--workspace", "a", "state", "set", "k", "1"]).done();
    store.run(&["--workspace", "b", "state", "set", "k", "2"]).done();
    store.run(&["--workspace", "b", "state", "set", "kk", "3"]).done();
    let values: Vec<Value> = store
        .json(&["state", "get", "k"])
        .into_iter()
        .map(|entry| entry["value"].clone())
        .collect();
    assert_eq!(values, [1, 2]);
    assert_eq!(store.one(&["state", "get", "k", "--workspace", "b"])["value"], 2);
    store.run(&["state", "get", "k", "--workspace", "c"]).failed(1, "NotFound");
}

#[test]
fn a_number_is_kept_exactly_or_refused() {
    let store = Store::new();
    for wrong in ["18446744073709551616", "-9223372036854775809", "[{\"a\":99999999999999999999}]"]
    {
        let run = store.run(&["state", "set", "k", wrong]).failed(2, "InvalidArgument");
        assert!(run.err.contains("64 bits"), "{run:?}");
        store.run(&["add", "audit", "a", "allow", wrong]).failed(2, "InvalidArgument");
    }
    for kept in ["18446744073709551615", "-9223372036854775808", "1e30", "\"99999999999999999999\""]
    {
        let value: serde_json::Value = serde_json::from_str(kept).unwrap();
        assert_eq!(store.one(&["state", "set", "k", kept])["value"], value);
    }
}

//! Copies into another store.

use std::process::Stdio;

use serde_json::json;

use crate::support::{Store, bare, run};

/// A store with a session of `turns` turns, and an audit record.
fn filled(turns: usize) -> Store {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    let op = |n| json!({"op": "record_turn", "session": "s", "role": "user", "content": format!("turn {n}")});
    let ops: Vec<_> = (0..turns).map(op).collect();
    store.batch(&[], &ops).done();
    store.make(&["add", "audit", "act", "allow"]);
    store
}

/// What a store of any backend exports.
fn exported(url: &str) -> String {
    run(bare(&["--store", url, "export"]), b"").done().out
}

#[test]
fn everything_goes_to_any_backend_and_back() {
    let store = filled(3);
    let wanted = store.text(&["export"]);
    let redb = format!("redb:{}", store.word("deep/agent.redb"));
    let back = format!("sqlite:{}", store.word("back.db"));
    let text = store.text(&["copy", "--to", &redb]);
    assert_eq!(text, "copied: sessions 1, turns 3, audits 1\n");
    assert_eq!(exported(&redb), wanted);
    run(bare(&["--store", &redb, "copy", "--to", &back]), b"").done();
    assert_eq!(exported(&back), wanted);

    let report = store.one(&["copy", "--to", &redb]);
    assert_eq!(
        (&report["copied"]["turns"], &report["already_there"]["turns"]),
        (&json!(0), &json!(3))
    );
    let text = store.text(&["copy", "--to", &redb]);
    assert_eq!(text, "copied: nothing\nalready there: sessions 1, turns 3, audits 1\n");
}

#[test]
fn a_copy_that_cannot_be_made_says_why() {
    let store = filled(1);
    let redb = format!("redb:{}", store.word("agent.redb"));
    run(bare(&["--store", &redb, "add", "note", "mine"]), b"").done();
    let before = exported(&redb);
    let refused = store.run(&["copy", "--to", &redb]).failed(1, "Conflict");
    assert!(refused.err.contains("kind: note"), "{refused:?}");
    assert_eq!(exported(&redb), before);
    store.run(&["copy", "--to", &store.url()]).failed(1, "Conflict");
    store.run(&["copy", "--to", "oracle:x"]).failed(2, "InvalidArgument");
    store.run(&["copy", "--to", &redb, "--workspace", "w"]).failed(2, "InvalidArgument");
    store.run(&["copy"]).failed(2, "InvalidArgument");
}

/// Killed as soon as there is something in the copy, and run again.
#[test]
fn a_copy_that_was_killed_goes_on() {
    const TURNS: usize = 12_000;
    let store = filled(TURNS);
    let to = format!("sqlite:{}", store.word("copy.db"));
    let mut child = store.command(&["copy", "--to", &to]);
    let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let turns = || {
        let stats = run(bare(&["--store", &to, "stats", "--json"]), b"");
        match stats.status {
            Some(0) => stats.lines()[0]["counts"]["turns"].as_u64().unwrap(),
            // It has not been made yet.
            _ => 0,
        }
    };
    while turns() == 0 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left = turns();
    assert!(left < TURNS as u64, "it was killed too late");
    let report = store.one(&["copy", "--to", &to]);
    assert_eq!(report["already_there"]["turns"], left);
    assert_eq!(report["copied"]["turns"], TURNS as u64 - left);
    assert!(exported(&to) == store.text(&["export"]));
}

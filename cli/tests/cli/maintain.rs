//! Upkeep.

use serde_json::json;

use crate::support::Store;

fn filled() -> Store {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    store.make(&["turn", "s", "user", "hello"]);
    store.make(&["add", "note", "n"]);
    store
}

#[test]
fn what_there_is_is_counted() {
    let store = filled();
    let stats = store.one(&["stats"]);
    assert_eq!(stats["counts"]["turns"], 1);
    assert_eq!(store.one(&["workspaces"])["notes"], 1);
    assert!(store.text(&["stats"]).contains("turns"));
    let text = store.text(&["workspaces"]);
    assert!(text.contains("NAME") && text.contains("default"), "{text}");
}

#[test]
fn pruning_takes_what_has_long_been_over() {
    let store = filled();
    store.run(&["end", "s"]).done();
    assert_eq!(store.text(&["prune", "--older-than", "30d"]), "deleted: nothing\n");
    assert_eq!(store.text(&["prune", "--older-than", "0s"]), "deleted: sessions 1, turns 1\n");
    assert_eq!(store.one(&["prune", "--older-than", "0s"])["sessions"], 0);
    assert_eq!(store.json(&["notes"]).len(), 1);
}

#[test]
fn compacting_wipes_what_was_deleted() {
    let store = filled();
    let marker = "a-secret-that-must-go";
    store.make(&["turn", "s", "user", marker]);
    store.run(&["delete", "session", "s"]).done();
    assert_eq!(store.text(&["compact"]), "compacted\n");
    assert!(store.run(&["compact", "--json"]).done().out.is_empty());
    let bytes = std::fs::read(store.path("store.db")).unwrap();
    assert!(!bytes.windows(marker.len()).any(|w| w == marker.as_bytes()));
}

#[test]
fn a_sound_store_is_clean() {
    let store = filled();
    assert_eq!(store.one(&["verify"])["problems"], json!([]));
    assert_eq!(store.one(&["verify"])["checked"]["turns"], 1);
    let text = store.text(&["verify", "--repair"]);
    assert!(text.contains("checked: sessions 1, turns 1, notes 1\nno problems\n"), "{text}");
}

#[test]
fn what_is_wrong_is_told_and_repaired_where_it_can_be() {
    let store = filled();
    store.make(&["add", "audit", "act", "allow"]);
    store.damage("UPDATE sessions SET turn_count = 99");
    let run = store.run(&["verify"]);
    assert_eq!((run.status, run.err.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.out.contains("session s: turn_count is 99"), "{run:?}");
    assert!(run.out.ends_with("problems: 1\n"), "{run:?}");
    let run = store.run(&["verify", "--json"]);
    assert_eq!(run.status, Some(1));
    assert_eq!(run.lines()[0]["problems"][0]["location"], "session s");
    assert!(store.text(&["verify", "--repair"]).contains("(repaired)"));
    store.run(&["verify"]).done();

    store.damage("UPDATE audit SET decision = 'deny'");
    assert_eq!(store.run(&["verify"]).status, Some(1));
    assert_eq!(store.run(&["verify", "--repair"]).status, Some(1), "a record is not invented");
}

#[test]
fn a_row_that_cannot_be_read_is_named_and_the_others_are_there() {
    let store = filled();
    store.make(&["turn", "s", "user", "broken"]);
    store.make(&["start", "--id", "other"]);
    store.make(&["turn", "other", "user", "sound"]);
    store.damage("UPDATE turns SET metadata = '{' WHERE content = 'broken'");
    let error = store.run(&["turns", "s", "--json"]).failed(1, "Corrupt").error();
    assert_eq!(error["context"]["table"], "turns");
    store.run(&["export"]).failed(1, "Corrupt");
    assert_eq!(store.run(&["verify"]).status, Some(1));
    assert_eq!(store.json(&["turns", "other"]).len(), 1);
    assert_eq!(store.one(&["delete", "session", "s"])["existed"], true);
    store.run(&["verify"]).done();
}

#[test]
fn a_backup_is_a_store() {
    let store = filled();
    let copy = store.word("copy.db");
    assert!(store.text(&["backup", &copy]).starts_with("copied to "));
    let url = format!("sqlite:{copy}");
    assert_eq!(store.text(&["--store", &url, "export"]), store.text(&["export"]));
    assert_eq!(store.run(&["backup", &copy]).status, Some(1), "nothing is overwritten");
}

#[test]
fn the_head_of_each_audit_chain_can_be_kept_elsewhere() {
    let store = filled();
    assert_eq!(store.text(&["audit", "--head"]), "no audit records\n");
    for workspace in ["a", "b"] {
        for action in ["one", "two"] {
            store.make(&["add", "audit", action, "allow", "--workspace", workspace]);
        }
    }
    let all = store.json(&["audit"]);
    let heads = store.json(&["audit", "--head"]);
    let wanted = |record: &serde_json::Value| json!({"workspace": record["workspace"], "seq": record["seq"], "hash": record["hash"]});
    assert_eq!(heads, [wanted(&all[1]), wanted(&all[3])]);
    assert_eq!(store.json(&["audit", "--head", "--workspace", "b"]), heads[1..]);
    assert!(store.text(&["audit", "--head"]).contains(all[3]["hash"].as_str().unwrap()));
}

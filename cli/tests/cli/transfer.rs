//! Exports and imports.

use std::fs;

use serde_json::json;

use crate::support::Store;

fn filled() -> Store {
    let store = Store::new();
    store.make(&["start", "--id", "s", "--workspace", "w"]);
    let turn = store.make(&["turn", "s", "user", "hello"]);
    store.run(&["tag", &turn, "topic", "x"]).done();
    store.make(&["step", "s", "plan", "success", "[1]"]);
    let episode = store.make(&["add", "episode", "--problem", "p", "--summary", "s"]);
    store.make(&["add", "note", "n", "--source", &episode]);
    store.run(&["state", "set", "k", "1.5"]).done();
    store.run(&["state", "set", "gone", "1"]).done();
    store.run(&["state", "delete", "gone"]).done();
    store.make(&["add", "audit", "act", "allow"]);
    store
}

#[test]
fn an_export_is_read_back_into_an_equal_store() {
    let (store, other) = (filled(), Store::new());
    let everything = store.text(&["export"]);
    assert!(everything.starts_with("{\"memkeep_export\":1}\n"), "{everything}");
    assert_eq!(store.text(&["export", "-"]), everything);
    let file = store.word("out.jsonl");
    assert_eq!(store.text(&["export", &file]), format!("exported 8 records to {file}\n"));
    assert_eq!(fs::read_to_string(&file).unwrap(), everything);
    store.run(&["export", &file]).done();
    assert_eq!(fs::read_to_string(&file).unwrap(), everything, "an older export is replaced");

    let dry = other.one(&["import", &file, "--dry-run"]);
    assert_eq!(dry["counts"]["turns"]["stored"], 1);
    assert!(!other.path("store.db").exists(), "a dry run makes no store");
    let report = other.one(&["import", &file]);
    assert_eq!((&report["format"], &report["issues"]), (&json!("jsonl"), &json!([])));
    assert_eq!(other.text(&["export"]), everything);
    let again = other.one(&["import", &file, "--from", "jsonl"]);
    assert_eq!(
        again["counts"]["turns"],
        json!({"stored": 0, "already_there": 1, "repaired": 0, "skipped": 0})
    );
    assert_eq!(other.text(&["export"]), everything);

    let text = other.text(&["import", &file]);
    assert!(text.starts_with("read as jsonl\n") && text.contains("ALREADY THERE"), "{text}");
}

#[test]
fn the_databases_of_other_systems_are_read_and_not_changed() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    for (name, kind, count) in [("muse", "episodes", 60), ("velune", "steps", 40)] {
        let store = Store::new();
        let original = fs::read(fixtures.join(format!("{name}_small.db"))).unwrap();
        fs::write(store.path("source.db"), &original).unwrap();
        let source = store.word("source.db");

        let dry = store.one(&["import", &source, "--dry-run"]);
        let report = store.one(&["import", &source]);
        assert_eq!(report["format"], name);
        assert_eq!(report["counts"][kind]["stored"], count);
        assert_eq!(report["counts"], dry["counts"]);
        assert_eq!(report["issues"], dry["issues"]);
        assert_eq!(store.one(&["stats"])["counts"][kind], count);
        store.run(&["verify"]).done();

        let again = store.one(&["import", &source, "--from", name]);
        assert_eq!(again["counts"][kind]["already_there"], count);
        assert_eq!(fs::read(store.path("source.db")).unwrap(), original);
        let beside = |suffix| store.path(&format!("source.db{suffix}")).exists();
        assert!(!beside("-wal") && !beside("-shm") && !beside("-journal"));
    }
}

#[test]
fn an_import_goes_to_the_workspace_that_is_named() {
    let store = Store::new();
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/muse_small.db");
    store.run(&["import", file.to_str().unwrap(), "--workspace", "w"]).done();
    assert_eq!(store.json(&["episodes", "--workspace", "w"]).len(), 60);
    assert_eq!(store.json(&["workspaces"]).len(), 1);
}

#[test]
fn every_row_that_was_skipped_is_told() {
    let store = Store::new();
    let file = store.path("in.jsonl");
    let note = r#"{"kind":"note","id":"n1","workspace":"w","created_at":"2026-01-01T00:00:00Z","text":"a"}"#;
    fs::write(&file, format!("{{\"memkeep_export\":1}}\n{note}\nnonsense\n")).unwrap();
    let file = store.word("in.jsonl");
    let report = store.one(&["import", &file]);
    assert_eq!(report["counts"]["notes"]["stored"], 1);
    let issue = &report["issues"][0];
    assert_eq!((&issue["action"], &issue["rowid"]), (&json!("skipped"), &json!(3)));
    let text = store.text(&["import", &file]);
    assert!(text.contains("skipped: lines row 3: "), "{text}");
}

#[test]
fn what_cannot_be_read_is_an_error_and_makes_no_store() {
    let store = Store::new();
    fs::write(store.path("letter"), "dear friend\n").unwrap();
    fs::write(store.path("broken"), b"SQLite format 3\0 and nothing like it").unwrap();
    fs::write(store.path("empty"), "").unwrap();
    for (name, kind) in [
        ("nowhere", "NotFound"),
        ("letter", "InvalidArgument"),
        ("broken", "Corrupt"),
        ("empty", "InvalidArgument"),
    ] {
        store.run(&["import", &store.word(name)]).failed(1, kind);
        assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 3, "{name}");
    }
    let letter = store.word("letter");
    store.run(&["import", &letter, "--from", "muse"]).failed(1, "InvalidArgument");
    store.run(&["import", &letter, "--from", "paper"]).failed(2, "InvalidArgument");
    let run = store.feed(&["import", "-"], b"dear friend\n").failed(1, "InvalidArgument");
    assert!(run.err.contains("path: stdin") && !run.err.contains("tmp"), "{run:?}");
    assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 3);
}

#[test]
fn an_export_is_read_from_stdin() {
    let (store, other) = (filled(), Store::new());
    let everything = store.text(&["export"]);
    let dry = other.feed(&["import", "-", "--dry-run", "--json"], everything.as_bytes()).done();
    assert_eq!(dry.lines()[0]["counts"]["turns"]["stored"], 1);
    other.feed(&["import", "-"], everything.as_bytes()).done();
    assert_eq!(other.text(&["export"]), everything);
    let run = other.feed(&["import", "-", "--workspace", "x"], everything.as_bytes());
    assert_eq!(run.status, Some(0));
    assert!(run.err.contains("no effect on an export"), "{run:?}");
}

#[test]
fn the_report_tells_what_was_repaired_and_kept_and_no_long_value_whole() {
    let store = Store::new();
    let note = |id: &str, text: &str| {
        format!(
            r#"{{"kind":"note","id":"{id}","workspace":"w","created_at":"2026-01-01T00:00:00Z","text":"{text}"}}"#
        )
    };
    let head = "{\"memkeep_export\":1}\n";
    let long = "x".repeat(900);
    let file = [head, &note("n1", "a\\ud800"), "\n"].concat();
    let text = store.feed(&["import", "-"], file.as_bytes()).done().out;
    assert!(text.contains("include the repaired"), "{text}");
    store.feed(&["import", "-"], [head, &note(&long, "a"), "\n"].concat().as_bytes()).done();
    let state = r#"{"kind":"state","workspace":"w","key":"k","version":1,"value":1,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}"#;
    store.feed(&["import", "-"], [head, state, "\n"].concat().as_bytes()).done();
    store.run(&["state", "set", "k", "2", "--workspace", "w"]).done();
    let text = store.feed(&["import", "-"], [head, state, "\n"].concat().as_bytes()).done().out;
    assert!(text.contains("kept: 1 "), "{text}");
    let other = [head, &note(&long, "b"), "\n"].concat();
    let text = store.feed(&["import", "-"], other.as_bytes()).done().out;
    assert!(!text.contains(&long[..100]) && text.contains('…'), "{text}");
}

/// Killed imports leave copies of whole databases: the next takes them away, but nobody else's.
#[test]
fn an_import_removes_what_killed_ones_left() {
    let store = Store::new();
    let left = |name: &str, has_lock: bool| {
        let folder = store.path(&format!("memkeep-import-{name}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("source.db"), "a whole database").unwrap();
        if has_lock {
            fs::write(folder.join("lock"), "").unwrap();
        }
        folder
    };
    let (killed, used, begun) = (left("killed", true), left("used", true), left("begun", false));
    let lock = fs::File::open(used.join("lock")).unwrap();
    lock.try_lock().unwrap();
    let file =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/muse_small.db");
    let mut import = store.command(&["import", file.to_str().unwrap()]);
    import.env("TMPDIR", store.path("")).env("TMP", store.path(""));
    crate::support::run(import, b"").done();
    assert!(!killed.exists() && used.join("source.db").exists() && begun.exists());
    let folders = fs::read_dir(store.path("")).unwrap().flatten();
    let left =
        folders.filter(|entry| entry.file_name().to_string_lossy().starts_with("memkeep-import"));
    assert_eq!(left.count(), 2, "its own is gone");
}

//! How things go wrong.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
};

use serde_json::json;

use crate::support::{Store, bare, run};

#[test]
fn wrong_words_end_with_2_in_either_form() {
    let store = Store::new();
    for words in [
        &["fly"][..],
        &["sessions", "--limit"],
        &["--store", "sqlite:x", "sessions", "--store", "sqlite:y"],
        &["--workspace", "a", "start", "--workspace", "b"],
        &["--workspace", "a", "state", "get", "k", "--workspace=b"],
        &["state", "--workspace", "a", "get", "k", "--workspace", "b"],
        &["start", "--workspace", "a", "--workspace", "b"],
        &["sessions", "--order", "size"],
        &["session"],
        &["turns", "s", "--last", "x"],
        &["delete", "audit", "x"],
        &["prune"],
        &["prune", "--older-than", "1y"],
        &["add", "episode", "--problem", "p"],
        &["batch", "file"],
        &["--store", "nowhere", "sessions"],
        &["--store", "nosuch:x", "sessions"],
        &["--store", "", "sessions"],
        &["--store", "sqlite:", "sessions"],
        &["--store", "sqlite:x?nosuch=1", "sessions"],
    ] {
        assert!(store.run(words).failed(2, "InvalidArgument").out.is_empty(), "{words:?}");
        let run = store.run(&[&["--json"], words].concat()).failed(2, "InvalidArgument");
        let error = run.error();
        assert!(error["message"].is_string() && error["context"].is_object(), "{error}");
        assert!(run.out.is_empty());
    }
    for words in [&[][..], &["state"]] {
        let shown = run(bare(words), b"");
        assert_eq!(shown.status, Some(2));
        assert!(shown.err.contains("Commands:") && !shown.err.contains("error"), "{shown:?}");
        store.run(&[words, &["--json"]].concat()).failed(2, "InvalidArgument");
    }
}

#[test]
fn what_is_no_number_or_length_is_told() {
    let store = Store::new();
    for words in [
        &["sessions", "--limit", "-1"][..],
        &["find", "x", "--limit", "-1"],
        &["turns", "s", "--last", "-1"],
        &["recall", "x", "-k", "-1"],
        &["state", "set", "k", "1", "--if-version", "-1"],
    ] {
        let run = store.run(words).failed(2, "InvalidArgument");
        assert!(run.err.contains("not a number of 0 or more"), "{run:?}");
    }
    for words in
        [&["prune", "--older-than", "-1h"][..], &["state", "set", "k", "1", "--ttl", "-1h"]]
    {
        let run = store.run(words).failed(2, "InvalidArgument");
        assert!(run.err.contains("not negative"), "{run:?}");
    }
}

#[test]
fn usage_lines_do_not_ask_for_what_is_known() {
    let store = Store::new();
    for words in [&["turn"][..], &["turn", "--help"], &["sessions", "--nosuch"]] {
        let run = store.run(words);
        let said = run.out.clone() + &run.err;
        let usage = said.lines().find(|line| line.starts_with("Usage: "));
        assert!(usage.is_some_and(|usage| !usage.contains("--store")), "{run:?}");
    }
    for command in ["verify", "compact", "backup"] {
        let help = store.text(&[command, "--help"]);
        assert!(help.contains("--store") && !help.contains("--workspace"), "{help}");
    }
    assert!(store.text(&["notes", "--help"]).contains("--workspace"));
}

#[test]
fn help_and_version_are_no_errors() {
    let store = Store::new();
    let help = store.text(&["--help"]);
    for command in ["import", "recall", "state", "verify"] {
        assert!(help.contains(command), "{help}");
    }
    assert!(store.text(&["turn", "--help"]).contains("stdin"));
    assert!(store.text(&["--version"]).starts_with("memkeep "));
    let secret = run(
        {
            let mut command = bare(&["--help"]);
            command.env("MEMKEEP_STORE", "postgres://me:hunter2@host/db");
            command
        },
        b"",
    );
    assert!(!secret.done().out.contains("hunter2"));
}

#[test]
fn a_servers_password_is_not_shown() {
    for url in ["postgres://me:hunter2@127.0.0.1:1/db", "postgres://me:hunter2@127.0.0.1:x/db"] {
        for json in [&[][..], &["--json"]] {
            let ran = run(bare(&[&["--store", url, "stats"], json].concat()), b"");
            assert!(ran.status != Some(0) && ran.out.is_empty(), "{ran:?}");
            assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
        }
    }
    // Where no URL is looked for, or another.
    let url = "postgres://me:hunter2 x@127.0.0.1:1/db";
    let store = Store::new();
    for words in [
        &[url][..],
        &["copy", url],
        &["copy", "--to", url],
        &["stats", url],
        &["import", url],
        &["backup", url],
        &["export", url],
        &["session", url],
        &["recall", "x", "-k", url],
        &["recall", "x", "--in", url],
        &["stats", "--workspace", "x", url],
    ] {
        for json in [&[][..], &["--json"]] {
            let ran = store.run(&[words, json].concat());
            assert!(ran.status != Some(0) && ran.out.is_empty(), "{ran:?}");
            assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
        }
    }
}

#[test]
fn unknown_ids_are_not_found() {
    let store = Store::new();
    store.make(&["start"]);
    for words in [
        &["session", "x"][..],
        &["session", ""],
        &["turns", "x"],
        &["turns", "x", "--last", "2"],
        &["steps", "x"],
        &["turn", "x", "user", "hi"],
        &["step", "x", "plan", "success"],
        &["summarize", "x", "y"],
        &["end", "x"],
        &["resume", "x"],
        &["tag", "x", "y"],
        &["untag", "x", "y"],
        &["revise", "x", "--problem", "y"],
        &["close", "x"],
        &["reopen", "x"],
        &["state", "get", "x"],
    ] {
        store.run(words).failed(1, "NotFound");
    }
    let error = store.run(&["--json", "session", "x"]).failed(1, "NotFound").error();
    assert_eq!(error["context"]["session"], "x");
    for kind in ["session", "turn", "episode", "note"] {
        assert_eq!(store.one(&["delete", kind, "x"])["existed"], false);
    }
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_reading() {
    let store = Store::new();
    let file = store.word("out");
    for words in [
        &["sessions"][..],
        &["session", "x"],
        &["turns", "x"],
        &["recall", "x"],
        &["recall", "--queries", "-"],
        &["find", "x"],
        &["state", "get", "x"],
        &["state", "list"],
        &["workspaces"],
        &["stats"],
        &["verify"],
        &["export"],
        &["export", &file],
        &["backup", &file],
        &["close", "x"],
        &["turn", "x", "user", "hi"],
        &["delete", "session", "x"],
        &["state", "delete", "x"],
        &["forget", "x"],
        &["prune", "--older-than", "1d"],
        &["compact"],
    ] {
        let run = store.run(words).failed(1, "NotFound");
        assert!(run.err.contains("store.db"), "{}", run.err);
    }
    assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 0);
    store.run(&["start"]).done();
    assert!(store.path("store.db").exists());
}

#[test]
fn a_foreign_file_is_not_a_store_and_stays_as_it_is() {
    let store = Store::new();
    let text = "this is no database, but a letter to a friend\n".repeat(50);
    fs::write(store.path("store.db"), &text).unwrap();
    for words in [&["sessions"][..], &["start"], &["verify"], &["add", "note", "x"]] {
        let run = store.run(words);
        assert_eq!(run.status, Some(1), "{run:?}");
        assert!(run.err.starts_with("error[Corrupt]: "), "{run:?}");
        assert_eq!(run.err.lines().count(), 1, "a cause that only repeats is left out: {run:?}");
    }
    assert_eq!(fs::read_to_string(store.path("store.db")).unwrap(), text);
}

#[test]
fn the_store_is_named_by_word_variable_or_folder() {
    let store = Store::new();
    let url = store.url();
    run(bare(&["--store", &url, "start", "--id", "a"]), b"").done();
    run(bare(&["start", "--id", "b", "--store", &url]), b"").done();
    assert_eq!(store.json(&["sessions"]).len(), 2);
    let other = format!("sqlite:{}", store.word("other.db"));
    store.run(&["--store", &other, "start"]).done();
    assert_eq!(store.json(&["--store", &other, "sessions"]).len(), 1, "the word wins");

    let at_home = |words: &[&str]| {
        let mut command = bare(words);
        command.env("HOME", store.path("ho?me")).env_remove("XDG_DATA_HOME");
        run(command, b"")
    };
    at_home(&["sessions"]).failed(1, "NotFound");
    at_home(&["start"]).done();
    assert_eq!(at_home(&["sessions", "--json"]).done().lines().len(), 1);
}

#[test]
fn the_global_words_stand_anywhere() {
    let store = Store::new();
    store.run(&["--json", "--workspace", "w", "add", "note", "x"]).done();
    let words = [&["--json", "notes"][..], &["notes", "--json"]];
    for words in words {
        assert_eq!(store.run(words).done().lines()[0]["workspace"], "w");
    }
    let nested = store.run(&["state", "set", "k", "1", "--json", "--workspace", "w"]).done();
    assert_eq!(nested.lines()[0]["workspace"], "w");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let store = Store::new();
    store.make(&["start", "--id", "s"]);
    let op =
        json!({"op": "record_turn", "session": "s", "role": "user", "content": "x".repeat(999)});
    store.batch(&[], &vec![op; 2_000]).done();
    for words in [&["turns", "s"][..], &["turns", "s", "--json"], &["export"]] {
        let mut child =
            store.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let store = Store::new();
    store.make(&["start"]);
    for words in [&["sessions"][..], &["export"], &["export", "/dev/full"]] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = store.command(words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.starts_with("error[StorageFull]: "), "{words:?}: {said}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_stored_is_told_though_the_answer_cannot_be() {
    let store = Store::new();
    let file = store.word("out.jsonl");
    for words in [
        &["start", "--id", "s"][..],
        &["add", "note", "x", "--json"],
        &["state", "set", "k", "1"],
        &["export", &file],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = store.command(words).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("StorageFull"), "{words:?}: {said}");
        assert!(said.contains("is stored, but ") || said.contains("is written, but "), "{said}");
    }
    assert_eq!(store.json(&["sessions"]).len(), 1);
}

#[cfg(unix)]
#[test]
fn words_that_are_not_text_are_wrong() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let store = Store::new();
    let mut command = store.command(&["find"]);
    command.arg(OsStr::from_bytes(b"\xff"));
    run(command, b"").failed(2, "InvalidArgument");
}

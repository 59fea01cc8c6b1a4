//! Files that commands write: none is lost, least of all the store.

use std::fs;

use crate::support::{Store, bare, run};

fn filled() -> Store {
    let store = Store::new();
    store.make(&["add", "note", "n"]);
    store
}

fn left_over(store: &Store) -> Vec<String> {
    let names = fs::read_dir(store.path("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(".tmp") || name.starts_with(".memkeep")).collect()
}

#[test]
fn an_export_never_overwrites_the_store() {
    let store = filled();
    let before = fs::read(store.path("store.db")).unwrap();
    let mut names = vec![store.word("store.db"), store.word("./store.db")];
    names.extend(
        ["-wal", "-shm", "-journal"].map(|suffix| store.word(&format!("store.db{suffix}"))),
    );
    fs::create_dir(store.path("sub")).unwrap();
    names.push(store.word("sub/../store.db"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("store.db", store.path("link")).unwrap();
        std::os::unix::fs::symlink("link", store.path("link2")).unwrap();
        std::os::unix::fs::symlink("store.db-journal", store.path("dangling")).unwrap();
        std::os::unix::fs::symlink(".", store.path("sub/up")).unwrap();
        std::os::unix::fs::symlink(store.path(""), store.path("sub/here")).unwrap();
        fs::hard_link(store.path("store.db"), store.path("hard")).unwrap();
        let links =
            ["link", "link2", "dangling", "hard", "sub/up/../store.db", "sub/here/store.db"];
        names.extend(links.map(|name| store.word(name)));
    }
    for name in &names {
        store.run(&["export", name]).failed(1, "Conflict");
        store.run(&["backup", name]).failed(1, "Conflict");
        assert_eq!(fs::read(store.path("store.db")).unwrap(), before, "{name}");
        assert!(!store.path("store.db-journal").exists(), "{name}");
    }
    let mut relative = bare(&["--store", "sqlite:store.db", "export", "./store.db"]);
    relative.current_dir(store.path(""));
    run(relative, b"").failed(1, "Conflict");
    assert_eq!(store.json(&["notes"]).len(), 1);
    assert!(left_over(&store).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_shell_cannot_lead_an_export_into_the_store() {
    let store = filled();
    let before = fs::read(store.path("store.db")).unwrap();
    let file = fs::File::options().append(true).open(store.path("store.db")).unwrap();
    let output = store.command(&["export"]).stdout(file).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read(store.path("store.db")).unwrap(), before);
}

#[test]
fn an_export_replaces_nothing_but_an_export() {
    let store = filled();
    for text in ["dear friend\n", "", "{\"memkeep\":1}\n", "\n{\"memkeep_export\":1}\n"] {
        fs::write(store.path("out"), text).unwrap();
        store.run(&["export", &store.word("out")]).failed(1, "Conflict");
        assert_eq!(fs::read_to_string(store.path("out")).unwrap(), text);
    }
    fs::write(store.path("out"), "{\"memkeep_export\":1}\nrest\n").unwrap();
    store.run(&["export", &store.word("out")]).done();
    assert_eq!(fs::read_to_string(store.path("out")).unwrap(), store.text(&["export"]));
    assert!(left_over(&store).is_empty());
}

#[cfg(unix)]
#[test]
fn an_export_goes_to_what_a_link_leads_to() {
    use std::os::unix::fs::symlink;

    let store = filled();
    fs::create_dir(store.path("sub")).unwrap();
    symlink("sub/out", store.path("link")).unwrap();
    for _ in 0..2 {
        store.run(&["export", &store.word("link")]).done();
        assert!(store.path("link").is_symlink());
        let written = fs::read_to_string(store.path("sub/out")).unwrap();
        assert_eq!(written, store.text(&["export"]));
    }
}

#[cfg(unix)]
#[test]
fn exports_and_copies_are_private() {
    use std::os::unix::fs::PermissionsExt;

    let store = filled();
    for (command, name) in [("export", "out"), ("backup", "copy.db")] {
        store.run(&[command, &store.word(name)]).done();
        let mode = fs::metadata(store.path(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{command}");
    }
    let copy = format!("sqlite:{}", store.word("copy.db"));
    assert_eq!(store.json(&["notes", "--store", &copy]).len(), 1);
    store.run(&["backup", &store.word("copy.db")]).failed(1, "Conflict");
    assert!(left_over(&store).is_empty());
}

/// Also while it is made: nobody else can look into the folder that it is made in.
#[cfg(unix)]
#[test]
fn a_copy_is_private_from_its_first_byte() {
    use std::os::unix::fs::PermissionsExt;

    let store = filled();
    let mut number = 0;
    let mut is_seen = false;
    while !is_seen {
        number += 1;
        assert!(number < 500, "no folder was ever seen");
        let name = store.word(&format!("{number}.db"));
        let mut backup = store.command(&["backup", &name]).spawn().unwrap();
        while backup.try_wait().unwrap().is_none() {
            for name in left_over(&store) {
                // It may be gone again by now.
                let Ok(folder) = fs::metadata(store.path(&name)) else { continue };
                assert_eq!(folder.permissions().mode() & 0o777, 0o700);
                is_seen = true;
            }
        }
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named_as_it_was_given() {
    let store = filled();
    store.run(&["export", &store.word("")]).failed(2, "InvalidArgument");
    store.run(&["backup", &store.word("")]).failed(1, "Conflict");
    for command in ["export", "backup"] {
        let place = store.word("no/such");
        for json in [&[][..], &["--json"]] {
            let run = store.run(&[&[command, &place][..], json].concat()).failed(1, "NotFound");
            assert!(run.err.contains(&place) && !run.err.contains("/.tmp/"), "{run:?}");
            assert_eq!(run.err.matches("os error").count(), 1, "{run:?}");
            assert!(!run.err.contains(".memkeep-"), "{run:?}");
        }
    }
}

#[test]
fn a_tilde_is_left_to_the_shell() {
    let store = filled();
    for words in [
        &["--store", "sqlite:~/store.db", "start"][..],
        &["export", "~/out"],
        &["backup", "~/out"],
        &["import", "~/out"],
    ] {
        let mut command = store.command(words);
        command.current_dir(store.path(""));
        let run = run(command, b"").failed(2, "InvalidArgument");
        assert!(run.err.contains("home folder"), "{run:?}");
    }
    assert!(!store.path("~").exists());
}

#[test]
fn an_empty_file_is_no_store_until_something_is_put_there() {
    let store = Store::new();
    fs::write(store.path("store.db"), "").unwrap();
    for words in [&["sessions"][..], &["verify"], &["export"], &["compact"]] {
        let run = store.run(words).failed(1, "NotFound");
        assert!(run.err.contains("there is no store here"), "{run:?}");
    }
    assert_eq!(fs::read_dir(store.path("")).unwrap().count(), 1);
    assert_eq!(fs::metadata(store.path("store.db")).unwrap().len(), 0);
    store.make(&["start"]);
    assert_eq!(store.json(&["sessions"]).len(), 1);
}

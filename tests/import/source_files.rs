//! A source is only read: whatever state a program left it in, its bytes and its folder stay as they
//! are. A file that cannot be imported is told for what it is, and stores nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use memkeep::{Error, ErrorKind, ImportOptions, Scope, SourceFormat, import};
use rusqlite::Connection;

use crate::support::{Source, Store, fixture, import_all, import_with, on_every_backend};

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Imports a file and makes sure that nothing in its folder changed. Returns how many episodes the
/// store has then.
async fn import_untouched(store: &Store, path: &Path) -> u64 {
    let folder = path.parent().unwrap();
    let before = files(folder);
    import_all(store, path).await;
    assert_eq!(files(folder), before);
    store.stats(&Scope::All).await.unwrap().counts.episodes
}

/// Adds `count` episodes.
fn fill(db: &Connection, from: u32, count: u32) {
    let transaction = db.is_autocommit().then(|| db.unchecked_transaction().unwrap());
    for n in from..from + count {
        let sql = "INSERT INTO episodes VALUES ('e' || ?1, hex(zeroblob(1000)), 's', 1, ?1)";
        db.execute(sql, [n]).unwrap();
    }
    if let Some(transaction) = transaction {
        transaction.commit().unwrap();
    }
}

async fn refuse(store: &Store, path: &Path, options: ImportOptions) -> Error {
    let error = import(store.as_ref(), path, options).await.unwrap_err();
    assert_eq!(store.stats(&Scope::All).await.unwrap().counts.total(), 0);
    error
}

/// Copies a source and does something to the copy's bytes.
fn damaged(change: impl FnOnce(&mut Vec<u8>)) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.db");
    let mut bytes = fs::read(fixture("velune_small.db")).unwrap();
    change(&mut bytes);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

on_every_backend! {
    async fn a_file_at_rest(store: Store) {
        let source = Source::muse();
        fill(&source.db, 0, 10);
        let Source { path, db, folder } = source;
        drop(db);
        assert_eq!(import_untouched(&store, &path).await, 10);
        assert_eq!(files(folder.path()).len(), 1);
    }

    async fn a_file_in_wal_mode_at_rest(store: Store) {
        let source = Source::muse();
        source.db.pragma_update(None, "journal_mode", "wal").unwrap();
        fill(&source.db, 0, 10);
        let Source { path, db, folder } = source;
        drop(db);
        assert_eq!(files(folder.path()).len(), 1, "the log is folded in on closing");
        assert_eq!(import_untouched(&store, &path).await, 10);
    }

    async fn a_log_of_a_running_program(store: Store) {
        let source = Source::muse();
        source.db.pragma_update(None, "journal_mode", "wal").unwrap();
        source.db.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        fill(&source.db, 0, 10);
        source.run("BEGIN IMMEDIATE");
        fill(&source.db, 10, 5);
        // What is not committed is not there.
        assert_eq!(import_untouched(&store, &source.path).await, 10);
        source.run("COMMIT");
        assert_eq!(import_untouched(&store, &source.path).await, 15);
    }

    async fn a_log_that_a_killed_program_left(store: Store) {
        let source = Source::muse();
        source.db.pragma_update(None, "journal_mode", "wal").unwrap();
        fill(&source.db, 0, 10);
        let left = tempfile::tempdir().unwrap();
        for (path, bytes) in files(source.folder.path()) {
            let name = path.file_name().unwrap().to_owned();
            if name != "source.db-shm" {
                fs::write(left.path().join(name), bytes).unwrap();
            }
        }
        assert_eq!(files(left.path()).len(), 2);
        assert_eq!(import_untouched(&store, &left.path().join("source.db")).await, 10);
    }

    async fn a_journal_that_a_killed_program_left(store: Store) {
        let source = Source::muse();
        fill(&source.db, 0, 10);
        // A cache this small writes pages of a transaction before its end.
        source.run("PRAGMA cache_size = 5; BEGIN; UPDATE episodes SET summary = 'half'");
        fill(&source.db, 10, 200);
        let left = tempfile::tempdir().unwrap();
        for (path, bytes) in files(source.folder.path()) {
            fs::write(left.path().join(path.file_name().unwrap()), bytes).unwrap();
        }
        assert_eq!(files(left.path()).len(), 2);
        assert_eq!(import_untouched(&store, &left.path().join("source.db")).await, 10);
        let episode = store.episode(&Scope::All, &"e0".into()).await.unwrap().unwrap();
        assert_eq!(episode.summary, "s");
    }

    async fn a_program_that_writes_meanwhile(store: Store) {
        for mode in ["wal", "delete"] {
            let source = Source::muse();
            source.db.pragma_update(None, "journal_mode", mode).unwrap();
            let (stop, stopped) = mpsc::channel::<()>();
            let path = source.path.clone();
            let writer = thread::spawn(move || {
                let db = Connection::open(path).unwrap();
                db.execute_batch("PRAGMA wal_autocheckpoint = 20; PRAGMA synchronous = off").unwrap();
                let rest = Duration::from_millis(5);
                // Ends when the other end is dropped.
                while stopped.recv_timeout(rest) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let both = "BEGIN;
                        INSERT INTO episodes(problem) VALUES (hex(zeroblob(3000)));
                        INSERT INTO notes(text) VALUES ('a note'); COMMIT";
                    db.execute_batch(both).unwrap();
                }
            });
            for _ in 0..4 {
                let here = ImportOptions::new().workspace(mode);
                let counts = import(store.as_ref(), &source.path, here).await.unwrap().counts;
                let (episodes, notes) = (counts.episodes, counts.notes);
                assert_eq!(episodes.stored + episodes.already_there, notes.stored + notes.already_there);
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            drop(stop);
            writer.join().unwrap();
            let sql = "PRAGMA integrity_check";
            let whole: String = source.db.query_row(sql, [], |row| row.get(0)).unwrap();
            assert_eq!(whole, "ok");
        }
    }

    async fn a_file_that_may_only_be_read(store: Store) {
        let source = Source::muse();
        fill(&source.db, 0, 3);
        let Source { path, db, folder } = source;
        drop(db);
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        assert_eq!(import_untouched(&store, &path).await, 3);
        drop(folder);
    }

    async fn files_that_are_no_source(store: Store) {
        let folder = tempfile::tempdir().unwrap();
        let cases: [(&str, &[u8], &str); 6] = [
            ("empty", b"", "an empty file"),
            ("text", b"hello\n", "a text file"),
            ("json", b"{\"a\": 1}\n", "a JSON file"),
            ("gzip", &[0x1f, 0x8b, 8, 0], "a gzip file"),
            ("zip", b"PK\x03\x04", "a zip file"),
            ("binary", &[0xff, 0xfe, 0, 1], "a file of an unknown format"),
        ];
        for (name, bytes, what) in cases {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let error = refuse(&store, &path, ImportOptions::new()).await;
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
            assert!(error.to_string().contains(what), "{error}");
            let error = refuse(&store, &path, ImportOptions::new().from(SourceFormat::Muse)).await;
            assert!(error.to_string().contains(what), "{error}");
        }
        let error = refuse(&store, &folder.path().join("none"), ImportOptions::new()).await;
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = refuse(&store, folder.path(), ImportOptions::new()).await;
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    async fn databases_that_are_no_source(store: Store) {
        let other = Source::new("CREATE TABLE users(id); CREATE TABLE episodes(id, title)");
        let error = refuse(&store, &other.path, ImportOptions::new()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("its tables are episodes, users"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.db");
        memkeep::open(&format!("sqlite:{}", own.display())).await.unwrap().close().await.unwrap();
        let error = refuse(&store, &own, ImportOptions::new()).await;
        assert!(error.to_string().contains("a store of memkeep itself"), "{error}");
        let from = |from| ImportOptions::new().from(from);
        let error = refuse(&store, &fixture("velune_small.db"), from(SourceFormat::Muse)).await;
        assert!(error.to_string().contains("not of muse"), "{error}");
        let error = refuse(&store, &fixture("velune_small.db"), from(SourceFormat::Jsonl)).await;
        assert!(error.to_string().contains("a SQLite database"), "{error}");

        let keyed = Source::new("CREATE TABLE memory_tags(turn_id, tag, value);
            CREATE TABLE Turns(id PRIMARY KEY, session_id, turn_index, role, content, model_used,
                tokens_used, created_at, embedding_id) WITHOUT ROWID");
        let error = refuse(&store, &keyed.path, ImportOptions::new()).await;
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("table `turns` is WITHOUT ROWID"), "{error}");

        let both = Source::muse();
        both.run("INSERT INTO episodes VALUES ('a', 'p', 's', 1, 10);
            CREATE TABLE execution_steps(session_id, step_name, status, payload, timestamp)");
        let error = refuse(&store, &both.path, ImportOptions::new()).await;
        assert!(error.to_string().contains("both muse and velune"), "{error}");
        let report = import_with(&store, &both.path, from(SourceFormat::Muse)).await;
        assert_eq!((report.format, report.counts.total().stored), (SourceFormat::Muse, 1));
        assert_eq!(report.remarks, ["not read, being of another kind: execution_steps"]);
    }

    /// Closing a file once more must not take the locks of whoever has it open here: a writer that
    /// held the write lock before holds it after, so that another process is kept out.
    #[cfg(target_os = "linux")]
    async fn a_database_that_this_process_has_open_keeps_its_locks(store: Store) {
        let source = Source::muse();
        source.run("PRAGMA journal_mode = delete");
        fill(&source.db, 0, 1);
        source.run("BEGIN IMMEDIATE");
        let locks = || {
            use std::os::unix::fs::MetadataExt as _;
            let inode = format!(":{} ", fs::metadata(&source.path).unwrap().ino());
            let all = fs::read_to_string("/proc/locks").unwrap();
            all.lines().filter(|line| line.contains(&inode)).count()
        };
        let before = locks();
        assert!(before > 0);
        for _ in 0..2 {
            import_all(&store, &source.path).await;
            assert_eq!(locks(), before);
        }
    }

    async fn databases_that_are_damaged(store: Store) {
        let (_folder, truncated) = damaged(|bytes| bytes.truncate(bytes.len() / 2));
        let (_folder2, smashed) = damaged(|bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 40_000].fill(0xa5);
        });
        let (_folder3, encrypted) = damaged(|bytes| bytes[16..].fill(0x5a));
        // There are four formats of the schema.
        let (_folder4, unknown) = damaged(|bytes| bytes[47] = 5);
        for path in [truncated, smashed, encrypted, unknown] {
            let error = refuse(&store, &path, ImportOptions::new()).await;
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        }
    }

    async fn half_of_a_source_is_enough(store: Store) {
        let source = Source::new("CREATE TABLE turns(id, session_id, turn_index, role, content,
                model_used, tokens_used, created_at, embedding_id);
            INSERT INTO turns VALUES ('t', 's', 0, 'user', 'hello', NULL, NULL, 5, NULL)");
        let report = import_all(&store, &source.path).await;
        assert_eq!((report.counts.sessions.stored, report.counts.turns.stored), (1, 1));
    }

    async fn an_import_that_is_dropped_can_be_done_again(store: Store) {
        let source = Source::muse();
        fill(&source.db, 0, 3_000);
        {
            let import = import(store.as_ref(), &source.path, ImportOptions::new());
            let timeout = tokio::time::timeout(Duration::from_millis(60), import);
            let _ = timeout.await;
        }
        import_all(&store, &source.path).await;
        assert_eq!(store.stats(&Scope::All).await.unwrap().counts.episodes, 3_000);
    }

    async fn progress_reaches_the_number_of_rows(store: Store) {
        let (sender, seen) = mpsc::channel();
        let options = ImportOptions::new().progress(move |at| sender.send(at).unwrap());
        let report = import_with(&store, fixture("velune_small.db"), options).await;
        let seen: Vec<_> = seen.into_iter().collect();
        assert!(seen.is_sorted_by_key(|at| at.done));
        let last = seen.last().unwrap();
        assert_eq!((last.done, last.total), (15 + 162 + 60 + 40 + 29, Some(15 + 162 + 60 + 40 + 29)));
        assert_eq!(report.counts.total().stored, 15 + 8 + 162 + 60 + 40 + 28);
    }
}

#[test]
fn an_import_can_be_spawned() {
    fn is_send<T: Send>(_: T) {}
    let check = |store: &'static dyn memkeep::MemoryBackend| {
        is_send(import(store, "source.db", ImportOptions::new()));
        is_send(memkeep::export(store, &Scope::All, Vec::new()));
    };
    let _ = check;
}

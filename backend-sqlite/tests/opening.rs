//! What a file may be when it is opened, and who else may be opening it.

use std::{fs, path::Path, process::Command, time::Duration};

use memkeep_core::{
    Backend, Durability, Error, ErrorKind, ListSessions, ListTurns, NewSession, NewTurn, Op, Scope,
    SessionStore, Sharing, StoreUrl, recall::Language,
};
use memkeep_sqlite::{SqliteConfig, Synchronous};
use rusqlite::Connection;

async fn refused(config: SqliteConfig) -> Error {
    let path = config.path.clone();
    match config.open().await {
        Ok(_) => panic!("{path:?} was opened"),
        Err(error) => error,
    }
}

/// "database is locked" at first open (openai/openai-agents-python#4987): of eight tasks that open
/// one new file, all can, and write.
#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn eight_open_one_new_file() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.db");
        let tasks: Vec<_> = (0..8)
            .map(|n| {
                let path = path.clone();
                tokio::spawn(async move {
                    let store = SqliteConfig::new(path).open().await?;
                    store.start_session(NewSession::new().id(format!("s{n}"))).await
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        let store = SqliteConfig::new(path).open().await.unwrap();
        let sessions = store.sessions(&ListSessions::new()).await.unwrap();
        assert_eq!(sessions.items.len(), 8);
    }
}

const CHILD: &str = "MEMKEEP_TEST_STORE";

/// Not a test of its own: what each process of the next one does.
#[tokio::test]
async fn child_records_a_hundred_turns() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = SqliteConfig::new(Path::new(&path)).open().await.unwrap();
    store.ensure_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..100 {
        store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap();
    }
    store.close().await.unwrap();
}

/// Several processes (MiniMax-AI/minimax-code#282): all open a new file at once, and no turn is
/// lost and no index given twice.
#[tokio::test]
async fn four_processes_record_into_one_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let children: Vec<_> = (0..4)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child_records_a_hundred_turns"])
                .env(CHILD, &path)
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let store = SqliteConfig::new(path).open().await.unwrap();
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    assert!(turns.iter().map(|turn| turn.index).eq(0..400));
}

#[tokio::test]
async fn an_empty_file_is_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    fs::write(&path, "").unwrap();
    let store = SqliteConfig::new(&path).open().await.unwrap();
    store.start_session(NewSession::new()).await.unwrap();
}

#[tokio::test]
async fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    fs::write(of("text"), "a diary, not a database\n".repeat(500)).unwrap();
    fs::write(of("short"), "xy").unwrap();
    let foreign = Connection::open(of("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE diary (day TEXT)").unwrap();
    drop(foreign);
    let marked = Connection::open(of("marked")).unwrap();
    marked.execute_batch("PRAGMA application_id = 7").unwrap();
    drop(marked);

    let store = SqliteConfig::new(of("whole")).open().await.unwrap();
    store.start_session(NewSession::new()).await.unwrap();
    store.close().await.unwrap();
    let whole = fs::read(of("whole")).unwrap();
    for keep in [50, 99, 1_000, whole.len() / 2] {
        fs::write(of(&format!("cut at {keep}")), &whole[..keep]).unwrap();
    }

    let mut refusals = 0;
    for file in fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path == of("whole") {
            continue;
        }
        let before = fs::read(&path).unwrap();
        let error = refused(SqliteConfig::new(&path)).await;
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!(error.get("path"), path.to_str(), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), before);
        refusals += 1;
    }
    assert_eq!(refusals, 8);
    assert_eq!(refused(SqliteConfig::new(folder.path())).await.kind(), ErrorKind::Corrupt);
    let below = of("text").join("agent.db");
    assert_eq!(refused(SqliteConfig::new(below)).await.kind(), ErrorKind::Unavailable);
    assert_eq!(refused(SqliteConfig::new("")).await.kind(), ErrorKind::InvalidArgument);
}

/// An older program meets a newer file (ohdearquant/lionagi#2599): also with what a crashed program
/// left in the log, nothing is touched.
#[tokio::test]
async fn a_newer_store_is_left_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    SqliteConfig::new(of("agent.db")).open().await.unwrap().close().await.unwrap();
    let newer = Connection::open(of("agent.db")).unwrap();
    newer.execute_batch("PRAGMA user_version = 3").unwrap();
    // As a crash leaves it: the change is in the log only.
    for suffix in ["", "-wal"] {
        fs::copy(of(&format!("agent.db{suffix}")), of(&format!("crashed.db{suffix}"))).unwrap();
    }
    drop(newer);

    for name in ["agent.db", "crashed.db"] {
        let log = of(&format!("{name}-wal"));
        assert_eq!(log.exists(), name == "crashed.db");
        let read = || (fs::read(of(name)).unwrap(), fs::read(&log).unwrap_or_default());
        let before = read();
        let error = refused(SqliteConfig::new(of(name))).await;
        assert_eq!(error.kind(), ErrorKind::SchemaTooNew, "{error:?}");
        assert!(read() == before, "{name} was changed");
    }
}

/// The other way round: a store that a newer program migrates while it is open here.
#[tokio::test]
async fn a_store_that_becomes_newer_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = SqliteConfig::new(&path).open().await.unwrap();
    let newer = Connection::open(&path).unwrap();
    newer.execute_batch("PRAGMA user_version = 3").unwrap();
    let error = store.start_session(NewSession::new()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SchemaTooNew);
}

#[tokio::test]
async fn a_store_to_be_read_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let config = SqliteConfig::new(&path).read_only(true);
    assert_eq!(refused(config.clone()).await.kind(), ErrorKind::NotFound);
    fs::write(&path, "").unwrap();
    assert_eq!(refused(config.clone()).await.kind(), ErrorKind::ReadOnly);

    let writer = SqliteConfig::new(&path).open().await.unwrap();
    writer.start_session(NewSession::new().id("s")).await.unwrap();
    // Beside a writer, and after it.
    for writer in [Some(writer), None] {
        let reader = config.clone().open().await.unwrap();
        assert!(reader.session(&Scope::All, &"s".into()).await.unwrap().is_some());
        let before = fs::read(&path).unwrap();
        let op = Op::DeleteSession { session: "s".into(), ended_before: None };
        assert_eq!(reader.commit_one(op).await.unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(reader.compact().await.unwrap_err().kind(), ErrorKind::ReadOnly);
        reader.close().await.unwrap();
        assert!(fs::read(&path).unwrap() == before);
        drop(writer);
    }
}

/// A file as it is when its program dies while it writes: pages are changed, and what they were is
/// in a rollback journal.
fn unfinished(from: &Path, to: &Path, sql: &str) {
    let program = Connection::open(from).unwrap();
    program.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1").unwrap();
    program.execute_batch(sql).unwrap();
    for suffix in ["", "-journal"] {
        let of = |path: &Path| format!("{}{suffix}", path.display());
        fs::copy(of(from), of(to)).unwrap();
    }
}

#[tokio::test]
async fn what_another_program_left_unfinished_is_left_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    let diary = Connection::open(of("diary.db")).unwrap();
    let fill = "CREATE TABLE diary (day TEXT); \
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) \
                INSERT INTO diary SELECT 'day ' || i FROM n";
    diary.execute_batch(fill).unwrap();
    drop(diary);
    let store = SqliteConfig::new(of("agent.db")).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..100 {
        let turn = NewTurn::new("s", "user", "x".repeat(5_000)).id(n.to_string());
        store.record_turn(turn).await.unwrap();
    }
    store.close().await.unwrap();
    fs::copy(of("agent.db"), of("newer.db")).unwrap();

    let change = "BEGIN; UPDATE diary SET day = 'night' || day";
    unfinished(&of("diary.db"), &of("foreign.db"), change);
    let change = "PRAGMA user_version = 3; BEGIN; UPDATE turns SET content = content || 'y'";
    unfinished(&of("newer.db"), &of("too new.db"), change);
    for (name, kind) in
        [("foreign.db", ErrorKind::Corrupt), ("too new.db", ErrorKind::SchemaTooNew)]
    {
        let read = || {
            let journal = of(&format!("{name}-journal"));
            (fs::read(of(name)).unwrap(), fs::read(journal).unwrap())
        };
        let before = read();
        let error = refused(SqliteConfig::new(of(name))).await;
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(read() == before, "{name} was changed");
    }

    // A store's own is taken back, as ever.
    let change = "BEGIN; UPDATE turns SET content = content || 'y'";
    unfinished(&of("agent.db"), &of("own.db"), change);
    let store = SqliteConfig::new(of("own.db")).open().await.unwrap();
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    assert_eq!(turns.len(), 100);
    assert!(turns.iter().all(|turn| turn.content.len() == 5_000));
}

#[tokio::test]
async fn the_largest_options_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    for config in [SqliteConfig::new(folder.path().join("agent.db")), SqliteConfig::memory()] {
        let config = config.queue(usize::MAX).readers(usize::MAX).patience(Duration::MAX);
        let store = config.busy_timeout(Duration::MAX).open().await.unwrap();
        store.start_session(NewSession::new().id("s")).await.unwrap();
        assert!(store.session(&Scope::All, &"s".into()).await.unwrap().is_some());
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_url_says_what_a_config_says() {
    let parse = |text: &str| SqliteConfig::from_url(&text.parse::<StoreUrl>().unwrap());
    let url = "sqlite:a%3fb.db?synchronous=normal&busy_timeout_ms=7&readers=2&read_only=true\
               &language=german";
    let config = parse(url).unwrap();
    assert_eq!(config.path.as_deref(), Some(Path::new("a?b.db")));
    assert_eq!(config.synchronous, Synchronous::Normal);
    assert_eq!((config.busy_timeout.as_millis(), config.readers), (7, 2));
    assert!(config.read_only);
    assert_eq!(config.options.language, Language::German);
    assert_eq!(parse("sqlite::memory:").unwrap().path, None);
    assert!(parse("sqlite://agent.db").is_err());
    for wrong in ["speed=9", "readers=many", "synchronous=off", "read_only=1", "language=de"] {
        let error = parse(&format!("sqlite:a.db?{wrong}")).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
}

#[tokio::test]
async fn a_store_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteConfig::new(folder.path().join("file: #1?%41.db")).open().await.unwrap();
    let info = file.info();
    assert_eq!(
        (info.name, info.durability, info.sharing),
        ("sqlite", Durability::Power, Sharing::Machine)
    );
    assert!(file.stats(&Scope::All).await.unwrap().bytes.unwrap() > 0);
    let memory = SqliteConfig::memory().open().await.unwrap();
    let info = memory.info();
    assert_eq!((info.durability, info.sharing), (Durability::Volatile, Sharing::Handle));
    assert_eq!(memory.stats(&Scope::All).await.unwrap().bytes, None);
    // A name that SQLite could take for a URI is a name.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

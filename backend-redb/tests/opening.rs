//! What a file may be when it is opened, and who else has it.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use memkeep_core::{
    Backend, Durability, Error, ErrorKind, ListTurns, NewSession, NewTurn, Op, Scope, SessionStore,
    Sharing, StoreUrl, recall::Language, verify::Verify,
};
use memkeep_redb::{RedbConfig, RedbDurability};
use redb::{Database, MultimapTableDefinition, TableDefinition};

const FOREIGN: TableDefinition<'_, u64, &str> = TableDefinition::new("diary");
const OURS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("memkeep");

async fn refused(config: RedbConfig) -> Error {
    let path = config.path.clone();
    match config.open().await {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error,
    }
}

/// A closed store with a session of `turns` turns.
async fn store_of(path: &Path, turns: usize) {
    let store = RedbConfig::new(path).open().await.unwrap();
    let turn = |n| Op::from(NewTurn::new("s", "user", format!("turn {n} {}", "x".repeat(1_000))));
    let start = Op::StartSession(NewSession::new().id("s"));
    store.commit([start].into_iter().chain((0..turns).map(turn)).collect()).await.unwrap();
    store.close().await.unwrap();
}

async fn turns(config: RedbConfig) -> usize {
    let store = config.open().await.unwrap();
    let list = ListTurns::new("s").limit(usize::MAX);
    let turns = store.turns(&list).await.unwrap().items.len();
    store.close().await.unwrap();
    turns
}

/// A database as some program leaves it.
fn database(path: &Path, write: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::create(path).unwrap();
    let transaction = database.begin_write().unwrap();
    write(&transaction);
    transaction.commit().unwrap();
}

fn put_version(path: &Path, version: u32) {
    database(path, |transaction| {
        let mut table = transaction.open_table(OURS).unwrap();
        let schema = table.first_key();
        table.insert(schema.as_slice(), version.to_be_bytes().as_slice()).unwrap();
    });
}

trait FirstKey {
    fn first_key(&self) -> Vec<u8>;
}

impl FirstKey for redb::Table<'_, &[u8], &[u8]> {
    /// The schema's version stands first.
    fn first_key(&self) -> Vec<u8> {
        use redb::ReadableTable as _;
        self.first().unwrap().unwrap().0.value().to_vec()
    }
}

#[tokio::test]
async fn a_second_opener_is_told_at_once_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/agent.redb");
    let store = RedbConfig::new(&path).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for read_only in [false, true] {
        let error = refused(RedbConfig::new(&path).read_only(read_only)).await;
        assert_eq!(error.kind(), ErrorKind::AlreadyOpen, "{error:?}");
        assert_eq!(error.get("path"), path.to_str());
    }
    store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap();
    store.close().await.unwrap();
    assert_eq!(turns(RedbConfig::new(&path)).await, 1);
}

const CHILD: &str = "MEMKEEP_TEST_STORE";

/// Not a test of its own: another process, which has the store open until its stdin ends.
#[tokio::test]
async fn child_holds_a_store() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = RedbConfig::new(Path::new(&path)).open().await.unwrap();
    store.record_turn(NewTurn::new("s", "user", "from the child")).await.unwrap();
    println!("\nheld");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    std::process::abort();
}

/// The store of a process that crashed is opened, read and repaired; for reading only, it is read and
/// left as it is.
#[tokio::test]
async fn a_process_has_a_store_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    store_of(&path, 5).await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_holds_a_store", "--nocapture"])
        .env(CHILD, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "held"));
    for read_only in [false, true] {
        let error = refused(RedbConfig::new(&path).read_only(read_only)).await;
        assert_eq!(error.kind(), ErrorKind::AlreadyOpen, "{error:?}");
    }
    drop(child.stdin.take());
    assert!(!child.wait().unwrap().success());

    let before = fs::read(&path).unwrap();
    assert_eq!(turns(RedbConfig::new(&path).read_only(true)).await, 6);
    assert_eq!(turns(RedbConfig::new(&path)).await, 6);
    assert!(fs::read(&path).unwrap() == before, "nothing was committed");
    let store = RedbConfig::new(&path).check(true).open().await.unwrap();
    store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap();
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    store.close().await.unwrap();
    assert_eq!(turns(RedbConfig::new(&path)).await, 7);
}

/// Also of a file that whoever began it did not come to fill.
#[tokio::test]
async fn an_empty_file_is_a_new_store() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [("empty", vec![]), ("begun", vec![0; 1 << 20])] {
        let path = folder.path().join(name);
        fs::write(&path, &content).unwrap();
        let only_read = refused(RedbConfig::new(&path).read_only(true)).await;
        assert_eq!(only_read.kind(), ErrorKind::ReadOnly);
        assert!(fs::read(&path).unwrap() == content);
        store_of(&path, 3).await;
        assert_eq!(turns(RedbConfig::new(&path)).await, 3);
    }
}

#[tokio::test]
async fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    fs::write(of("text"), "a diary, not a database\n".repeat(500)).unwrap();
    fs::write(of("short"), "xy").unwrap();
    let mut zeros = vec![0; 1 << 20];
    zeros[700_000] = 1;
    fs::write(of("nearly zeros"), zeros).unwrap();
    database(&of("foreign"), |transaction| {
        transaction.open_table(FOREIGN).unwrap().insert(1, "rain").unwrap();
    });
    database(&of("multimap"), |transaction| {
        let days: MultimapTableDefinition<'_, u64, u64> = MultimapTableDefinition::new("days");
        transaction.open_multimap_table(days).unwrap().insert(1, 2).unwrap();
    });
    database(&of("other types"), |transaction| {
        let other: TableDefinition<'_, u64, &str> = TableDefinition::new("memkeep");
        transaction.open_table(other).unwrap().insert(1, "rain").unwrap();
    });
    database(&of("other keys"), |transaction| {
        let mut table = transaction.open_table(OURS).unwrap();
        table.insert(b"day".as_slice(), b"rain".as_slice()).unwrap();
    });
    store_of(&of("whole"), 20).await;
    let whole = fs::read(of("whole")).unwrap();
    for keep in [50, 1_000, 5_000, whole.len() / 2] {
        fs::write(of(&format!("cut at {keep}")), &whole[..keep]).unwrap();
    }
    let mut header = whole.clone();
    header[20..320].fill(0xa5);
    fs::write(of("spoilt header"), header).unwrap();

    let mut refusals = 0;
    for file in fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        if path == of("whole") {
            continue;
        }
        let before = fs::read(&path).unwrap();
        for read_only in [false, true] {
            let error = refused(RedbConfig::new(&path).read_only(read_only)).await;
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
            assert_eq!(error.get("path"), path.to_str(), "{error:?}");
            assert!(fs::read(&path).unwrap() == before, "{path:?}");
        }
        refusals += 1;
    }
    assert_eq!(refusals, 12);
    assert_eq!(refused(RedbConfig::new(folder.path())).await.kind(), ErrorKind::Corrupt);
    let below = of("text").join("agent.redb");
    assert_eq!(refused(RedbConfig::new(below)).await.kind(), ErrorKind::Unavailable);
    assert_eq!(refused(RedbConfig::new("")).await.kind(), ErrorKind::InvalidArgument);
    let none = RedbConfig::new(of("none")).read_only(true);
    assert_eq!(refused(none).await.kind(), ErrorKind::NotFound);
}

/// An older program meets a newer file: nothing is touched, also not what a crash left to repair.
#[tokio::test]
async fn a_newer_store_is_left_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    store_of(&of("agent.redb"), 3).await;
    put_version(&of("agent.redb"), memkeep_kv::SCHEMA_VERSION + 1);
    let open = Database::create(of("agent.redb")).unwrap();
    // As a crash leaves it.
    fs::copy(of("agent.redb"), of("crashed.redb")).unwrap();
    drop(open);
    assert!(redb::ReadOnlyDatabase::open(of("crashed.redb")).is_err(), "it must be repaired");
    for name in ["agent.redb", "crashed.redb"] {
        let before = fs::read(of(name)).unwrap();
        for read_only in [false, true] {
            let error = refused(RedbConfig::new(of(name)).read_only(read_only)).await;
            assert_eq!(error.kind(), ErrorKind::SchemaTooNew, "{error:?}");
            assert!(fs::read(of(name)).unwrap() == before, "{name} was changed");
        }
    }
}

/// The version of redb's own format stands in both slots of the header.
#[tokio::test]
async fn an_old_format_of_redb_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    store_of(&path, 3).await;
    let mut bytes = fs::read(&path).unwrap();
    for slot in [64, 192] {
        assert_eq!(bytes[slot], 3);
        bytes[slot] = 2;
    }
    fs::write(&path, &bytes).unwrap();
    let error = refused(RedbConfig::new(&path)).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert!(error.message().contains("old format"), "{error:?}");
    assert!(fs::read(&path).unwrap() == bytes);
}

#[tokio::test]
async fn a_store_to_be_read_is_not_written_and_many_may_read_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    store_of(&path, 3).await;
    let before = fs::read(&path).unwrap();
    let reader = RedbConfig::new(&path).read_only(true).open().await.unwrap();
    assert_eq!(turns(RedbConfig::new(&path).read_only(true)).await, 3);
    assert_eq!(refused(RedbConfig::new(&path)).await.kind(), ErrorKind::AlreadyOpen);
    let op = Op::DeleteSession { session: "s".into(), ended_before: None };
    assert_eq!(reader.commit_one(op).await.unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(reader.compact().await.unwrap_err().kind(), ErrorKind::ReadOnly);
    assert!(reader.verify(&Verify::new()).await.unwrap().is_clean());
    reader.backup(&folder.path().join("copy.redb")).await.unwrap();
    reader.close().await.unwrap();
    assert!(fs::read(&path).unwrap() == before);
    assert_eq!(turns(RedbConfig::new(folder.path().join("copy.redb"))).await, 3);
}

/// What is not durable before the store is closed is whole then.
#[tokio::test]
async fn commits_that_are_kept_in_memory_are_written_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let config = RedbConfig::new(&path).durability(RedbDurability::None);
    let store = config.open().await.unwrap();
    assert_eq!(store.info().durability, Durability::Volatile);
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for n in 0..50 {
        store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(turns(RedbConfig::new(&path)).await, 50);
}

#[tokio::test]
async fn the_largest_and_the_smallest_options_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.redb");
    let large = RedbConfig::new(&path).queue(usize::MAX).readers(usize::MAX);
    let large = large.patience(Duration::MAX).cache_bytes(usize::MAX).quick_repair(true);
    for config in [large, RedbConfig::new(&path).queue(0).readers(0).cache_bytes(0)] {
        let store = config.open().await.unwrap();
        store.ensure_session(NewSession::new().id("s")).await.unwrap();
        assert!(store.session(&Scope::All, &"s".into()).await.unwrap().is_some());
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_url_says_what_a_config_says() {
    let parse = |text: &str| RedbConfig::from_url(&text.parse::<StoreUrl>().unwrap());
    let url = "redb:a%3fb.redb?durability=none&cache_bytes=7&readers=2&read_only=true\
               &quick_repair=true&check=true&language=german";
    let config = parse(url).unwrap();
    assert_eq!(config.path, Path::new("a?b.redb"));
    assert_eq!(config.durability, RedbDurability::None);
    assert_eq!((config.cache_bytes, config.readers), (7, 2));
    assert!(config.read_only && config.quick_repair && config.check);
    assert_eq!(config.options.language, Language::German);
    assert!(parse("redb://agent.redb").is_err());
    assert!(parse("redb::memory:").is_err());
    assert!(parse("sqlite:agent.db").is_err());
    for wrong in ["speed=9", "readers=many", "durability=full", "read_only=1", "language=de"] {
        let error = parse(&format!("redb:a.redb?{wrong}")).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong}");
    }
}

#[tokio::test]
async fn a_store_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = RedbConfig::new(folder.path().join("file: #1?%41.redb")).open().await.unwrap();
    let info = store.info();
    assert_eq!(
        (info.name, info.durability, info.sharing),
        ("redb", Durability::Power, Sharing::Handle)
    );
    assert!(store.stats(&Scope::All).await.unwrap().bytes.unwrap() > 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

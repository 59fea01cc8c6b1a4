//! What the contract costs over plain SQL: recording turns through memkeep, beside hand-written code
//! that writes the same tables and indexes with the same durability, in turns, in one run.
//!
//! `cargo run --release -p memkeep-sqlite --example commit_cost [FOLDER]`

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use memkeep_core::{Backend as _, NewSession, NewTurn, SessionId, SessionStore as _, TurnId};
use memkeep_sqlite::{SqliteBackend, SqliteConfig};
use rusqlite::{Connection, TransactionBehavior, params};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Long enough for the file system to show its mean, short enough to be repeated.
const ROUNDS: usize = 10;
const SINGLES: usize = 400;
const GROUPED: usize = 6_400;
const WRITERS: usize = 64;

fn main() -> Result<(), Failure> {
    let parent = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let folder = tempfile::tempdir_in(parent)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let content = "word ".repeat(60);

    let ours = Arc::new(runtime.block_on(new_store(&folder.path().join("ours.db")))?);
    let path = folder.path().join("theirs.db");
    runtime.block_on(async { new_store(&path).await?.close().await })?;
    let mut theirs = connect(&path)?;

    let mut singles = (Vec::new(), Vec::new());
    let mut groups = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let started = Instant::now();
        runtime.block_on(async {
            for _ in 0..SINGLES {
                ours.record_turn(NewTurn::new("s", "user", content.as_str())).await?;
            }
            Ok::<(), memkeep_core::Error>(())
        })?;
        singles.0.push(each(started, SINGLES));
        let started = Instant::now();
        for _ in 0..SINGLES {
            record(&mut theirs, &content, 1)?;
        }
        singles.1.push(each(started, SINGLES));

        let started = Instant::now();
        runtime.block_on(many_writers(&ours, &content))?;
        groups.0.push(each(started, GROUPED));
        let started = Instant::now();
        for _ in 0..GROUPED / WRITERS {
            record(&mut theirs, &content, WRITERS)?;
        }
        groups.1.push(each(started, GROUPED));
    }

    let (ours, theirs) = (median(singles.0), median(singles.1));
    println!("one writer, one turn a commit, median of {ROUNDS} rounds:");
    println!("  memkeep       {ours:>10.1?} a turn");
    println!("  hand-written  {theirs:>10.1?} a turn");
    println!("  latency ratio {:>10.2}", ours.as_secs_f64() / theirs.as_secs_f64());
    let (ours, theirs) = (median(groups.0), median(groups.1));
    println!("{WRITERS} writers, beside {WRITERS} turns a transaction:");
    println!("  memkeep       {:>10.0} turns/s", 1.0 / ours.as_secs_f64());
    println!("  hand-written  {:>10.0} turns/s", 1.0 / theirs.as_secs_f64());
    println!("  rate ratio    {:>10.2}", theirs.as_secs_f64() / ours.as_secs_f64());
    Ok(())
}

async fn new_store(path: &Path) -> memkeep_core::Result<SqliteBackend> {
    let store = SqliteConfig::new(path).open().await?;
    store.start_session(NewSession::new().id("s")).await?;
    Ok(store)
}

async fn many_writers(store: &Arc<SqliteBackend>, content: &str) -> Result<(), Failure> {
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let (store, content) = (store.clone(), content.to_owned());
        tasks.spawn(async move {
            for _ in 0..GROUPED / WRITERS {
                store.record_turn(NewTurn::new("s", "user", content.as_str())).await?;
            }
            Ok::<(), memkeep_core::Error>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, Failure> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "secure_delete", true)?;
    Ok(connection)
}

/// Records `count` turns in one transaction, as somebody would who knows only this table.
fn record(connection: &mut Connection, content: &str, count: usize) -> Result<(), Failure> {
    let session = SessionId::new("s");
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for _ in 0..count {
        let now = memkeep_core::Timestamp::now().as_micros();
        let (pk, position): (i64, i64) = transaction
            .prepare_cached(
                "UPDATE sessions SET next_turn = next_turn + 1, turn_count = turn_count + 1, \
                 last_active = max(last_active, ?2) WHERE id = ?1 RETURNING pk, next_turn - 1",
            )?
            .query_row(params![session.as_str(), now], |row| Ok((row.get(0)?, row.get(1)?)))?;
        transaction
            .prepare_cached(
                "INSERT INTO turns (id, session, position, workspace, created_at, role, content, \
                 metadata) VALUES (?, ?, ?, 'default', ?, 'user', ?, '{}')",
            )?
            .execute(params![TurnId::generate().as_str(), pk, position, now, content])?;
    }
    transaction.commit()?;
    Ok(())
}

fn each(started: Instant, count: usize) -> Duration {
    started.elapsed() / u32::try_from(count).unwrap_or(u32::MAX)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

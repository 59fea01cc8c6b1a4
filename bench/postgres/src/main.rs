//! memkeep on PostgreSQL beside hand-written sqlx, COPY and full-text search, on one server, in one run.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use clap::{Parser, Subcommand};
use memkeep::{
    Batch, CopyOptions, CopyProgress, CopyStage, MemoryBackend, NewSession, NewTurn,
    postgres::{Host, PostgresConfig},
};
use memkeep_bench_common::{Corpus, median};
use memkeep_postgres_testing::Server;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::task::JoinSet;

mod hand;
mod recall;

use hand::Hand;

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turns recorded by many at once, one and many a batch.
    Writers {
        /// For how long each side writes in each of five rounds, in seconds.
        #[arg(long, default_value_t = 4)]
        seconds: u64,
        /// How many connections each side has.
        #[arg(long, default_value_t = 16)]
        connections: u32,
    },
    /// Recall of episodes beside a GIN index of tsvectors.
    Recall {
        /// How many episodes.
        #[arg(long, default_value_t = 1_000_000)]
        episodes: usize,
        /// How many queries of each side.
        #[arg(long, default_value_t = 100)]
        queries: usize,
    },
    /// A copy from SQLite beside COPY.
    Copy {
        /// How many turns.
        #[arg(long, default_value_t = 100_000)]
        turns: usize,
    },
}

#[tokio::main]
async fn main() -> Fallible<()> {
    let server = Server::start("max_wal_size = 4GB\n");
    let mut admin = PgConnection::connect(&server.url("postgres")).await?;
    sqlx::raw_sql(AssertSqlSafe("CREATE DATABASE hand")).execute(&mut admin).await?;
    match Args::parse().command {
        Command::Writers { seconds, connections } => {
            writers(&server, Duration::from_secs(seconds), connections).await
        }
        Command::Recall { episodes, queries } => recall::recall(&server, episodes, queries).await,
        Command::Copy { turns } => copy(&server, turns).await,
    }
}

fn texts(count: usize) -> Vec<String> {
    let corpus = Corpus::new(1);
    (0..count).map(|n| corpus.document(n)).collect()
}

async fn writers(server: &Server, time: Duration, connections: u32) -> Fallible<()> {
    let config = PostgresConfig::new(Host::new(server.socket().display().to_string()), "postgres");
    let store = config.user("memkeep").connections(connections).open().await?;
    let store: Arc<dyn MemoryBackend> = Arc::new(store);
    let hand = Arc::new(Hand::open(&server.url("hand"), connections).await?);
    let texts = Arc::new(texts(1_000));
    println!("writers  turns a batch  memkeep/s  hand-written/s  ratio");
    let mut session = 0;
    for (writers, rows) in [(1, 1), (64, 1), (64, 50)] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let first = session;
            session += writers;
            ours.push(
                rate(writers, |writer| {
                    let (store, texts) = (Arc::clone(&store), Arc::clone(&texts));
                    let id = format!("s{}", first + writer);
                    async move {
                        let deadline = Instant::now() + time;
                        store.start_session(NewSession::new().id(id.as_str())).await?;
                        let mut done = 0;
                        while Instant::now() < deadline {
                            let turns = (done..done + rows).map(|n| {
                                NewTurn::new(id.as_str(), "user", texts[n % texts.len()].as_str())
                            });
                            store.commit(turns.collect::<Batch>()).await?;
                            done += rows;
                        }
                        Ok(done)
                    }
                })
                .await?,
            );
            theirs.push(
                rate(writers, |writer| {
                    let (hand, texts) = (Arc::clone(&hand), Arc::clone(&texts));
                    async move {
                        let deadline = Instant::now() + time;
                        let mut done = 0;
                        while Instant::now() < deadline {
                            let from = done % (texts.len() - rows);
                            let session = i64::try_from(first + writer)?;
                            let position = i64::try_from(done)?;
                            hand.insert(session, position, &texts[from..from + rows]).await?;
                            done += rows;
                        }
                        Ok(done)
                    }
                })
                .await?,
            );
        }
        let (ours, theirs) = (median(ours), median(theirs));
        println!("{writers:>7}  {rows:>13}  {ours:>9.0}  {theirs:>14.0}  {:>5.2}", ours / theirs);
    }
    Ok(())
}

/// How many turns a second so many writers store.
#[allow(clippy::cast_precision_loss)]
async fn rate<F>(writers: usize, writer: impl Fn(usize) -> F) -> Fallible<f64>
where
    F: Future<Output = Fallible<usize>> + Send + 'static,
{
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for n in 0..writers {
        tasks.spawn(writer(n));
    }
    let mut done = 0;
    while let Some(ended) = tasks.join_next().await {
        done += ended??;
    }
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

#[allow(clippy::cast_precision_loss)]
async fn copy(server: &Server, turns: usize) -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("from.db").display().to_string();
    let from = memkeep::open(&format!("sqlite:{path}?synchronous=normal")).await?;
    let texts = texts(turns.min(10_000));
    let text = |n: usize| texts[n % texts.len()].as_str();
    for session in 0..turns.div_ceil(100) {
        let id = format!("s{session}");
        let mut batch = Batch::from(memkeep::Op::StartSession(NewSession::new().id(id.as_str())));
        for n in session * 100..((session + 1) * 100).min(turns) {
            batch.push(NewTurn::new(id.as_str(), "user", text(n)));
        }
        from.commit(batch).await?;
    }
    // Nothing else is to run meanwhile.
    from.reindex().await?;
    let hand = Hand::open(&server.url("hand"), 1).await?;
    let rows = || {
        (0..turns).map(|n| {
            let (session, position) = (n / 100, n % 100);
            format!("turn-{n:032}\t{session}\t{position}\t1\t{n}\tuser\t{}\t{{}}\n", text(n))
        })
    };
    let mut theirs = hand.copy_in(rows()).await?;
    let to = memkeep::open(&server.url("postgres")).await?;
    let started = Instant::now();
    let copied = Arc::new(OnceLock::new());
    let stage = Arc::clone(&copied);
    let options = CopyOptions::new().progress(move |progress: CopyProgress| {
        if progress.stage == CopyStage::Comparing {
            stage.get_or_init(|| started.elapsed());
        }
    });
    let report = memkeep::copy(&*from, &*to, options).await?;
    let took = started.elapsed().as_secs_f64();
    let ours = report.copied.turns as f64 / took;
    let stored = copied.get().copied().unwrap_or_default().as_secs_f64() / took;
    to.reindex().await?;
    // Disks are slower at some times than at others.
    theirs = (theirs + hand.copy_in(rows()).await?) / 2;
    let theirs = turns as f64 / theirs.as_secs_f64();
    let bytes = to.stats(&memkeep::Scope::All).await?.bytes.unwrap_or_default();
    println!("  turns  copy/s  stored in  COPY/s  ratio  bytes a turn");
    println!(
        "{turns:>7}  {ours:>6.0}  {:>8.0}%  {theirs:>6.0}  {:>5.2}  {:>12}",
        stored * 100.0,
        ours / theirs,
        bytes / turns as u64
    );
    Ok(())
}

//! Turns that have a rare stretch of text in them, beside SQLite's `LIKE` over a table of the same texts.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use memkeep::{Batch, FindTurns, NewSession, NewTurn, Op};
use memkeep_bench_common::{Corpus, Random, Samples};
use rusqlite::Connection;
use tokio::runtime::Runtime;

use crate::{
    folder::{self, Folder},
    report::{self, Report, Row},
    resident,
};

/// Turns in a commit, and in a session.
const BATCH: usize = 1_000;
/// How many are found.
const LIMIT: usize = 20;
/// How long a stretch is, in characters: the end of a word and the beginning of the next.
const LENGTH: usize = 12;

#[derive(Args)]
pub(crate) struct Options {
    /// How many turns.
    #[arg(long, default_value_t = 10_000)]
    docs: usize,
    /// How often each side looks for all of it, by turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How many stretches of text are looked for.
    #[arg(long, default_value_t = 20)]
    queries: usize,
    /// The corpus.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let corpus = Corpus::new(options.seed);
    let runtime = Runtime::new()?;
    let like_path = folder.path("like.db");
    let like = Connection::open(&like_path)?;
    like.pragma_update(None, "journal_mode", "WAL")?;
    like.execute_batch("CREATE TABLE turns (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")?;
    let mut sizes = Vec::new();
    let mut stores = Vec::new();
    for (name, parameter) in [("memkeep sqlite", "true"), ("memkeep sqlite, no index", "false")] {
        let path = folder.path(&format!("{parameter}.db"));
        let url = format!("sqlite:{}?find_index={parameter}", path.display());
        let store = runtime.block_on(memkeep::open(&url))?;
        report::doing(format_args!("{} turns: {name}", options.docs));
        for first in (0..options.docs).step_by(BATCH) {
            let session = format!("session {}", first / BATCH);
            let mut batch = Batch::new();
            batch.push(Op::StartSession(NewSession::new().id(session.as_str())));
            for n in first..options.docs.min(first + BATCH) {
                batch.push(NewTurn::new(session.as_str(), "user", corpus.document(n)));
            }
            runtime.block_on(store.commit(batch))?;
        }
        resident::settle()?;
        sizes.push(folder::bytes(&path)?);
        stores.push((name, store));
    }
    report::doing(format_args!("{} rows: LIKE", options.docs));
    for first in (0..options.docs).step_by(BATCH) {
        let transaction = like.unchecked_transaction()?;
        for n in first..options.docs.min(first + BATCH) {
            let sql = "INSERT INTO turns (content) VALUES (?)";
            transaction.prepare_cached(sql)?.execute([corpus.document(n)])?;
        }
        transaction.commit()?;
    }
    sizes.push(folder::bytes(&like_path)?);

    let with_like = |text: &str| -> Result<Vec<String>> {
        let sql = "SELECT content FROM turns WHERE content LIKE ? ORDER BY id DESC LIMIT ?";
        let mut find = like.prepare_cached(sql)?;
        let found = find.query_map((format!("%{text}%"), LIMIT), |row| row.get(0))?;
        Ok(found.collect::<Result<_, _>>()?)
    };
    let sought = rare(options, &corpus, &like)?;
    let mut samples = vec![Samples::new(); stores.len() + 1];
    for round in 0..options.rounds {
        report::doing(format_args!("round {} of {}", round + 1, options.rounds));
        let mut waits = vec![Vec::new(); samples.len()];
        for text in &sought {
            let started = Instant::now();
            let mut expected = with_like(text)?;
            waits[stores.len()].push(started.elapsed());
            expected.sort_unstable();
            for ((_, store), waits) in stores.iter().zip(&mut waits) {
                let find = FindTurns::new(text.as_str()).limit(LIMIT);
                let started = Instant::now();
                let turns = runtime.block_on(store.find_turns(&find))?;
                waits.push(started.elapsed());
                let mut found: Vec<_> = turns.into_iter().map(|turn| turn.content).collect();
                found.sort_unstable();
                ensure!(found == expected, "{text}: {found:?}, with LIKE {expected:?}");
            }
        }
        for (samples, waits) in samples.iter_mut().zip(waits) {
            let (queries, sum) = (waits.len(), waits.iter().sum());
            samples.round(waits, queries, sum);
        }
    }
    let like = samples[stores.len()].p50_us();
    let names = stores.iter().map(|(name, _)| *name).chain(["LIKE"]);
    let rows = names.zip(&samples).zip(sizes).map(|((name, samples), bytes)| {
        Row::new()
            .with("engine", name)
            .with("docs", options.docs)
            .figure("p50_us", samples.p50_us(), 1)
            .figure("p99_us", samples.p99_us(), 1)
            .figure("to_like", samples.p50_us() / like, 4)
            .with("store_bytes", bytes)
    });
    report.table(rows.collect());
    Ok(())
}

/// Stretches of text that few turns have.
fn rare(options: &Options, corpus: &Corpus, like: &Connection) -> Result<Vec<String>> {
    let mut random = Random::new(options.seed);
    let mut rare = Vec::new();
    while rare.len() < options.queries {
        let text = corpus.document(random.below(options.docs));
        let start = random.below(text.len() - LENGTH);
        let stretch = text[start..start + LENGTH].trim();
        let sql = "SELECT count(*) FROM turns WHERE content LIKE ?";
        let pattern = format!("%{stretch}%");
        if like.query_row(sql, [pattern], |row| row.get::<_, usize>(0))? <= LIMIT {
            rare.push(stretch.to_owned());
        }
    }
    Ok(rare)
}

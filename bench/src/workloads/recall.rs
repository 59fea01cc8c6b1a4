//! Top-10 recall over the corpus: each engine ingests the same documents and answers the same
//! questions, by turns.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use memkeep_bench_common::{Corpus, Samples};

use crate::{
    engines::{self, Engine},
    folder::Folder,
    report::{self, Report, Row},
    resident,
};

/// Documents in a commit.
const BATCH: usize = 1_000;
/// How many are found.
const K: usize = 10;

#[derive(Args)]
pub(crate) struct Options {
    /// How many documents.
    #[arg(long, default_value_t = 10_000)]
    docs: usize,
    /// How often each scorer is measured, by turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Questions of a round.
    #[arg(long, default_value_t = 200)]
    queries: usize,
    /// Ask no further question in a round after so many seconds.
    #[arg(long, default_value_t = 5.0)]
    budget: f64,
    /// Only engines with this in their names, `fts5` for one; repeatable.
    #[arg(long = "engine", value_name = "NAME")]
    engines: Vec<String>,
    /// Only this scorer, `context` for one; repeatable. Engines without one are passed over.
    #[arg(long = "scorer", value_name = "NAME")]
    scorers: Vec<String>,
    /// The corpus.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Measured {
    engine: Box<dyn Engine>,
    ingest: Samples,
    ingest_peak: u64,
    /// How long something was done in the background after the last commit.
    settled: Duration,
    /// From opening to being ready, and each scorer's first answer.
    open: Duration,
    scorers: Vec<Asked>,
}

struct Asked {
    scorer: &'static str,
    first: Duration,
    queries: usize,
    samples: Samples,
    peak: u64,
}

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let corpus = Corpus::new(options.seed);
    let is_wanted = |engine: &dyn Engine| {
        let wanted = &options.engines;
        (wanted.is_empty() || wanted.iter().any(|name| engine.name().contains(name.as_str())))
            && !scorers(engine, options).is_empty()
    };
    let mut all = Vec::new();
    for engine in engines::all(folder)?.into_iter().filter(|engine| is_wanted(&**engine)) {
        report::doing(format_args!("{} {}: {}", options.docs, engine.records(), engine.name()));
        all.push(ingest(engine, options, &corpus)?);
    }
    for round in 0..options.rounds {
        report::doing(format_args!("round {} of {}", round + 1, options.rounds));
        for Measured { engine, scorers, .. } in &mut all {
            for asked in scorers {
                ask(&mut **engine, asked, round, options, &corpus)?;
            }
        }
    }
    let p50 = |name| {
        let engine = all.iter().find(|measured| measured.engine.name() == name);
        engine.map_or(f64::NAN, |measured| measured.scorers[0].samples.p50_us())
    };
    let (tantivy, fts5) = (p50("tantivy"), p50("fts5"));
    let text: usize = (0..options.docs).map(|n| corpus.document(n).len()).sum();
    let mut rows = Vec::new();
    for measured in &mut all {
        let (store_bytes, index_bytes) = measured.engine.bytes()?;
        for asked in &measured.scorers {
            let p50 = asked.samples.p50_us();
            rows.push(
                Row::new()
                    .with("engine", measured.engine.name())
                    .with("records", measured.engine.records())
                    .with("scorer", asked.scorer)
                    .with("docs", options.docs)
                    .with("queries", asked.queries)
                    .figure("p50_us", p50, 1)
                    .figure("p99_us", asked.samples.p99_us(), 1)
                    .figure("to_tantivy", p50 / tantivy, 2)
                    .figure("to_fts5", p50 / fts5, 4)
                    .figure("open_us", measured.open.as_secs_f64() * 1e6, 0)
                    .figure("first_us", asked.first.as_secs_f64() * 1e6, 0)
                    .figure("ingest_per_s", measured.ingest.per_second(), 0)
                    .figure("settled_s", measured.settled.as_secs_f64(), 1)
                    .with("text_bytes", text)
                    .with("store_bytes", store_bytes)
                    .with("index_bytes", index_bytes)
                    .with("ingest_peak_bytes", measured.ingest_peak)
                    .with("query_peak_bytes", asked.peak),
            );
        }
    }
    report.table(rows);
    Ok(())
}

fn ingest(mut engine: Box<dyn Engine>, options: &Options, corpus: &Corpus) -> Result<Measured> {
    resident::reset_peak()?;
    let before = resident::now()?;
    let (mut waits, mut sum) = (Vec::new(), Duration::ZERO);
    for first in (0..options.docs).step_by(BATCH) {
        let documents: Vec<String> =
            (first..options.docs.min(first + BATCH)).map(|n| corpus.document(n)).collect();
        let started = Instant::now();
        engine.add(&documents)?;
        waits.push(started.elapsed());
        sum += started.elapsed();
    }
    let ingest_peak = resident::peak()?.saturating_sub(before);
    // What an engine does in the background is over before anything is asked.
    let settled = resident::settle()?;
    let mut ingest = Samples::new();
    ingest.round(waits, options.docs, sum);
    let (mut open, mut scorers) = (Duration::ZERO, Vec::new());
    for scorer in self::scorers(&*engine, options) {
        let started = Instant::now();
        engine.reopen()?;
        open = started.elapsed();
        let started = Instant::now();
        question(&mut *engine, scorer, usize::MAX, options, corpus)?;
        let first = started.elapsed();
        scorers.push(Asked { scorer, first, queries: 0, samples: Samples::new(), peak: 0 });
    }
    Ok(Measured { engine, ingest, ingest_peak, settled, open, scorers })
}

/// The scorers of an engine that are to be measured.
fn scorers(engine: &dyn Engine, options: &Options) -> Vec<&'static str> {
    let wanted = &options.scorers;
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    engine.scorers().iter().copied().filter(is_wanted).collect()
}

fn ask(
    engine: &mut dyn Engine,
    asked: &mut Asked,
    round: usize,
    options: &Options,
    corpus: &Corpus,
) -> Result<()> {
    resident::reset_peak()?;
    let before = resident::now()?;
    let (mut waits, begin) = (Vec::new(), Instant::now());
    for n in 0..options.queries {
        if begin.elapsed().as_secs_f64() > options.budget {
            break;
        }
        waits.push(question(engine, asked.scorer, round * options.queries + n, options, corpus)?);
    }
    asked.queries += waits.len();
    let (queries, sum) = (waits.len(), waits.iter().sum());
    asked.samples.round(waits, queries, sum);
    asked.peak = asked.peak.max(resident::peak()?.saturating_sub(before));
    Ok(())
}

/// Asks the n-th question; how long the answer took.
fn question(
    engine: &mut dyn Engine,
    scorer: &str,
    n: usize,
    options: &Options,
    corpus: &Corpus,
) -> Result<Duration> {
    let words = corpus.query(n, options.docs);
    let started = Instant::now();
    let found = engine.search(scorer, &words, K)?;
    let took = started.elapsed();
    ensure!(!found.is_empty(), "{} found nothing for {words:?}", engine.name());
    Ok(took)
}

//! Reading from a store that grows: the newest sessions, the last turns of a session, and paging
//! through a long one. None may cost more because there is more.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use memkeep_bench_common::{Corpus, Random, Samples};

use crate::{
    folder::Folder,
    report::{self, Report, Row},
    resident,
    stores::{self, Store},
};

/// Turns in the store.
const SIZES: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Turns in a commit while it grows.
const BATCH: usize = 1_000;
/// Of each batch, half go to one long session, the others to new sessions of so many turns.
const SHORT: usize = 20;
const LONG: &str = "long";
/// Rows that are read at once.
const LAST: usize = 20;
const PAGE: usize = 100;
/// How many pages are read of the long session, at most, in a round.
const CALLS: usize = 100;

#[derive(Args)]
pub(crate) struct Options {
    /// How often each side is measured at each size, by turns.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Go on to a million turns.
    #[arg(long)]
    million: bool,
    /// The texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

struct Measured {
    store: Box<dyn Store>,
    /// The p50 of each reading at the least size.
    first: Option<[f64; 3]>,
}

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let corpus = Corpus::new(options.seed);
    let mut all = Vec::new();
    for mut store in stores::all(folder)? {
        store.start_sessions(&[LONG.to_owned()])?;
        all.push(Measured { store, first: None });
    }
    let mut turns = 0;
    for size in SIZES.into_iter().filter(|size| options.million || *size < 1_000_000) {
        report::doing(format_args!("growing to {size} turns"));
        let mut grown = vec![Samples::new(); all.len()];
        let mut times = vec![(Vec::new(), Duration::ZERO); all.len()];
        let before = turns;
        while turns < size {
            let (sessions, batch) = batch(&corpus, turns);
            let batch: Vec<_> =
                batch.iter().map(|(session, text)| (session.as_str(), text.clone())).collect();
            for (Measured { store, .. }, (waits, sum)) in all.iter_mut().zip(&mut times) {
                store.start_sessions(&sessions)?;
                let started = Instant::now();
                store.record_batch(&batch)?;
                waits.push(started.elapsed());
                *sum += started.elapsed();
            }
            turns += BATCH;
        }
        for (samples, (waits, sum)) in grown.iter_mut().zip(times) {
            samples.round(waits, turns - before, sum);
        }
        // What is done in the background is over before anything is read.
        resident::settle()?;
        let mut read = vec![[Samples::new(), Samples::new(), Samples::new()]; all.len()];
        for round in 0..options.rounds {
            for (Measured { store, .. }, samples) in all.iter_mut().zip(&mut read) {
                measure(&mut **store, turns, round, samples)?;
            }
        }
        let rows = all
            .iter_mut()
            .zip(grown)
            .zip(read)
            .flat_map(|((measured, grown), read)| rows(measured, turns, &grown, &read));
        report.table(rows.collect());
    }
    Ok(())
}

/// A batch that is recorded when there are `turns` turns: the sessions it starts, and each turn's
/// session and text.
fn batch(corpus: &Corpus, turns: usize) -> (Vec<String>, Vec<(String, String)>) {
    let sessions: Vec<String> =
        (0..BATCH / 2 / SHORT).map(|n| short(turns / 2 / SHORT + n)).collect();
    let of = |n: usize| match n % 2 {
        0 => LONG.to_owned(),
        _ => sessions[n / 2 / SHORT].clone(),
    };
    let batch = (0..BATCH).map(|n| (of(n), corpus.document(turns + n))).collect();
    (sessions, batch)
}

fn short(n: usize) -> String {
    format!("session {n}")
}

fn measure(
    store: &mut dyn Store,
    turns: usize,
    round: usize,
    [sessions, last, pages]: &mut [Samples; 3],
) -> Result<()> {
    let mut random = Random::new(round as u64);
    timed(sessions, || {
        let read = store.newest_sessions(LAST)?;
        ensure!(read == LAST, "{read} sessions");
        Ok(())
    })?;
    timed(last, || {
        let session = short(random.below(turns / 2 / SHORT));
        let read = store.last_turns(&session, LAST)?;
        ensure!(read == SHORT, "{read} turns of {session}");
        Ok(())
    })?;
    let started = Instant::now();
    let (times, read) = store.page_through(LONG, PAGE)?;
    ensure!(read == turns / 2, "{read} turns of {}", turns / 2);
    pages.round(times, read, started.elapsed());
    Ok(())
}

fn timed(samples: &mut Samples, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let (mut times, begin) = (Vec::with_capacity(CALLS), Instant::now());
    for _ in 0..CALLS {
        let started = Instant::now();
        call()?;
        times.push(started.elapsed());
    }
    samples.round(times, CALLS, begin.elapsed());
    Ok(())
}

fn rows(measured: &mut Measured, turns: usize, grown: &Samples, read: &[Samples; 3]) -> Vec<Row> {
    let name = measured.store.name().to_owned();
    let first = measured.first.get_or_insert_with(|| [0, 1, 2].map(|at| read[at].p50_us()));
    let row = |what: &str, samples: &Samples, rows: usize, first: f64| {
        Row::new()
            .with("store", name.as_str())
            .with("turns", turns)
            .with("read", what)
            .with("rows", rows)
            .figure("p50_us", samples.p50_us(), 1)
            .figure("p99_us", samples.p99_us(), 1)
            .figure("growth", samples.p50_us() / first, 2)
            .figure("ingest_per_s", grown.per_second(), 0)
    };
    vec![
        row("newest sessions", &read[0], LAST, first[0]),
        row("last turns", &read[1], LAST, first[1]),
        row("page of turns", &read[2], PAGE, first[2]),
    ]
}

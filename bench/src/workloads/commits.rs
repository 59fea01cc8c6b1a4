//! Durable commits of turns: 1, 8 and 64 writers, and batches.

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Args;
use memkeep_bench_common::{Corpus, Samples};

use crate::{
    folder::Folder,
    report::{self, Report, Row},
    resident,
    stores::{self, Store},
};

/// How many record at once, and how many turns each round: many times what may wait to be indexed.
const WRITERS: [(usize, usize); 3] = [(1, 400), (8, 3_200), (64, 25_600)];
/// Turns in a batch, and batches a round.
const BATCH: usize = 1_000;
const BATCHES: usize = 14;
const SESSION: &str = "s";

#[derive(Args)]
pub(crate) struct Options {
    /// How often each side is measured, by turns.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// The texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only these backends, beside hand-written code: inmem, sqlite, redb.
    #[arg(long)]
    backend: Vec<String>,
}

/// A store, and what it took.
struct Measured {
    store: Box<dyn Store>,
    /// By number of writers.
    writers: [Samples; WRITERS.len()],
    batches: Samples,
}

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let corpus = Corpus::new(options.seed);
    let most = WRITERS.iter().map(|(_, turns)| *turns).max().unwrap_or_default();
    let texts: Vec<String> = (0..most.max(BATCH * BATCHES)).map(|n| corpus.document(n)).collect();
    let batches: Vec<Vec<(&str, String)>> = texts[..BATCH * BATCHES]
        .chunks(BATCH)
        .map(|texts| texts.iter().map(|text| (SESSION, text.clone())).collect())
        .collect();
    let mut all = Vec::new();
    let is_chosen = |store: &dyn Store| {
        options.backend.is_empty()
            || options.backend.iter().any(|b| store.name().ends_with(b.as_str()))
    };
    for mut store in stores::all(folder)? {
        if !is_chosen(&*store) {
            continue;
        }
        store.start_sessions(&[SESSION.to_owned()])?;
        all.push(Measured { store, writers: Default::default(), batches: Samples::new() });
    }
    for round in 1..=options.rounds {
        report::doing(format_args!("round {round} of {}", options.rounds));
        for (at, (writers, turns)) in WRITERS.into_iter().enumerate() {
            for Measured { store, writers: samples, .. } in &mut all {
                let started = Instant::now();
                let waits = store.record(SESSION, &texts[..turns], writers)?;
                samples[at].round(waits, turns, started.elapsed());
                // What one does when nobody asks must not slow the next.
                resident::settle()?;
            }
        }
        for Measured { store, batches: samples, .. } in &mut all {
            let (mut waits, begin) = (Vec::new(), Instant::now());
            for batch in &batches {
                let started = Instant::now();
                store.record_batch(batch)?;
                waits.push(started.elapsed());
            }
            samples.round(waits, BATCH * BATCHES, begin.elapsed());
            resident::settle()?;
        }
    }
    let recorded =
        options.rounds * (BATCH * BATCHES + WRITERS.iter().map(|(_, turns)| turns).sum::<usize>());
    for Measured { store, .. } in &mut all {
        let (_, turns) = store.page_through(SESSION, BATCH)?;
        ensure!(turns == recorded, "{} has {turns} turns of {recorded}", store.name());
    }
    report.table(all.iter().flat_map(|measured| rows(measured, &all)).collect());
    Ok(())
}

fn rows(measured: &Measured, all: &[Measured]) -> Vec<Row> {
    let name = measured.store.name();
    let peer_name = stores::counterpart(name);
    let peer = all.iter().find(|other| Some(other.store.name()) == peer_name.as_deref());
    let row = |writers: usize, turns_a_commit: usize, samples: &Samples, peer: Option<&Samples>| {
        let ratio = |f: fn(&Samples) -> f64| peer.map_or(f64::NAN, |peer| f(samples) / f(peer));
        let own = samples.per_second() / measured.writers[0].per_second();
        Row::new()
            .with("store", name)
            .with("writers", writers)
            .with("turns_a_commit", turns_a_commit)
            .figure("p50_us", samples.p50_us(), 1)
            .figure("p99_us", samples.p99_us(), 1)
            .figure("turns_per_s", samples.per_second(), 0)
            .figure("latency_ratio", ratio(Samples::p50_us), 2)
            .figure("rate_ratio", ratio(Samples::per_second), 2)
            .figure("own_ratio", own, 2)
    };
    let by_writers = WRITERS.into_iter().enumerate().map(|(at, (writers, _))| {
        // Hand-written code commits together what as many writers record.
        let (writers, turns) = if peer_name.is_some() { (writers, 1) } else { (1, writers) };
        row(writers, turns, &measured.writers[at], peer.map(|peer| &peer.writers[at]))
    });
    let batches = row(1, BATCH, &measured.batches, peer.map(|peer| &peer.batches));
    by_writers.chain([batches]).collect()
}

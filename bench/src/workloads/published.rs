//! Storing records, one durable call each, beside other memories published for Rust. They bring their
//! own versions of SQLite, so each is a process of its own; all sides are measured by turns.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use memkeep::{NewEpisode, RecordKind, Scan};
use memkeep_bench_common::{
    ingest::{Done, Job},
    median,
};
use tokio::{runtime::Runtime, task::JoinSet};

use crate::{
    folder::Folder,
    report::{self, Report, Row},
    stores,
};

const PEERS: [&str; 2] = ["tokio-memory", "cel-memory-sqlite"];
const WRITERS: [usize; 2] = [1, 8];

#[derive(Args)]
pub(crate) struct Options {
    /// How many records each side stores.
    #[arg(long, default_value_t = 10_000)]
    records: usize,
    /// How often.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the peers' programs are; beside this one if absent.
    #[arg(long, value_name = "FOLDER")]
    peers: Option<PathBuf>,
}

/// Stores the job's records in a new store.
type Side<'s> = Box<dyn Fn(&Job) -> Result<Done> + 's>;

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let beside = std::env::current_exe()?.parent().map(Path::to_owned).unwrap_or_default();
    let programs = options.peers.as_ref().unwrap_or(&beside);
    let mut sides: Vec<(String, Side<'_>)> = stores::FILES
        .iter()
        .map(|backend| (format!("memkeep {backend}"), memkeep_side(backend)))
        .collect();
    for peer in PEERS {
        let program = programs.join(format!("memkeep-bench-{peer}"));
        ensure!(program.exists(), "{} is not built; see bench/README.md", program.display());
        sides.push((peer.to_owned(), Box::new(move |job| child(&program, job))));
    }
    let mut rates = vec![vec![Vec::new(); WRITERS.len()]; sides.len()];
    for round in 1..=options.rounds {
        report::doing(format_args!("round {round} of {}", options.rounds));
        for (at, writers) in WRITERS.into_iter().enumerate() {
            for ((name, side), rates) in sides.iter().zip(&mut rates) {
                let place = folder.folder(&format!("{name} {writers} {round}"))?;
                let job =
                    Job { folder: place, records: options.records, writers, seed: options.seed };
                let done = side(&job).with_context(|| name.clone())?;
                ensure!(done.stored == job.records, "{name} stored {}", done.stored);
                #[allow(clippy::cast_precision_loss)]
                rates[at].push(done.stored as f64 / done.seconds);
                fs::remove_dir_all(&job.folder)?;
            }
        }
    }
    let rates: Vec<Vec<f64>> =
        rates.into_iter().map(|rates| rates.into_iter().map(median).collect()).collect();
    let row = |(name, _): &(String, Side<'_>), rates: &[f64], at: usize, ours: f64| {
        Row::new()
            .with("store", name.as_str())
            .with("records", options.records)
            .with("writers", WRITERS[at])
            .figure("records_per_s", rates[at], 0)
            .figure("rate_ratio", ours / rates[at], 2)
    };
    let rows = sides.iter().zip(&rates).flat_map(|(side, of_side)| {
        (0..WRITERS.len()).map(|at| row(side, of_side, at, rates[0][at])).collect::<Vec<_>>()
    });
    report.table(rows.collect());
    Ok(())
}

fn child(program: &Path, job: &Job) -> Result<Done> {
    let output = Command::new(program)
        .arg(&job.folder)
        .args(["--records", &job.records.to_string()])
        .args(["--writers", &job.writers.to_string()])
        .args(["--seed", &job.seed.to_string()])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "{}: {}", program.display(), output.status);
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn memkeep_side(backend: &'static str) -> Side<'static> {
    Box::new(move |job| {
        let runtime = Runtime::new()?;
        let url = format!("{backend}:{}", job.folder.join("memkeep.db").display());
        let store = runtime.block_on(memkeep::open(&url))?;
        let shares = job.shares();
        runtime.block_on(async {
            let started = Instant::now();
            let mut writers = JoinSet::new();
            for share in shares {
                let store = store.clone();
                writers.spawn(async move {
                    for text in share {
                        store.add_episode(NewEpisode::new(text, "")).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(writer) = writers.join_next().await {
                writer??;
            }
            let seconds = started.elapsed().as_secs_f64();
            let stored = store.scan(&Scan::new(RecordKind::Episode)).await?.items.len();
            store.close().await?;
            Ok(Done { stored, seconds })
        })
    })
}

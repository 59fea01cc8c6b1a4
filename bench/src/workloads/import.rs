//! Memory that an import takes, by the peak of a process that does nothing else.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use memkeep::{Batch, ImportOptions, NewSession, NewTurn, Op, Scope};
use memkeep_bench_common::Corpus;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::{
    folder::{self, Folder},
    report::{self, Report, Row},
    resident, stores,
};

/// Turns of a session.
const SESSION: usize = 100;
/// Writes a file of so many turns.
type Write = fn(&Path, usize, &Corpus) -> Result<()>;

#[derive(Args)]
pub(crate) struct Options {
    /// How many turns.
    #[arg(long, default_value_t = 1_000_000)]
    turns: usize,
    /// The texts.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
pub(crate) struct Child {
    url: String,
    file: PathBuf,
}

/// What the process says of itself: bytes resident before and at most during the import.
#[derive(Serialize, Deserialize)]
struct Done {
    stored: u64,
    seconds: f64,
    idle_bytes: u64,
    peak_bytes: u64,
}

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let corpus = Corpus::new(options.seed);
    let sources: [(&str, Write); 2] = [("jsonl", write_export), ("velune", write_velune)];
    let mut rows = Vec::new();
    for (format, write) in sources {
        report::doing(format_args!("writing {} turns as {format}", options.turns));
        let file = folder.path(format);
        write(&file, options.turns, &corpus)?;
        for backend in stores::FILES {
            report::doing(format_args!("importing {format} into {backend}"));
            let store = folder.path(&format!("{format} to {backend}"));
            let done = in_child(&format!("{backend}:{}", store.display()), &file)?;
            let records = options.turns + options.turns.div_ceil(SESSION);
            ensure!(done.stored == records as u64, "{} of {records} stored", done.stored);
            let over = done.peak_bytes.saturating_sub(done.idle_bytes);
            #[allow(clippy::cast_precision_loss)]
            rows.push(
                Row::new()
                    .with("store", format!("memkeep {backend}"))
                    .with("from", format)
                    .with("turns", options.turns)
                    .with("file_bytes", folder::bytes(&file)?)
                    .with("idle_bytes", done.idle_bytes)
                    .with("peak_bytes", done.peak_bytes)
                    .figure("over_idle_mib", over as f64 / f64::from(1 << 20), 1)
                    .figure("records_per_s", done.stored as f64 / done.seconds, 0),
            );
        }
        std::fs::remove_file(&file)?;
    }
    report.table(rows);
    Ok(())
}

fn in_child(url: &str, file: &Path) -> Result<Done> {
    let output = Command::new(std::env::current_exe()?)
        .args(["import-child", url])
        .arg(file)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the import's process: {}", output.status);
    serde_json::from_slice(&output.stdout).context("what the import's process said")
}

/// Imports in this process, and says on stdout what it took.
pub(crate) fn child(child: &Child) -> Result<()> {
    let done = Runtime::new()?.block_on(async {
        let store = memkeep::open(&child.url).await?;
        resident::reset_peak()?;
        let (idle_bytes, started) = (resident::now()?, Instant::now());
        let report = memkeep::import(&*store, &child.file, ImportOptions::new()).await?;
        let seconds = started.elapsed().as_secs_f64();
        let peak_bytes = resident::peak()?;
        store.close().await?;
        anyhow::Ok(Done { stored: report.counts.total().stored, seconds, idle_bytes, peak_bytes })
    })?;
    println!("{}", serde_json::to_string(&done)?);
    Ok(())
}

/// An export of a store that has sessions of turns.
fn write_export(file: &Path, turns: usize, corpus: &Corpus) -> Result<()> {
    let source = file.with_extension("db");
    Runtime::new()?.block_on(async {
        let store = memkeep::open(&format!("sqlite:{}", source.display())).await?;
        for first in (0..turns).step_by(SESSION) {
            let id = session(first);
            let mut batch = Batch::from(Op::StartSession(NewSession::new().id(id.as_str())));
            for n in first..turns.min(first + SESSION) {
                batch.push(NewTurn::new(id.as_str(), role(n), corpus.document(n)));
            }
            store.commit(batch).await?;
        }
        memkeep::export(&*store, &Scope::All, BufWriter::new(File::create(file)?)).await?;
        store.close().await?;
        anyhow::Ok(())
    })?;
    Ok(std::fs::remove_file(source)?)
}

/// A database of velune with the same sessions.
fn write_velune(file: &Path, turns: usize, corpus: &Corpus) -> Result<()> {
    let mut connection = Connection::open(file)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, workspace_root TEXT NOT NULL, \
         started_at REAL NOT NULL, ended_at REAL, model_used TEXT, mode TEXT, \
         total_tokens INTEGER DEFAULT 0, summary TEXT);
         CREATE TABLE turns (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, \
         turn_index INTEGER NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, model_used TEXT, \
         tokens_used INTEGER, created_at REAL NOT NULL, embedding_id TEXT);
         CREATE TABLE memory_tags (turn_id TEXT NOT NULL, tag TEXT NOT NULL, value TEXT, \
         PRIMARY KEY (turn_id, tag))",
    )?;
    for n in 0..turns {
        let at = 1.7e9 + f64::from(u32::try_from(n)?);
        let (id, index) = (session(n), n % SESSION);
        if index == 0 {
            let sql = "INSERT INTO sessions (id, workspace_root, started_at) VALUES (?, '/w', ?)";
            transaction.prepare_cached(sql)?.execute(params![id, at])?;
        }
        let sql = "INSERT INTO turns (id, session_id, turn_index, role, content, created_at) \
                   VALUES (?, ?, ?, ?, ?, ?)";
        let row = params![format!("trn-{n}"), id, index, role(n), corpus.document(n), at];
        transaction.prepare_cached(sql)?.execute(row)?;
    }
    Ok(transaction.commit()?)
}

/// The session of the n-th turn.
fn session(n: usize) -> String {
    format!("ses-{}", n / SESSION)
}

fn role(n: usize) -> &'static str {
    ["user", "assistant"][n % 2]
}

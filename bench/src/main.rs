//! memkeep and its peers, measured side by side: `memkeep-bench --help`, and README.md for what both
//! sides do and how to read the figures.

mod engines;
mod folder;
mod plot;
mod report;
mod resident;
mod stores;
mod workloads;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{
    folder::Folder,
    report::Report,
    workloads::{commits, find, import, listings, locomo, published, recall},
};

/// Measures memkeep beside hand-written code, search engines and other memories, in one run.
#[derive(Parser)]
#[command(name = "memkeep-bench")]
struct Args {
    /// Print JSON lines instead of a table.
    #[arg(long, global = true)]
    json: bool,
    /// Put stores into a new folder in this one, removed at the end. Commits cost what its disk takes
    /// to flush.
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Durable commits: 1, 8 and 64 writers, and batches, beside hand-written code.
    Commits(commits::Options),
    /// Listings of a growing store, beside hand-written code.
    Listings(listings::Options),
    /// Storing records, beside other published memories.
    Published(published::Options),
    /// Top-10 recall by each scorer, beside FTS5 and tantivy.
    Recall(recall::Options),
    /// Finding a rare stretch of text in turns, beside SQLite's `LIKE`.
    Find(find::Options),
    /// Draws what `recall` measured, as an SVG file.
    Plot(plot::Options),
    /// Finding the evidence for the questions of LoCoMo, beside FTS5.
    Locomo(locomo::Options),
    /// Memory that an import takes.
    Import(import::Options),
    /// The process that an import is measured in.
    #[command(hide = true)]
    ImportChild(import::Child),
}

fn main() -> Result<()> {
    let args = Args::parse();
    match &args.command {
        Command::ImportChild(child) => return import::child(child),
        Command::Plot(options) => return plot::run(options),
        _ => {}
    }
    let mut report = Report::new(args.json);
    let folder = Folder::new(args.dir.as_deref())?;
    match args.command {
        Command::Commits(options) => commits::run(&options, &folder, &mut report)?,
        Command::Listings(options) => listings::run(&options, &folder, &mut report)?,
        Command::Published(options) => published::run(&options, &folder, &mut report)?,
        Command::Recall(options) => recall::run(&options, &folder, &mut report)?,
        Command::Find(options) => find::run(&options, &folder, &mut report)?,
        Command::Locomo(options) => locomo::run(&options, &folder, &mut report)?,
        Command::Import(options) => import::run(&options, &folder, &mut report)?,
        Command::ImportChild(_) | Command::Plot(_) => {}
    }
    report.finish();
    Ok(())
}

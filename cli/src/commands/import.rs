use std::{
    collections::HashSet,
    io::{self, Write},
    path::{Path, PathBuf},
};

use clap::{
    Args, ValueEnum,
    builder::{PathBufValueParser, TypedValueParser},
};
use memkeep::{
    MemoryBackend, Scope,
    import::{
        self, ImportAction, ImportOptions, ImportProgress, ImportReport, ImportTally, SourceFormat,
    },
};
use serde::Serialize;
use tempfile::TempPath;

use crate::{
    context::Context,
    failure::{Failure, retold},
    input,
    output::{Fields, Progress, Render, View, escape},
    parse,
};

/// Read a MuseEngine or velune database, or an export; a second time adds nothing
///
/// The file is opened read-only. Rows that name no workspace go to --workspace; the others keep
/// theirs. Every row that had to be skipped or repaired is told with its reason.
#[derive(Args)]
pub(crate) struct Import {
    /// The file; stdin if `-`
    #[arg(value_name = "PATH", value_parser = PathBufValueParser::new().try_map(parse::path))]
    path: PathBuf,
    /// What it is [default: what its content shows]
    #[arg(long, value_enum)]
    from: Option<Format>,
    /// Read and check everything, store nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// What was read from stdin.
    #[arg(skip)]
    stdin: Option<TempPath>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A database of MuseEngine
    Muse,
    /// A database of velune
    Velune,
    /// An export of memkeep
    Jsonl,
}

impl Import {
    /// What cannot be imported makes no store: it is read into one in memory first.
    pub(super) async fn prepare(
        &mut self,
        scope: &Scope,
        makes_store: bool,
    ) -> Result<(), Failure> {
        if self.path == Path::new("-") {
            self.stdin = Some(input::spool()?);
        }
        if makes_store && !self.dry_run {
            let rehearsal = memkeep::open("inmem:").await?;
            self.read(&*rehearsal, scope, "checking", true).await?;
        }
        Ok(())
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let store = &*context.store;
        let report = self.read(store, &context.scope, "importing", self.dry_run).await?;
        if !self.dry_run {
            context.done = Some("what was read is stored");
        }
        if report.format == SourceFormat::Jsonl && context.scope.workspace().is_some() {
            let remark =
                "--workspace has no effect on an export: its records keep their workspaces";
            // Who cannot be told anything is not told this.
            let _ = writeln!(io::stderr(), "note: {remark}");
        }
        tell(context, &report)
    }

    async fn read(
        &self,
        store: &dyn MemoryBackend,
        scope: &Scope,
        doing: &str,
        dry_run: bool,
    ) -> Result<ImportReport, Failure> {
        let from = self.from.map(|format| match format {
            Format::Muse => SourceFormat::Muse,
            Format::Velune => SourceFormat::Velune,
            Format::Jsonl => SourceFormat::Jsonl,
        });
        let progress = Progress::new(&format!("{doing} {{wide_bar}} {{human_pos}}"));
        let bar = progress.bar();
        let mut options = ImportOptions::new().from(from).dry_run(dry_run).progress(
            move |reached: ImportProgress| {
                if let Some(total) = reached.total {
                    bar.set_length(total);
                }
                bar.set_position(reached.done);
            },
        );
        options.workspace = scope.workspace().cloned();
        let path = self.stdin.as_deref().unwrap_or(&self.path);
        // What is wrong with a file is no matter of the words that name it.
        import::import(store, path, options).await.map_err(|error| {
            Failure::Input(match self.stdin {
                Some(_) => retold(&error, error.message(), Some("stdin")),
                None => error,
            })
        })
    }
}

/// What became of the rows of a kind.
#[derive(Serialize)]
struct Kind {
    kind: &'static str,
    #[serde(flatten)]
    tally: ImportTally,
}

impl Render for Kind {
    const NAMES: &'static str = "rows";

    fn fields(&self) -> Fields {
        Fields::default()
            .column("kind", self.kind)
            .column("stored", self.tally.stored)
            .column("already_there", self.tally.already_there)
            .column("repaired", self.tally.repaired)
            .column("skipped", self.tally.skipped)
    }
}

fn tell(context: &mut Context, report: &ImportReport) -> Result<(), Failure> {
    if context.out.is_json() {
        return context.out.json_line(report);
    }
    let dry = if report.dry_run { "; nothing was stored, this was a dry run" } else { "" };
    context.out.note(format_args!("read as {}{dry}", report.format))?;
    let kinds: Vec<Kind> = report
        .counts
        .by_kind()
        .into_iter()
        .filter(|(_, tally)| *tally != ImportTally::default())
        .map(|(kind, tally)| Kind { kind, tally })
        .collect();
    context.out.rows(View::Table, &kinds)?;
    if report.counts.total().repaired > 0 {
        context.out.note("stored and already there include the repaired")?;
    }
    let kept = report.issues.iter().filter(|issue| issue.action == ImportAction::Kept);
    let kept: HashSet<_> = kept.map(|issue| (issue.table, issue.rowid)).collect();
    if !kept.is_empty() {
        let n = kept.len();
        context
            .out
            .note(format_args!("kept: {n} already there differ, and were left as they are"))?;
    }
    for issue in &report.issues {
        let action = match issue.action {
            ImportAction::Repaired => "repaired",
            ImportAction::Kept => "kept",
            _ => "skipped",
        };
        let id = issue.id.as_ref().map(|id| format!(" ({})", escape::cut(id, escape::VALUE)));
        let (table, rowid, id) = (issue.table, issue.rowid, id.unwrap_or_default());
        let reason = escape::shorten(&issue.reason);
        context.out.note(format_args!("{action}: {table} row {rowid}{id}: {reason}"))?;
    }
    for remark in &report.remarks {
        context.out.note(format_args!("note: {}", escape::shorten(remark)))?;
    }
    Ok(())
}

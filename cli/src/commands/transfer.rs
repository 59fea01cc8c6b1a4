use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use memkeep::{
    Error, export,
    import::{
        self, ImportAction, ImportOptions, ImportProgress, ImportReport, ImportTally, SourceFormat,
    },
};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::{
    context::Context,
    failure::{self, Failure},
    output::{Fields, Progress, Render, View},
};

/// Read a MuseEngine or velune database, or an export; a second time adds nothing
///
/// The file is opened read-only. Rows that name no workspace go to --workspace; the others keep
/// theirs. Every row that had to be skipped or repaired is told with its reason.
#[derive(Args)]
pub(crate) struct Import {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// What it is [default: what its content shows]
    #[arg(long, value_enum)]
    from: Option<Format>,
    /// Read and check everything, store nothing
    #[arg(long)]
    pub(super) dry_run: bool,
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
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let from = self.from.map(|format| match format {
            Format::Muse => SourceFormat::Muse,
            Format::Velune => SourceFormat::Velune,
            Format::Jsonl => SourceFormat::Jsonl,
        });
        let progress = Progress::new("importing {wide_bar} {human_pos}");
        let bar = progress.bar();
        let mut options = ImportOptions::new().from(from).dry_run(self.dry_run).progress(
            move |reached: ImportProgress| {
                if let Some(total) = reached.total {
                    bar.set_length(total);
                }
                bar.set_position(reached.done);
            },
        );
        options.workspace = context.scope.workspace().cloned();
        // What is wrong with a file is no matter of the words that name it.
        let report =
            import::import(&*context.store, &self.path, options).await.map_err(Failure::Input)?;
        drop(progress);
        tell(context, &report)
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
    for issue in &report.issues {
        let action = match issue.action {
            ImportAction::Repaired => "repaired",
            ImportAction::Kept => "kept",
            _ => "skipped",
        };
        let id = issue.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        let (table, rowid, reason) = (issue.table, issue.rowid, &issue.reason);
        context.out.note(format_args!("{action}: {table} row {rowid}{id}: {reason}"))?;
    }
    for remark in &report.remarks {
        context.out.note(format_args!("note: {remark}"))?;
    }
    Ok(())
}

/// Write everything as JSON lines in a fixed order, which `import` reads back
#[derive(Args)]
pub(crate) struct Export {
    /// The file, which is replaced if it is there; stdout if `-` or absent
    #[arg(value_name = "PATH", default_value = "-")]
    path: PathBuf,
}

impl Export {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        if self.path == Path::new("-") {
            write(context, io::stdout()).await?;
            return Ok(());
        }
        let path = &self.path;
        let failed = |error: io::Error| {
            let kind = failure::kind(&error);
            Error::new(kind, "the export cannot be written")
                .with("path", path.display())
                .caused_by(error)
        };
        // A pipe or a device is written to, and not replaced by a file.
        let exported = if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            let file = File::options().write(true).open(path).map_err(failed)?;
            write(context, file).await?
        } else {
            // Only a whole export takes the place of an older one.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let file = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
            let exported = write(context, file.as_file()).await?;
            file.as_file().sync_all().map_err(failed)?;
            file.persist(path).map_err(|e| failed(e.error))?;
            exported
        };
        context.out.note(format_args!("exported {exported} records to {}", path.display()))
    }
}

async fn write(context: &Context, out: impl Write + Send) -> Result<u64, Failure> {
    let progress = Progress::new("exporting {decimal_bytes}");
    let out = progress.bar().wrap_write(BufWriter::new(out));
    export::export(&*context.store, &context.scope, out).await.map_err(failure::of_output)
}

/// Make a consistent copy of the live store in a new file
#[derive(Args)]
pub(crate) struct Backup {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("backup")?;
        let progress = Progress::new("copying");
        context.store.backup(&self.path).await?;
        drop(progress);
        context.out.note(format_args!("copied to {}", self.path.display()))
    }
}

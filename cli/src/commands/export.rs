use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{PathBufValueParser, TypedValueParser},
};
use memkeep::{Error, ErrorKind, export};
use tempfile::{NamedTempFile, TempDir, TempPath};

use crate::{
    context::Context,
    failure::{Failure, of_output, retold},
    files::{self, unwritable},
    output::{Progress, escape},
    parse,
};

/// Write everything as JSON lines in a fixed order, which `import` reads back
#[derive(Args)]
pub(crate) struct Export {
    /// The file, which is replaced if it is an export; stdout if `-` or absent
    #[arg(
        value_name = "PATH",
        default_value = "-",
        value_parser = PathBufValueParser::new().try_map(parse::path)
    )]
    path: PathBuf,
}

impl Export {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let path = &self.path;
        let store = context.file.as_deref();
        if path == Path::new("-") {
            // A shell may have led it there: `>> agent.db`.
            files::keep_off(store, Path::new("/dev/stdout"))?;
            print(context).await?;
            return Ok(());
        }
        files::keep_off(store, path)?;
        let failed = |error| unwritable(error, path);
        let exported = match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                return Err(failed(io::ErrorKind::IsADirectory.into()).into());
            }
            // A pipe or a device is written to, and not replaced by a file.
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                write(context, Progress::new(EXPORTING), file).await?
            }
            found => {
                if found.is_ok() && !files::is_export(path).map_err(failed)? {
                    let message = "there is a file that is no export, and is not overwritten";
                    let error = Error::new(ErrorKind::Conflict, message);
                    return Err(error.with("path", path.display()).into());
                }
                // Only a whole export takes the place of an older one.
                let target = files::target(path);
                let file = NamedTempFile::new_in(files::folder(&target)).map_err(failed)?;
                let exported = write(context, Progress::new(EXPORTING), file.as_file()).await?;
                file.as_file().sync_all().map_err(failed)?;
                file.persist(target).map_err(|e| failed(e.error))?;
                exported
            }
        };
        context.done = Some("the export is written");
        context.out.note(format_args!("exported {exported} records to {}", path.display()))
    }
}

const EXPORTING: &str = "exporting {decimal_bytes}";

async fn write(
    context: &Context,
    progress: Progress,
    out: impl Write + Send,
) -> Result<u64, Failure> {
    let out = progress.bar().wrap_write(BufWriter::new(out));
    export::export(&*context.store, &context.scope, out).await.map_err(of_output)
}

async fn print(context: &Context) -> Result<u64, Failure> {
    if !io::stdout().is_terminal() {
        return write(context, Progress::new(EXPORTING), io::stdout()).await;
    }
    let mut out = BufWriter::new(io::stdout());
    let failed =
        |e: io::Error| Error::new(files::kind(&e), "the export cannot be written").caused_by(e);
    let exported = export::export_lines(&*context.store, &context.scope, |line| {
        writeln!(out, "{}", escape::json(line)).map_err(failed)
    })
    .await
    .map_err(of_output)?;
    out.flush()?;
    Ok(exported)
}

/// Make a consistent copy of the live store in a new file
#[derive(Args)]
pub(crate) struct Backup {
    /// The file
    #[arg(value_name = "PATH", value_parser = PathBufValueParser::new().try_map(parse::path))]
    path: PathBuf,
}

impl Backup {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("backup")?;
        let path = &self.path;
        files::keep_off(context.file.as_deref(), path)?;
        if fs::symlink_metadata(path).is_ok() {
            return Err(taken(path).into());
        }
        let failed = |error| unwritable(error, path);
        // It can be read by nobody else while it is made, and has its name when it is whole.
        let folder = private_folder(files::folder(path)).map_err(failed)?;
        let copy = folder.path().join("copy.db");
        let progress = Progress::new("copying");
        let named = path.display().to_string();
        context
            .store
            .backup(&copy)
            .await
            .map_err(|error| retold(&error, error.message(), Some(&named)))?;
        drop(progress);
        let copy = TempPath::try_from_path(copy).map_err(failed)?;
        make_private(&copy).map_err(failed)?;
        copy.persist_noclobber(path).map_err(|e| match e.error.kind() {
            io::ErrorKind::AlreadyExists => taken(path),
            _ => failed(e.error),
        })?;
        context.done = Some("the copy is made");
        context.out.note(format_args!("copied to {}", path.display()))
    }
}

/// A folder in `folder` that goes with the value, and that nobody else can look into.
fn private_folder(folder: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".memkeep-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o700));
    }
    builder.tempdir_in(folder)
}

fn taken(path: &Path) -> Error {
    Error::new(ErrorKind::Conflict, "there is a file already").with("path", path.display())
}

/// Like an export, which a temporary file makes.
fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    File::options().write(true).open(path)?.sync_all()
}

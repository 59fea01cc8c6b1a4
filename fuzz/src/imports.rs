use std::{
    fs,
    path::{Path, PathBuf},
};

use memkeep::{
    ErrorKind, ImportAction, ImportOptions, ImportReport, Result, SourceFormat, Workspace, import,
};
use tempfile::TempDir;

use crate::{Store, assert_clean, dump, inmem, sqlite};

/// A folder with a file to import, in memory where that is possible.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// A new one.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let shared = Path::new("/dev/shm");
        let folder = if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() };
        Self(folder.expect("a folder for temporary files"))
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("source")
    }

    /// Puts a file there.
    pub fn write(&self, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(), bytes).expect("the file is written");
        self.path()
    }
}

async fn imported(store: &Store, path: &Path, options: ImportOptions) -> Result<ImportReport> {
    let report = import(store.as_ref(), path, options).await;
    match &report {
        Ok(report) => {
            let skips = report.issues.iter().filter(|i| i.action == ImportAction::Skipped).count();
            assert_eq!(report.counts.total().skipped, skips as u64, "every skip has a reason");
        }
        Err(error) => {
            let expected =
                [ErrorKind::InvalidArgument, ErrorKind::SchemaTooNew, ErrorKind::Corrupt];
            assert!(expected.contains(&error.kind()), "{error:?}");
        }
    }
    report
}

/// Imports the file `path`, and checks what holds of every import: each row is stored or told of, a
/// second import adds nothing, all backends come to hold the same, and an export of it makes an equal
/// store. A file that is refused leaves nothing behind.
pub async fn check_import(path: &Path, workspace: Option<&str>) {
    let options = || {
        let mut options = ImportOptions::new();
        options.workspace = workspace.map(Workspace::from);
        options
    };
    let store = inmem().await;
    let dry = imported(&store, path, options().dry_run(true)).await;
    let empty = dump(&store).await;
    assert_eq!(empty.lines().count(), 2, "a dry run stores nothing");
    let first = imported(&store, path, options()).await;
    assert_eq!(dry.is_ok(), first.is_ok());
    assert_clean(&store).await;
    let stored = dump(&store).await;
    let Ok(report) = first else {
        return assert_eq!(stored, empty, "a refused file stores nothing");
    };

    let second = imported(&store, path, options()).await.expect("the same file");
    let total = second.counts.total();
    // A line that was skipped may have come before what it needs.
    let may_add = match report.format {
        SourceFormat::Jsonl => report.counts.total().skipped,
        _ => 0,
    };
    assert!(total.stored <= may_add, "a second import adds: {:?}", second.issues);
    assert_clean(&store).await;
    if may_add == 0 {
        assert_eq!(dump(&store).await, stored, "a second import changes nothing");
    }

    let other = sqlite().await;
    let others = imported(&other, path, options()).await.expect("the same file");
    assert_eq!((others.counts, others.issues), (report.counts, report.issues));
    assert_eq!(dump(&other).await, stored, "both backends hold the same");

    let folder = Folder::new();
    let copy = inmem().await;
    let export = folder.write(stored.as_bytes());
    let copied = imported(&copy, &export, ImportOptions::new()).await.expect("an export");
    assert_eq!(dump(&copy).await, stored, "an export makes an equal store");
    let again = imported(&store, &export, ImportOptions::new()).await.expect("its own export");
    assert_eq!(again.counts.total().stored, 0, "a store's own export adds something to it");
    // Workspaces that are alike are remarked on wherever they are.
    for report in [&copied, &again] {
        assert_eq!((report.issues.as_slice(), &report.remarks), (&[][..], &copied.remarks));
    }
}

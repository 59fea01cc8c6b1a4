use std::{
    env::{self, VarError},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use etcetera::BaseStrategy;
use memkeep::{
    Batch, Cursor, Error, ErrorKind, MemoryBackend, Op, Outcome, Page, Receipt, Result, Scope,
    StoreUrl, Workspace, redb::RedbConfig, sqlite::SqliteConfig,
};

use crate::{
    args::Args,
    commands::{Access, Command},
    failure::Failure,
    output::{Output, Render, View},
    parse,
    scope::Confinement,
};

/// How many rows of a listing are read at a time.
pub(crate) const PAGE: usize = 500;

/// What a command works with: the open store, what of it is named, and where answers go.
pub(crate) struct Context {
    pub(crate) store: Arc<dyn MemoryBackend>,
    /// The store's file, if it has one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) scope: Scope,
    pub(crate) out: Output,
    /// What has been done, whatever becomes of the answer.
    pub(crate) done: Option<&'static str>,
}

impl Context {
    /// Opens the store as the command needs it.
    pub(crate) async fn open(args: Args) -> Result<(Command, Self), Failure> {
        let Args { store, workspace, json, mut command } = args;
        let mut url = match store.map_or_else(named_store, |url| Ok(Some(url)))? {
            Some(url) => url,
            None => default_store()?,
        };
        let file = file(&url)?;
        let missing = file.as_deref().filter(|path| !is_there(path));
        if let Some(path) = missing {
            match command.access() {
                Access::Create => {}
                Access::Existing => {
                    return Err(Error::new(ErrorKind::NotFound, "there is no store here")
                        .with("path", path.display())
                        .into());
                }
                Access::Rehearsal => "inmem:".clone_into(&mut url),
            }
        }
        let scope = Scope::from(workspace.map(Workspace::new));
        command.prepare(&scope, missing.is_some()).await?;
        let out = Output::new(json, scope.workspace().is_some());
        let store = memkeep::open(&url).await?;
        Ok((command, Self { store, file, scope, out, done: None }))
    }

    /// Writes what is still buffered and lets go of the store.
    pub(crate) async fn close(&mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        self.store.close().await?;
        flushed
    }

    /// `InvalidArgument` if only a workspace was named for what can only be done to a whole store.
    pub(crate) fn whole_store(&self, what: &str) -> Result<()> {
        match self.scope {
            Scope::All => Ok(()),
            Scope::Workspace(_) => {
                let message = format_args!("{what} concerns the whole store: leave it out");
                Err(Error::invalid("workspace", message))
            }
        }
    }

    /// Commits a batch inside the scope.
    pub(crate) async fn commit_batch(&mut self, mut batch: Batch) -> Result<Receipt> {
        if let Some(workspace) = self.scope.workspace() {
            let mut confinement = Confinement::new(&*self.store, workspace);
            for (i, op) in batch.ops.iter_mut().enumerate() {
                confinement.admit(op).await.map_err(|e| e.with("op", i).during("commit"))?;
            }
        }
        let receipt = self.store.commit(batch).await?;
        self.done = Some("the change is stored");
        Ok(receipt)
    }

    /// Commits one op inside the scope.
    pub(crate) async fn commit(&mut self, op: impl Into<Op>) -> Result<Outcome> {
        self.commit_batch(Batch::from(op.into())).await?.into_first()
    }

    /// Prints a listing from its first to its last page.
    pub(crate) async fn list<T: Render>(
        &mut self,
        view: View,
        mut read: impl AsyncFnMut(&dyn MemoryBackend, Option<Cursor>) -> Result<Page<T>>,
    ) -> Result<(), Failure> {
        let mut listing = self.out.listing(view);
        let mut after = None;
        loop {
            let page = read(&*self.store, after).await?;
            for row in &page.items {
                listing.row(row)?;
            }
            match page.next {
                None => return listing.finish(),
                next => after = next,
            }
        }
    }
}

/// The store that the surroundings name.
fn named_store() -> Result<Option<String>> {
    match env::var("MEMKEEP_STORE") {
        Ok(url) => Ok(Some(url)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => Err(Error::invalid("MEMKEEP_STORE", "not UTF-8")),
    }
}

/// The store of a user who names none.
fn default_store() -> Result<String> {
    let folders = etcetera::choose_base_strategy().map_err(|e| {
        Error::new(ErrorKind::NotFound, "you have no home folder: name a store with --store")
            .caused_by(e)
    })?;
    let path = folders.data_dir().join("memkeep").join("memkeep.db");
    let path = path
        .to_str()
        .ok_or_else(|| Error::invalid("store", "the path of your data folder is not UTF-8"))?;
    Ok(format!("sqlite:{}", path.replace('%', "%25").replace('?', "%3F").replace('#', "%23")))
}

/// The file of the store that a URL names.
pub(crate) fn file(url: &str) -> Result<Option<PathBuf>> {
    let url: StoreUrl = url.parse()?;
    let path = match url.scheme() {
        "sqlite" => SqliteConfig::from_url(&url)?.path,
        "redb" => Some(RedbConfig::from_url(&url)?.path),
        _ => None,
    };
    // An empty path is no path: opening says so.
    let path = path.filter(|path| !path.as_os_str().is_empty());
    path.map(parse::path).transpose().map_err(|message| Error::invalid("store", message))
}

/// Whether there is a store in a file. Opening one that is not there, or is empty, would make an
/// empty store, which is what nobody expects of reading under a mistyped name.
fn is_there(path: &Path) -> bool {
    let Ok(found) = fs::metadata(path) else { return false };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // An empty file with a log beside it has been damaged, and opening says so.
    !found.is_file() || found.len() > 0 || Path::new(&log).exists()
}

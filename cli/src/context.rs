use std::{path::PathBuf, sync::Arc};

use etcetera::BaseStrategy;
use memkeep::{
    Batch, Cursor, Error, ErrorKind, MemoryBackend, Op, Outcome, Page, Receipt, Result, Scope,
    StoreUrl, Workspace, sqlite::SqliteConfig,
};

use crate::{
    args::Args,
    commands::{Access, Command},
    failure::Failure,
    output::{Output, Render, View},
    scope::Confinement,
};

/// How many rows of a listing are read at a time.
pub(crate) const PAGE: usize = 500;

/// What a command works with: the open store, what of it is named, and where answers go.
pub(crate) struct Context {
    pub(crate) store: Arc<dyn MemoryBackend>,
    pub(crate) scope: Scope,
    pub(crate) out: Output,
}

impl Context {
    /// Opens the store as the command needs it.
    pub(crate) async fn open(args: Args) -> Result<(Command, Self), Failure> {
        let Args { store, workspace, json, command } = args;
        let mut url = match store {
            Some(url) => url,
            None => default_store()?,
        };
        if let Some(path) = missing_file(&url)? {
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
        let out = Output::new(json, scope.workspace().is_some());
        let store = memkeep::open(&url).await?;
        Ok((command, Self { store, scope, out }))
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
    pub(crate) async fn commit_batch(&self, mut batch: Batch) -> Result<Receipt> {
        if let Some(workspace) = self.scope.workspace() {
            let mut confinement = Confinement::new(&*self.store, workspace);
            for (i, op) in batch.ops.iter_mut().enumerate() {
                confinement.admit(op).await.map_err(|e| e.with("op", i).during("commit"))?;
            }
        }
        self.store.commit(batch).await
    }

    /// Commits one op inside the scope.
    pub(crate) async fn commit(&self, op: impl Into<Op>) -> Result<Outcome> {
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

/// The file of a store that is not there. Opening it would make an empty store, which is what nobody
/// expects of reading under a mistyped name.
fn missing_file(url: &str) -> Result<Option<PathBuf>> {
    let url: StoreUrl = url.parse()?;
    if url.scheme() != "sqlite" {
        return Ok(None);
    }
    let path = SqliteConfig::from_url(&url)?.path;
    // An empty path is no path: opening says so.
    Ok(path.filter(|path| !path.as_os_str().is_empty() && !path.exists()))
}

use std::fmt;

use super::SourceFormat;
use crate::Workspace;

/// How an import is done.
#[derive(Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// What the file is; found out from its content if absent.
    pub from: Option<SourceFormat>,
    /// Where records go that have no workspace in the file: `default` if absent. See
    /// [`import`](super::import()) for how it keeps two files apart.
    pub workspace: Option<Workspace>,
    /// Read and check everything, and store nothing.
    pub dry_run: bool,
    /// Called now and then while rows are read and stored.
    pub progress: Option<Progress>,
}

/// What [`ImportOptions::progress`] holds.
pub type Progress = Box<dyn FnMut(ImportProgress) + Send>;

/// How far an import has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportProgress {
    /// Rows, or lines, dealt with.
    pub done: u64,
    /// How many there are, if that is known.
    pub total: Option<u64>,
}

impl ImportOptions {
    /// Finds the format out, places records in `default`, and stores them.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the file is.
    #[must_use]
    pub fn from(mut self, from: impl Into<Option<SourceFormat>>) -> Self {
        self.from = from.into();
        self
    }

    /// Where records go that have no workspace in the file.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<Workspace>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Whether to store nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// What to call while rows are read and stored.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(ImportProgress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl fmt::Debug for ImportOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportOptions")
            .field("from", &self.from)
            .field("workspace", &self.workspace)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

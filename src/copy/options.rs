use std::fmt;

use serde::Serialize;

/// How a copy is done.
#[derive(Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// Called whenever a batch has been stored or compared.
    pub progress: Option<Progress>,
}

/// What [`CopyOptions::progress`] holds.
type Progress = Box<dyn FnMut(CopyProgress) + Send>;

impl CopyOptions {
    /// Without being told of progress.
    pub fn new() -> Self {
        Self::default()
    }

    /// What to call whenever a batch has been stored or compared.
    #[must_use]
    pub fn progress(mut self, progress: impl FnMut(CopyProgress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(progress));
        self
    }
}

impl fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyOptions").finish_non_exhaustive()
    }
}

/// How far a copy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyProgress {
    /// What is being done.
    pub stage: CopyStage,
    /// With how many records that has been done.
    pub done: u64,
    /// About how many there are.
    pub total: u64,
}

/// What a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CopyStage {
    /// Records are stored.
    Copying,
    /// Both stores are compared.
    Comparing,
}

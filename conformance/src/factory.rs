use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use memkeep_core::{Clock, Error, ErrorKind, Result};

use crate::{Damage, Handle, Need, Place};

/// Makes the stores that the suite tests.
///
/// One method is enough: open the store of a place. Opening a place for the first time makes a fresh,
/// empty store; what else a factory can do is said by [`abilities`](Self::abilities).
#[async_trait]
pub trait Factory: Send + Sync + 'static {
    /// Opens the store at `place`, with `clock` as its time.
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle>;

    /// What can be done beyond opening fresh stores.
    fn abilities(&self) -> Abilities {
        Abilities::new()
    }

    /// How long a clause may take: one that takes longer hangs.
    fn patience(&self) -> Duration {
        Duration::from_mins(2)
    }

    /// Clears away what the store at `place` left outside of its folder; all handles are closed.
    async fn destroy(&self, place: &Place) -> Result<()> {
        let _ = place;
        Ok(())
    }

    /// Makes commits on the store at `place` fail until the returned value is dropped. Called only
    /// where [`Abilities::faults`] is declared. The store is open meanwhile.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        let _ = place;
        Err(Error::new(ErrorKind::Unsupported, "the factory injects no faults"))
    }

    /// Damages what is stored at `place`. Called only where [`Abilities::damage`] is declared. All
    /// handles are closed meanwhile; afterwards the place is opened again.
    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        let _ = (place, damage);
        Err(Error::new(ErrorKind::Unsupported, "the factory damages nothing"))
    }

    /// Opens the copy that `backup` wrote to `path`, with `clock` as its time. Called only where
    /// [`Abilities::copy`] is declared.
    async fn open_copy(&self, path: &Path, clock: Arc<dyn Clock>) -> Result<Handle> {
        let _ = (path, clock);
        Err(Error::new(ErrorKind::Unsupported, "the factory opens no copies"))
    }
}

/// What a factory can do beyond opening fresh stores. A lack is declared in the macro line with a
/// reason; a declaration that does not match this fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
// Each is one thing that can be done or not.
#[allow(clippy::struct_excessive_bools)]
pub struct Abilities {
    /// What was committed is there when the place is opened again after closing.
    pub reopen: bool,
    /// A place can be opened again while it is open: two handles on one store.
    pub second_handle: bool,
    /// A process that has the place open can be killed, and the place opened afterwards by another.
    pub kill: bool,
    /// [`Factory::break_writes`] works.
    pub faults: bool,
    /// [`Factory::damage`] works, and what was committed is there when the place is opened after it;
    /// of a volatile store because the factory keeps it.
    pub damage: bool,
    /// The store has `backup`, and [`Factory::open_copy`] opens what it wrote.
    pub copy: bool,
}

impl Abilities {
    /// Nothing beyond opening fresh stores.
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`Abilities::reopen`].
    #[must_use]
    pub fn reopen(mut self) -> Self {
        self.reopen = true;
        self
    }

    /// See [`Abilities::second_handle`].
    #[must_use]
    pub fn second_handle(mut self) -> Self {
        self.second_handle = true;
        self
    }

    /// See [`Abilities::kill`].
    #[must_use]
    pub fn kill(mut self) -> Self {
        self.kill = true;
        self
    }

    /// See [`Abilities::faults`].
    #[must_use]
    pub fn faults(mut self) -> Self {
        self.faults = true;
        self
    }

    /// See [`Abilities::damage`].
    #[must_use]
    pub fn damage(mut self) -> Self {
        self.damage = true;
        self
    }

    /// See [`Abilities::copy`].
    #[must_use]
    pub fn copy(mut self) -> Self {
        self.copy = true;
        self
    }
}

impl Abilities {
    /// Whether they are enough for what a clause needs.
    pub(crate) fn include(self, need: Need) -> bool {
        match need {
            Need::Fresh => true,
            Need::Reopen => self.reopen,
            Need::SecondHandle => self.second_handle,
            Need::Kill => self.kill,
            Need::Faults => self.faults,
            Need::Damage => self.damage,
            Need::Copy => self.copy,
        }
    }
}

/// What the macro line tells the runner about the test it stands in.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// The test binary, to be run again as a child that is killed.
    pub(crate) binary: Option<PathBuf>,
    /// The name of the test that such a child runs.
    pub(crate) child: String,
}

impl Site {
    /// The site of the module whose test `child` (with the crate's name in front) is.
    pub fn here(child: &str) -> Self {
        let name = child.split_once("::").map_or(child, |(_, name)| name);
        Self { binary: std::env::current_exe().ok(), child: name.to_owned() }
    }

    /// The name of the test that runs the clause `id`.
    pub(crate) fn test(&self, id: &str) -> String {
        let module = self.child.strip_suffix("child").unwrap_or_default();
        format!("{module}{}", id.to_lowercase().replace('-', "_"))
    }

    /// Whether this process was started as the child of this site.
    pub fn is_asked_for(&self) -> bool {
        std::env::args().nth(1).as_deref() == Some(self.child.as_str())
    }
}

//! The contract, clause by clause.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use example_backend_log::LogStore;
use memkeep_conformance::{Abilities, Factory, Handle, Place};
use memkeep_core::{Clock, Error, ErrorKind, Result};

struct Log;

fn file(place: &Place) -> PathBuf {
    place.path().join("memory.log")
}

#[async_trait::async_trait]
impl Factory for Log {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(LogStore::open(file(place), clock).await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().kill().faults()
    }

    /// The file is somewhere else for a while.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        let (here, away) = (file(place), place.path().join("away"));
        rename(&here, &away)?;
        Ok(Box::new(Away { here, away }))
    }
}

struct Away {
    here: PathBuf,
    away: PathBuf,
}

impl Drop for Away {
    fn drop(&mut self) {
        rename(&self.away, &self.here).unwrap();
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    let failed = |e| Error::new(ErrorKind::Unexpected, "not to be renamed").caused_by(e);
    fs::rename(from, to).map_err(failed)
}

memkeep_conformance::suite!(Log, lacks_second_handle = "one handle has the file for itself");

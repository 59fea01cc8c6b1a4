//! The contract, clause by clause.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use example_backend_log::LogStore;
use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{
    Clock, Error, ErrorKind, Record, Result,
    decide::{Change, Put, Stored},
};
use serde_json::json;

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
        Abilities::new().reopen().kill().faults().damage()
    }

    /// The file is somewhere else for a while.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        let (here, away) = (file(place), place.path().join("away"));
        rename(&here, &away)?;
        Ok(Box::new(Away { here, away }))
    }

    /// The first line that names the record is changed, or a line added that no commit would write.
    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        let failed = |e| Error::new(ErrorKind::Unexpected, "not to be damaged").caused_by(e);
        let mut log = fs::read_to_string(file(place)).map_err(failed)?;
        match damage {
            Damage::Undecodable(record) => {
                log = log.replacen(&json!(record.id()).to_string(), "", 1);
            }
            Damage::Altered(Record::Session(session)) => {
                let row = Stored { record: session.clone(), origin: None };
                log += &line(&Change::PutSession(Put { row, new: false }));
            }
            Damage::Altered(Record::Audit(audit)) => log += &line(&Change::PutAudit(audit.clone())),
            Damage::Altered(_) => return Err(Error::invalid("damage", "what no clause asks for")),
        }
        fs::write(file(place), log).map_err(failed)
    }
}

/// A line that changes a row, numbered beyond those of the clauses.
fn line(change: &Change) -> String {
    let json = json!({ "at": 1_u64 << 40, "changes": [change] }).to_string();
    format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))
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

memkeep_conformance::suite!(
    Log,
    lacks_second_handle = "one handle has the file for itself",
    lacks_copy = "its file can be copied by any program",
);

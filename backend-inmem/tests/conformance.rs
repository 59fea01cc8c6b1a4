//! The contract, clause by clause.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{
    Clock, Result,
    embedded::{Embedded, EmbeddedOptions},
};
use memkeep_inmem::InmemMap;
use memkeep_kv::{KvEngine, test_util};

/// Keeps the maps, to reach what no other program could.
#[derive(Default)]
struct Inmem(Mutex<HashMap<PathBuf, InmemMap>>);

impl Inmem {
    fn map(&self, place: &Place) -> InmemMap {
        self.0.lock().unwrap().entry(place.path().to_owned()).or_default().clone()
    }
}

#[async_trait::async_trait]
impl Factory for Inmem {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let mut options = EmbeddedOptions::default();
        options.clock = clock;
        let map = self.map(place);
        let store = Embedded::open(options, |_| KvEngine::open(map, 2)).await?;
        Ok(Handle::new(Arc::new(store)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().damage()
    }

    async fn destroy(&self, place: &Place) -> Result<()> {
        self.0.lock().unwrap().remove(place.path());
        Ok(())
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        match damage {
            Damage::Undecodable(record) => test_util::spoil(&self.map(place), record),
            Damage::Altered(record) => test_util::alter(&self.map(place), record),
        }
    }
}

memkeep_conformance::suite!(
    Inmem::default(),
    lacks_reopen = "volatile",
    lacks_second_handle = "one handle has the map for itself",
    lacks_kill = "volatile",
    lacks_faults = "a map does not fail",
    lacks_copy = "there is no backup of what is volatile",
);

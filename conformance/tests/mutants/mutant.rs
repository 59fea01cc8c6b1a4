use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use memkeep_conformance::{Abilities, Damage, Factory, Handle, Need, Place};
use memkeep_core::{
    Clock, Result,
    embedded::{Embedded, EmbeddedOptions},
};
use memkeep_kv::KvEngine;
use memkeep_sqlite::{SqliteConfig, Synchronous};

use crate::{
    broken::Broken,
    defect::{Defect, OnClock, OnOpen, Store},
    engine::{BrokenEngine, BrokenWriter},
    shared_map::SharedMap,
};

/// A backend with one defect, and the clauses that are meant to find it.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    pub(crate) kills: &'static [&'static str],
    pub(crate) defect: fn(Defect) -> Defect,
}

pub(crate) const fn mutant(
    name: &'static str,
    kills: &'static [&'static str],
    defect: fn(Defect) -> Defect,
) -> Mutant {
    Mutant { name, kills, defect }
}

/// The name of the one without a defect.
const SOUND: &str = "sound";

/// Opens SQLite for the clauses that kill a process, the in-memory backend for all others; with a
/// defect, or sound.
pub(crate) struct Breaking {
    defect: Arc<Defect>,
    name: &'static str,
    need: Need,
    maps: Mutex<HashMap<PathBuf, SharedMap>>,
}

impl Breaking {
    pub(crate) fn new(mutant: Option<&Mutant>, need: Need) -> Self {
        let defect = mutant.map(|mutant| (mutant.defect)(Defect::default()));
        let name = mutant.map_or(SOUND, |mutant| mutant.name);
        Self { defect: Arc::new(defect.unwrap_or_default()), name, need, maps: Mutex::default() }
    }

    fn map(&self, place: &Place) -> SharedMap {
        let mut maps = self.maps.lock().unwrap();
        let new = || SharedMap::at(place.path());
        maps.entry(place.path().to_owned()).or_insert_with(new).clone()
    }

    async fn sound(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Store> {
        if self.need == Need::Kill {
            fs::write(name_file(place), self.name).unwrap();
            let config = SqliteConfig::new(place.path().join("memory.db")).clock(clock);
            // No proof cuts the power.
            return Ok(Arc::new(config.synchronous(Synchronous::Normal).open().await?));
        }
        self.open_map(self.map(place), clock).await
    }

    async fn open_map(&self, map: SharedMap, clock: Arc<dyn Clock>) -> Result<Store> {
        let mut options = EmbeddedOptions::default();
        options.clock = clock;
        let defect = self.defect.clone();
        let open = |_: &dyn Clock| {
            let (engine, writer) = KvEngine::open(map, 2)?;
            Ok((BrokenEngine(engine), BrokenWriter { writer, defect }))
        };
        Ok(Arc::new(Embedded::open(options, open).await?))
    }
}

/// Where it is written which mutant a child is to be.
pub(crate) fn name_file(place: &Place) -> PathBuf {
    place.path().join("mutant")
}

#[async_trait]
impl Factory for Breaking {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let defect = self.defect.clone();
        defect.hooks::<OnOpen>().for_each(|hook| hook.0(&self.map(place)));
        let clock = defect.hooks::<OnClock>().fold(clock, |clock, hook| hook.0(clock));
        let store = self.sound(place, clock).await?;
        Ok(Handle::new(Arc::new(Broken { store, defect })))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().second_handle().kill().faults().damage().copy()
    }

    fn patience(&self) -> Duration {
        // What a mutant should find within a second or two is not waited for as patiently.
        Duration::from_secs(if self.name == SOUND { 120 } else { 20 })
    }

    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        Ok(Box::new(self.map(place).break_writes()))
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        self.map(place).damage(damage)
    }

    async fn open_copy(&self, path: &Path, clock: Arc<dyn Clock>) -> Result<Handle> {
        let store = self.open_map(SharedMap::of_copy(path), clock).await?;
        Ok(Handle::new(Arc::new(Broken { store, defect: self.defect.clone() })))
    }
}

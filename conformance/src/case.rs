use std::{path::Path, sync::Arc};

use memkeep_core::{
    Backend, Clock, EpisodicBackend, ErrorKind, ManualClock, ReflectiveStore, Result, SessionStore,
    Timestamp, verify::Verify,
};

use crate::{
    Damage, Factory, Failure, Handle, Log, Part, Place, Verdict, call::Call, factory::Site, record,
};

/// 2026-01-01T00:00:00Z, where every case's clock stands at first.
const START: i64 = 1_767_225_600_000_000;

/// One fresh store under test, its clock, and what may be done to it from outside.
///
/// Every call on the store is written down; a failure shows them as a program.
pub struct Case {
    pub(crate) factory: Arc<dyn Factory>,
    pub(crate) site: Site,
    pub(crate) place: Place,
    /// The store's clock. It stands still until a clause moves it.
    pub clock: Arc<ManualClock>,
    /// What the clause draws its random numbers from.
    pub seed: u64,
    pub(crate) log: Log,
    handle: Handle,
    other_places: Vec<Arc<Place>>,
    other_stores: Vec<Handle>,
}

impl Case {
    pub(crate) async fn new(
        factory: Arc<dyn Factory>,
        site: Site,
        seed: u64,
        log: Log,
    ) -> Result<Self> {
        let place = Place::new()?;
        let start = Timestamp::from_micros(START).unwrap_or_default();
        let clock = Arc::new(ManualClock::new(start));
        log.note("let store = open(&place, clock.clone()).await?;");
        let handle = factory.open(&place, clock.clone()).await?;
        let handle = record::recorded(handle, "store", &log);
        let (other_places, other_stores) = (Vec::new(), Vec::new());
        Ok(Self { factory, site, place, clock, seed, log, handle, other_places, other_stores })
    }

    /// The instant at which the clock stood at first, moved by `micros`.
    pub fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(START + micros).unwrap_or_default()
    }

    /// The instant that the clock shows.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The handle under test.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// The store, as far as every backend goes.
    pub fn backend(&self) -> Arc<dyn Backend> {
        self.handle.backend.clone()
    }

    /// The store has what a clause of this part is about.
    pub(crate) fn has(&self, part: Part) -> Verdict {
        let there = self.handle.parts();
        let lacking = part.single().iter().find(|part| !there.contains(part));
        lacking.map_or(Ok(()), |part| Err(lack(*part)))
    }

    /// The store's episodes.
    pub fn episodic(&self) -> Result<Arc<dyn EpisodicBackend>, Failure> {
        self.handle.episodic.clone().ok_or_else(|| lack(Part::Episodic))
    }

    /// The store's sessions.
    pub fn sessions(&self) -> Result<Arc<dyn SessionStore>, Failure> {
        self.handle.sessions.clone().ok_or_else(|| lack(Part::Sessions))
    }

    /// The store's notes, state and audit.
    pub fn reflective(&self) -> Result<Arc<dyn ReflectiveStore>, Failure> {
        self.handle.reflective.clone().ok_or_else(|| lack(Part::Reflective))
    }

    /// Closes the store and opens it again.
    pub async fn reopen(&mut self) -> Verdict {
        self.handle.backend.close().await?;
        Ok(self.open().await?)
    }

    /// Opens the store again, when it has been closed.
    pub async fn open(&mut self) -> Result<()> {
        self.log.note("let store = open(&place, clock.clone()).await?;");
        let handle = self.factory.open(&self.place, self.clock.clone()).await?;
        self.handle = record::recorded(handle, "store", &self.log);
        Ok(())
    }

    /// Another handle on the same store.
    pub async fn second_handle(&self, name: &'static str) -> Result<Handle, Failure> {
        self.log.note(&format!("let {name} = open(&place, clock.clone()).await?;"));
        let handle = self.factory.open(&self.place, self.clock.clone()).await?;
        Ok(record::recorded(handle, name, &self.log))
    }

    /// A place where no store has been opened yet.
    pub(crate) fn other_place(&mut self) -> Result<Arc<Place>, Failure> {
        let place = Arc::new(Place::new()?);
        self.other_places.push(place.clone());
        Ok(place)
    }

    /// Another fresh store, with `clock` as its time.
    pub async fn other_store(
        &mut self,
        name: &'static str,
        clock: Arc<dyn Clock>,
    ) -> Result<Handle, Failure> {
        let place = self.other_place()?;
        self.log.note(&format!("let {name}_place = Place::new()?;"));
        self.log.note(&format!("let {name} = open(&{name}_place, clock.clone()).await?;"));
        let handle = record::recorded(self.factory.open(&place, clock).await?, name, &self.log);
        self.other_stores.push(handle.clone());
        Ok(handle)
    }

    /// Moves the clock to `at`, and writes it down.
    pub fn set_clock(&self, at: Timestamp) {
        self.log.note(&format!("clock.set({:?}.parse()?);", at.to_string()));
        self.clock.set(at);
    }

    /// Makes commits fail until the returned value is dropped.
    pub async fn break_writes(&self) -> Result<Box<dyn Send>, Failure> {
        self.log.note("let broken = factory.break_writes(&place).await?;");
        Ok(self.factory.break_writes(&self.place).await?)
    }

    /// Closes the store, damages it and opens it again. False if it is refused as `Corrupt` then, as
    /// a store is that cannot tell how far the damage goes.
    pub async fn damage(&mut self, damages: &[Damage]) -> Result<bool, Failure> {
        self.handle.backend.close().await?;
        for damage in damages {
            self.log.note(&format!("factory.damage(&place, {}).await?;", damage.text()));
            self.factory.damage(&self.place, damage).await?;
        }
        match self.open().await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens what `backup` wrote to `path`.
    pub async fn open_copy(&mut self, path: &Path) -> Result<Handle, Failure> {
        let text = Call::text(path);
        self.log.note(&format!("let copy = factory.open_copy({text}, clock.clone()).await?;"));
        let copy = self.factory.open_copy(path, self.clock.clone()).await?;
        let copy = record::recorded(copy, "copy", &self.log);
        self.other_stores.push(copy.clone());
        Ok(copy)
    }

    /// Nothing in the store contradicts anything else.
    pub async fn verify(&self) -> Verdict {
        let report = self.handle.backend.verify(&Verify::new()).await?;
        if report.is_clean() {
            return Ok(());
        }
        Err(Failure::new("verify finds nothing", format!("{:?}", report.problems)))
    }

    pub(crate) async fn destroy(self) -> Result<()> {
        self.log.note("// the clause ends here");
        let mut closed = self.handle.backend.close().await;
        for store in self.other_stores {
            closed = closed.and(store.backend.close().await);
        }
        for place in self.other_places.iter().map(|place| &**place).chain([&self.place]) {
            self.factory.destroy(place).await?;
        }
        closed
    }
}

fn lack(part: Part) -> Failure {
    let expected = format!("the factory's handle has a {}", part.trait_name());
    Failure::new(expected, "it has none: declarations_match_the_factory says what to change")
}

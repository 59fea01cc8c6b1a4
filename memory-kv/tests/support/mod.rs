//! An engine whose pairs a test can look at and change behind memkeep's back.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::{
    collections::BTreeMap,
    ops::{Bound, Range},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use memkeep_core::{
    BackendInfo, Clock, Durability, Error, ErrorKind, Result, Sharing,
    embedded::{Embedded, EmbeddedOptions},
};
use memkeep_kv::{KvEngine, MAX_KEY_BYTES, OrderedEngine, Overlay, Snapshot, Visit};

/// Pairs in the order of their keys.
pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A map in memory; its copies are the same map.
#[derive(Clone, Debug, Default)]
pub struct Poke {
    map: Arc<Mutex<Arc<Pairs>>>,
    full: Arc<AtomicBool>,
    gate: Arc<Mutex<Option<Gate>>>,
}

/// Where snapshots are held up: each says that it has come, and waits until the other end is dropped.
#[derive(Clone, Debug)]
pub struct Gate {
    pub come: mpsc::Sender<()>,
    pub go: Arc<Mutex<mpsc::Receiver<()>>>,
}

/// The table of the recall indexes.
pub const INDEX: u8 = 0x30;

impl Poke {
    /// The pairs as they are.
    pub fn pairs(&self) -> Arc<Pairs> {
        self.map.lock().unwrap().clone()
    }

    /// The pairs as they are, without the recall indexes: these are merged at any time.
    pub fn lasting(&self) -> Pairs {
        let mut pairs = Pairs::clone(&self.pairs());
        pairs.retain(|key, _| key[0] != INDEX);
        pairs
    }

    /// Puts other pairs in the place of all.
    pub fn reset(&self, pairs: &Arc<Pairs>) {
        *self.map.lock().unwrap() = pairs.clone();
    }

    /// Whether there is no room for another commit.
    pub fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    /// Holds up the snapshots taken from now on.
    pub fn set_gate(&self, gate: Option<Gate>) {
        *self.gate.lock().unwrap() = gate;
    }

    /// How many copies there are, stores that are open included.
    pub fn copies(&self) -> usize {
        Arc::strong_count(&self.map)
    }

    /// Changes the pairs.
    pub fn poke(&self, change: impl FnOnce(&mut Pairs)) {
        change(Arc::make_mut(&mut self.map.lock().unwrap()));
    }

    /// Opens a store over the map.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Embedded<KvEngine<Self>>> {
        let mut options = EmbeddedOptions::default();
        options.clock = clock;
        self.open_with(options).await
    }

    /// Opens a store over the map, with two readers.
    pub async fn open_with(&self, options: EmbeddedOptions) -> Result<Embedded<KvEngine<Self>>> {
        let engine = self.clone();
        Embedded::open(options, move |_| KvEngine::open(engine, 2)).await
    }
}

/// One state of the map.
#[derive(Clone, Debug)]
pub struct Frozen(pub Arc<Pairs>);

impl Snapshot for Frozen {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        assert!(range.start < range.end);
        let mut pairs =
            self.0.range::<[u8], _>((Bound::Included(range.start), Bound::Excluded(range.end)));
        while let Some((key, value)) = if reverse { pairs.next_back() } else { pairs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

impl OrderedEngine for Poke {
    type Snapshot<'e> = Frozen;
    type Transaction = Overlay<Frozen>;

    fn info(&self) -> BackendInfo {
        BackendInfo::new("poke", Durability::Volatile, Sharing::Handle)
    }

    fn snapshot(&self) -> Result<Frozen> {
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.come.send(()).unwrap();
            // The error says that the test has dropped its end.
            let _ = gate.go.lock().unwrap().recv();
        }
        Ok(Frozen(self.pairs()))
    }

    fn begin(&self) -> Result<Overlay<Frozen>> {
        let map = self.clone();
        Ok(Overlay::new(self.snapshot()?, move |changes| {
            if map.full.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::StorageFull, "the map is full"));
            }
            map.poke(|pairs| {
                for (key, value) in changes {
                    assert!((1..=MAX_KEY_BYTES).contains(&key.len()) && key[0] < 0xFF);
                    match value {
                        Some(value) => pairs.insert(key, value),
                        None => pairs.remove(&key),
                    };
                }
            });
            Ok(())
        }))
    }
}

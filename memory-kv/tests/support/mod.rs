//! An engine whose pairs a test can look at and change behind memkeep's back.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::{
    collections::BTreeMap,
    ops::{Bound, Range},
    sync::{Arc, Mutex},
};

use memkeep_core::{
    BackendInfo, Clock, Durability, Result, Sharing,
    embedded::{Embedded, EmbeddedOptions},
};
use memkeep_kv::{KvEngine, MAX_KEY_BYTES, OrderedEngine, Overlay, Snapshot, Visit};

/// Pairs in the order of their keys.
pub type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A map in memory; its copies are the same map.
#[derive(Clone, Debug, Default)]
pub struct Poke(pub Arc<Mutex<Arc<Pairs>>>);

impl Poke {
    /// The pairs as they are.
    pub fn pairs(&self) -> Arc<Pairs> {
        self.0.lock().unwrap().clone()
    }

    /// Changes the pairs.
    pub fn poke(&self, change: impl FnOnce(&mut Pairs)) {
        change(Arc::make_mut(&mut self.0.lock().unwrap()));
    }

    /// Opens a store over the map.
    pub async fn open(&self, clock: Arc<dyn Clock>) -> Result<Embedded<KvEngine<Self>>> {
        let mut options = EmbeddedOptions::default();
        options.clock = clock;
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
        Ok(Frozen(self.pairs()))
    }

    fn begin(&self) -> Result<Overlay<Frozen>> {
        let map = self.clone();
        Ok(Overlay::new(self.snapshot()?, move |changes| {
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

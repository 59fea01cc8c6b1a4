//! An overlay reads as if its writes were in the map already, and its commit puts them there.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use memkeep_kv::{Changes, Overlay, Snapshot, Transaction};
use proptest::prelude::*;

mod support;
use support::{Frozen, Pairs};

type Writes = Vec<(Vec<u8>, Option<u8>)>;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(vec![0, 1, 0xFE]), 1..4)
}

fn scanned<S: Snapshot>(
    from: &S,
    start: &[u8],
    end: &[u8],
    reverse: bool,
    limit: usize,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut seen = Vec::new();
    from.scan(start..end, reverse, &mut |key, value| {
        seen.push((key.to_vec(), value.to_vec()));
        Ok(seen.len() < limit)
    })
    .unwrap();
    seen
}

proptest! {
    #[test]
    fn reads_its_writes(
        base in prop::collection::btree_map(bytes(), prop::collection::vec(any::<u8>(), 1..2), 0..20),
        writes in prop::collection::vec((bytes(), any::<Option<u8>>()), 0..20),
        (start, end) in (bytes(), bytes()),
        reverse: bool,
        limit in 1usize..8,
    ) {
        let writes: Writes = writes;
        let base: Pairs = base;
        let stored = Arc::new(Mutex::new(None));
        let kept = stored.clone();
        let mut overlay = Overlay::new(Frozen(Arc::new(base.clone())), move |changes: Changes| {
            *kept.lock().unwrap() = Some(changes);
            Ok(())
        });
        let mut model: BTreeMap<_, _> = base.clone();
        for (key, value) in writes {
            if let Some(value) = value {
                overlay.put(&key, &[value]).unwrap();
                model.insert(key, vec![value]);
            } else {
                overlay.delete(&key).unwrap();
                model.remove(&key);
            }
        }
        for key in model.keys().chain(base.keys()) {
            prop_assert_eq!(&overlay.get(key).unwrap(), &model.get(key).cloned());
        }
        if start < end {
            let whole = Frozen(Arc::new(model.clone()));
            prop_assert_eq!(
                scanned(&overlay, &start, &end, reverse, limit),
                scanned(&whole, &start, &end, reverse, limit)
            );
        }
        overlay.commit().unwrap();
        let mut after = base;
        for (key, value) in stored.lock().unwrap().take().unwrap() {
            match value {
                Some(value) => after.insert(key, value),
                None => after.remove(&key),
            };
        }
        prop_assert_eq!(after, model);
    }
}

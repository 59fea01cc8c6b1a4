use std::{
    collections::BTreeMap,
    fmt,
    ops::{Bound, Range},
};

use memkeep_core::Result;

use crate::{Snapshot, Transaction, Visit};

/// What a transaction writes: the new value of each key, or none where it is deleted.
pub type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// A [`Transaction`] that holds its writes in memory over a snapshot and hands them to the engine at
/// its commit, in one piece. So an engine needs no more than atomic batches, and it does not matter
/// that its own transactions borrow from it or are bound to a thread.
///
/// It is often faster than they are: commits that wait are written as one transaction, and a key
/// that all of them change, such as a session's, is handed over once. It costs the memory of what a
/// transaction writes: deleting a workspace holds all of its keys for a moment.
pub struct Overlay<S> {
    base: S,
    changes: Changes,
    store: Box<dyn FnOnce(Changes) -> Result<()> + Send>,
}

impl<S> Overlay<S> {
    /// A transaction upon `base`. At its commit `store` is called with all changes, in the order of
    /// keys: it stores them atomically, or fails with nothing stored.
    pub fn new(base: S, store: impl FnOnce(Changes) -> Result<()> + Send + 'static) -> Self {
        Self { base, changes: Changes::new(), store: Box::new(store) }
    }
}

impl<S> fmt::Debug for Overlay<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Keys and values are content, which is not shown.
        f.debug_struct("Overlay").field("changes", &self.changes.len()).finish_non_exhaustive()
    }
}

impl<S: Snapshot> Snapshot for Overlay<S> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match self.changes.get(key) {
            Some(value) => Ok(value.clone()),
            None => self.base.get(key),
        }
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let bounds = (Bound::Included(range.start), Bound::Excluded(range.end));
        let mut changes = self.changes.range::<[u8], _>(bounds);
        let next = || if reverse { changes.next_back() } else { changes.next() };
        let mut changes = std::iter::from_fn(next).peekable();
        let mut go_on = true;
        self.base.scan(range, reverse, &mut |key, value| {
            let before = |k: &[u8]| if reverse { k > key } else { k < key };
            while let Some((k, v)) = changes.next_if(|(k, _)| before(k)) {
                if let Some(v) = v {
                    go_on = visit(k, v)?;
                    if !go_on {
                        return Ok(false);
                    }
                }
            }
            match changes.next_if(|(k, _)| k.as_slice() == key) {
                None => go_on = visit(key, value)?,
                Some((_, Some(v))) => go_on = visit(key, v)?,
                Some((_, None)) => {}
            }
            Ok(go_on)
        })?;
        for (key, value) in changes {
            match value {
                Some(value) if go_on => go_on = visit(key, value)?,
                _ if go_on => {}
                _ => break,
            }
        }
        Ok(())
    }
}

impl<S: Snapshot> Transaction for Overlay<S> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.changes.insert(key.to_vec(), Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.changes.insert(key.to_vec(), None);
        Ok(())
    }

    fn commit(self) -> Result<()> {
        // The snapshot goes first: an engine may wait for it before it writes.
        drop(self.base);
        (self.store)(self.changes)
    }
}

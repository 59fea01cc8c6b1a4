use std::ops::Range;

use memkeep_core::{
    RecordKind, Result,
    recall::index::{Blobs, BlobsMut, Visit},
};

use crate::{Snapshot, Transaction, key};

/// The recall index of a kind, in its table.
pub(crate) struct IndexBlobs<S> {
    pub(crate) keys: S,
    pub(crate) kind: RecordKind,
}

impl<S: Snapshot> Blobs for IndexBlobs<&S> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.keys.get(&key::index(self.kind, key))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        scan(self.keys, self.kind, range, reverse, visit)
    }
}

impl<T: Transaction> Blobs for IndexBlobs<&mut T> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.keys.get(&key::index(self.kind, key))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        scan(self.keys, self.kind, range, reverse, visit)
    }
}

impl<T: Transaction> BlobsMut for IndexBlobs<&mut T> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keys.put(&key::index(self.kind, key), value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.keys.delete(&key::index(self.kind, key))
    }
}

fn scan(
    keys: &impl Snapshot,
    kind: RecordKind,
    range: Range<&[u8]>,
    reverse: bool,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let (start, end) = (key::index(kind, range.start), key::index(kind, range.end));
    let prefix = start.len() - range.start.len();
    keys.scan(&start..&end, reverse, &mut |key, value| {
        visit(key.get(prefix..).unwrap_or_default(), value)
    })
}

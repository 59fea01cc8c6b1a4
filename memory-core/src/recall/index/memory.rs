use std::{collections::BTreeMap, ops::Range};

use super::{
    blobs::{Blobs, BlobsMut, Visit},
    changes::Changes,
};
use crate::{RecordKind, Result};

/// [`Blobs`] in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory(pub(super) BTreeMap<Vec<u8>, Vec<u8>>);

impl Memory {
    /// An index of `changes` alone: of records that are not in the store's own yet.
    pub fn of(kind: RecordKind, mut changes: Changes) -> Result<Self> {
        let mut memory = Self::default();
        super::append(&mut memory, kind, &mut changes)?;
        Ok(memory)
    }
}

impl Blobs for Memory {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let mut pairs = self.0.range(range.start.to_vec()..range.end.to_vec());
        while let Some((key, value)) = if reverse { pairs.next_back() } else { pairs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

impl BlobsMut for Memory {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key);
        Ok(())
    }
}

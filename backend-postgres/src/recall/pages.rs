//! The blobs of an index as one recall sees them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use memkeep_core::{
    Error, ErrorKind, Result,
    recall::index::{Blobs, Visit},
};

/// What the keys begin with that are read first, all of them: of the roots, and of the coverage.
pub(super) const FIRST: [u8; 2] = [0, 3];

/// What was read of an index, and what is to be read.
#[derive(Default)]
pub(super) struct Pages {
    /// What was read first.
    first: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What was read since; nothing where there is nothing.
    read: HashMap<Vec<u8>, Option<Vec<u8>>>,
    wanted: RefCell<BTreeSet<Vec<u8>>>,
}

impl Pages {
    pub(super) fn new(first: BTreeMap<Vec<u8>, Vec<u8>>) -> Self {
        Self { first, ..Self::default() }
    }

    /// What is to be read before the search can go on.
    pub(super) fn take_wanted(&mut self) -> BTreeSet<Vec<u8>> {
        std::mem::take(self.wanted.get_mut())
    }

    /// Takes in what was read under some keys.
    pub(super) fn take_in(
        &mut self,
        keys: BTreeSet<Vec<u8>>,
        found: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    ) {
        self.read.extend(keys.into_iter().map(|key| (key, None)));
        self.read.extend(found.into_iter().map(|(key, value)| (key, Some(value))));
    }
}

impl Blobs for Pages {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if key.first().is_some_and(|first| FIRST.contains(first)) {
            return Ok(self.first.get(key).cloned());
        }
        match self.read.get(key) {
            Some(value) => Ok(value.clone()),
            None => {
                self.wanted.borrow_mut().insert(key.to_vec());
                Err(Error::new(ErrorKind::Unexpected, "a page of the index is to be read first"))
            }
        }
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let mut blobs = self.first.range(range.start.to_vec()..range.end.to_vec());
        while let Some((key, value)) = if reverse { blobs.next_back() } else { blobs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

//! The blobs of an index as one recall sees them.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
};

use memkeep_core::{
    Error, ErrorKind, Result,
    recall::index::{Blobs, Far, PAGE_KEY, Visit},
};

/// What the keys begin with that are read first, all of them: of the roots, and of the coverage.
pub(super) const FIRST: [u8; 2] = [0, 3];

fn is_first(key: &[u8]) -> bool {
    key.first().is_some_and(|first| FIRST.contains(first))
}

/// What was read of an index, and what is to be read.
#[derive(Default)]
pub(super) struct Pages {
    /// What was read first.
    first: BTreeMap<Vec<u8>, Vec<u8>>,
    /// What was read since; nothing where there is nothing.
    read: HashMap<Vec<u8>, Option<Vec<u8>>>,
    wanted: RefCell<BTreeSet<Vec<u8>>>,
    /// Whether there are few trips left.
    pub(super) hurries: bool,
}

impl Pages {
    /// With what was read first.
    pub(super) fn new(blobs: Vec<(Vec<u8>, Vec<u8>)>) -> Self {
        let mut pages = Self::default();
        for (key, value) in blobs {
            if is_first(&key) {
                pages.first.insert(key, value);
            } else {
                pages.read.insert(key, Some(value));
            }
        }
        pages
    }

    /// The names of the segments.
    pub(super) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        self.first
            .iter()
            .filter(|(key, _)| key[0] == FIRST[0])
            .filter_map(|(_, root)| root.get(..PAGE_KEY.1))
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

impl Far for Pages {
    fn want(&self, key: &[u8]) -> bool {
        let is_at_hand = self.read.contains_key(key);
        if !is_at_hand {
            self.wanted.borrow_mut().insert(key.to_vec());
        }
        is_at_hand
    }

    fn hurries(&self) -> bool {
        self.hurries
    }
}

impl Blobs for Pages {
    fn far(&self) -> Option<&dyn Far> {
        Some(self)
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if is_first(key) {
            return Ok(self.first.get(key).cloned());
        }
        if let Some(value) = self.read.get(key) {
            return Ok(value.clone());
        }
        self.want(key);
        Err(Error::new(ErrorKind::Unexpected, "a page of the index is to be read first"))
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

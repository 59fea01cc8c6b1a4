use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    ops::Range,
};

use super::super::{Blobs, Far, Memory, PAGE_KEY, Visit, first_pages};
use crate::{Error, ErrorKind, Result};

/// A map that is far away, of which roots and coverage and the first pages of all segments have been read.
pub(super) struct Distant<'m> {
    map: &'m Memory,
    read: RefCell<BTreeSet<Vec<u8>>>,
    wanted: RefCell<BTreeSet<Vec<u8>>>,
    hurries: Cell<bool>,
}

impl<'m> Distant<'m> {
    pub(super) fn new(map: &'m Memory) -> Self {
        let ([page], name) = PAGE_KEY;
        let mut read = BTreeSet::new();
        for (key, root) in &map.0 {
            if key[0] == 0 {
                let first = first_pages().into_iter();
                read.extend(first.map(|end| [&[page], &root[..name], &end].concat()));
            }
        }
        let (read, wanted) = (RefCell::new(read), RefCell::default());
        Self { map, read, wanted, hurries: Cell::new(false) }
    }

    /// Reads what was told. Returns whether there was anything.
    pub(super) fn go(&self, hurries: bool) -> bool {
        self.hurries.set(hurries);
        let wanted = self.wanted.take();
        let any = !wanted.is_empty();
        self.read.borrow_mut().extend(wanted);
        any
    }
}

impl Far for Distant<'_> {
    fn want(&self, key: &[u8]) -> bool {
        let is_at_hand = self.read.borrow().contains(key);
        if !is_at_hand {
            self.wanted.borrow_mut().insert(key.to_vec());
        }
        is_at_hand
    }

    fn hurries(&self) -> bool {
        self.hurries.get()
    }
}

impl Blobs for Distant<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if key[..1] != PAGE_KEY.0 || self.want(key) {
            return self.map.get(key);
        }
        Err(Error::new(ErrorKind::Unexpected, "it is to be read first"))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        self.map.scan(range, reverse, visit)
    }

    fn far(&self) -> Option<&dyn Far> {
        Some(self)
    }
}

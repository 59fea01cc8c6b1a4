use std::{collections::VecDeque, mem};

use crate::{Cursor, MemoryBackend, Record, RecordKind, Result, Scan};

/// How many records are read at a time.
const PAGE: usize = 500;

/// The records of one kind in a store, one after another in order of insertion.
pub(super) struct Walk<'s> {
    store: &'s dyn MemoryBackend,
    kind: RecordKind,
    page: VecDeque<Record>,
    next: Next,
}

enum Next {
    Page(Option<Cursor>),
    End,
}

impl<'s> Walk<'s> {
    pub(super) fn new(store: &'s dyn MemoryBackend, kind: RecordKind) -> Self {
        Self { store, kind, page: VecDeque::new(), next: Next::Page(None) }
    }

    pub(super) fn kind(&self) -> RecordKind {
        self.kind
    }

    pub(super) async fn next(&mut self) -> Result<Option<Record>> {
        while self.page.is_empty() {
            let Next::Page(after) = mem::replace(&mut self.next, Next::End) else {
                return Ok(None);
            };
            let mut scan = Scan::new(self.kind).limit(PAGE);
            scan.after = after;
            let page = self.store.scan(&scan).await?;
            self.page = page.items.into();
            if page.next.is_some() {
                self.next = Next::Page(page.next);
            }
        }
        Ok(self.page.pop_front())
    }
}

use std::{
    cell::{Cell, OnceCell},
    sync::Arc,
};

use super::{
    cursor,
    part::{Part, Stretch},
    postings::Term,
    set::Set,
};
use crate::Result;

/// To find by blocks whether a document has a term costs as much as to put so many into a set.
const COST: usize = 16;

/// An empty set of so many documents costs as much as to put one into it.
const EMPTY: usize = 256;

/// So many terms of a query may have sets, lest they take too much memory.
const SETS: usize = 64;

/// A term of the query that a part has.
pub(super) struct QueryTerm {
    /// Among the query's terms, in byte order.
    pub(super) position: usize,
    pub(super) term: Arc<Term>,
    /// How many documents it was asked for, by [`Cursor`](cursor::Cursor)s.
    asked: Cell<usize>,
    /// The documents of the searched stretch that have it, once it was asked for many.
    set: OnceCell<Set>,
}

impl QueryTerm {
    pub(super) fn new(position: usize, term: Arc<Term>) -> Self {
        Self { position, term, asked: Cell::new(0), set: OnceCell::new() }
    }

    /// To be called before it is asked for `count` documents of a stretch, always the same.
    pub(super) fn expect(
        &self,
        part: &Part<'_, '_>,
        stretch: &Stretch,
        count: usize,
    ) -> Result<()> {
        if self.position >= SETS || self.set.get().is_some() {
            return Ok(());
        }
        self.asked.set(self.asked.get() + count);
        let cost = self.term.postings as usize + stretch.ordinals.len() / EMPTY;
        if self.asked.get() * COST > cost {
            let mut set = Set::new(stretch);
            cursor::each(part, &self.term, &stretch.ordinals, |posting| {
                set.insert(posting.ordinal);
            })?;
            self.set.get_or_init(|| set);
        }
        Ok(())
    }

    /// Whether a document may have it, as far as is known without its blocks.
    #[inline]
    pub(super) fn may_have(&self, ordinal: u32) -> bool {
        self.set.get().is_none_or(|set| set.has(ordinal))
    }
}

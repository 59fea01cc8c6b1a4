use std::{ops::Range, sync::Arc};

use super::{
    part::{Part, Row},
    postings::{Bound, Chunk, Chunks, Posting, Term},
};
use crate::Result;

/// Where a cursor is that has no posting left.
pub(super) const END: u32 = u32::MAX;

/// A walk through the postings of a term in a part, forwards only.
pub(super) struct Cursor<'p, 's, 'b> {
    part: &'p Part<'s, 'b>,
    term: Arc<Term>,
    /// The chunk that is open, by its place among the term's.
    chunk: Option<(usize, Arc<Chunk>)>,
    /// Where in it the walk is, and the ordinal there.
    block: usize,
    at: usize,
    ordinal: u32,
}

impl<'p, 's, 'b> Cursor<'p, 's, 'b> {
    /// A cursor at the first posting from `start` on.
    pub(super) fn new(part: &'p Part<'s, 'b>, term: Arc<Term>, start: u32) -> Result<Self> {
        let mut cursor = Self { part, term, chunk: None, block: 0, at: 0, ordinal: 0 };
        cursor.enter(start)?;
        Ok(cursor)
    }

    /// The ordinal it stands at; [`END`] if there is none.
    #[inline]
    pub(super) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The posting it stands at, if it is of `ordinal`.
    #[inline]
    pub(super) fn posting(&self, ordinal: u32) -> Option<Posting> {
        let (_, chunk) = self.chunk.as_ref().filter(|_| self.ordinal == ordinal)?;
        Some(chunk.posting(&chunk.blocks[self.block], self.at))
    }

    /// Moves to the next posting.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<()> {
        if self.ordinal == END {
            return Ok(());
        }
        if let Some((_, chunk)) = &self.chunk {
            let block = &chunk.blocks[self.block];
            self.at += 1;
            if self.at < block.len() {
                let ordinal = chunk.ordinal(block, self.at);
                if ordinal <= self.ordinal {
                    return Err(self.part.segment.damaged());
                }
                self.ordinal = ordinal;
                return Ok(());
            }
        }
        self.enter(self.ordinal + 1)
    }

    /// Moves to the first posting at `target` or after it.
    #[inline]
    pub(super) fn seek(&mut self, target: u32) -> Result<()> {
        if self.ordinal >= target {
            return Ok(());
        }
        if let Some((_, chunk)) = &self.chunk
            && chunk.blocks[self.block].bound.last >= target
        {
            return self.find(target);
        }
        self.enter(target)
    }

    /// Moves on in the open block, which ends at `target` or after it.
    fn find(&mut self, target: u32) -> Result<()> {
        let Some((_, chunk)) = &self.chunk else { return Ok(()) };
        let block = &chunk.blocks[self.block];
        // It mostly is near.
        let (mut from, mut to, mut step) = (self.at, block.len() - 1, 1);
        while from + step < to && chunk.ordinal(block, from + step) < target {
            from += step + 1;
            step *= 2;
        }
        to = to.min(from + step);
        while from < to {
            let middle = from + (to - from) / 2;
            if chunk.ordinal(block, middle) < target {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        self.at = from;
        self.ordinal = chunk.ordinal(block, from);
        if self.ordinal < target { Err(self.part.segment.damaged()) } else { Ok(()) }
    }

    /// Enters the first block that ends at `target` or after it.
    fn enter(&mut self, target: u32) -> Result<()> {
        if !self.open(target)? {
            self.ordinal = END;
            return Ok(());
        }
        let Some((_, chunk)) = &self.chunk else { return Ok(()) };
        let block = chunk.blocks.partition_point(|block| block.bound.last < target);
        if block == chunk.blocks.len() {
            return Err(self.part.segment.damaged());
        }
        (self.block, self.at) = (block, 0);
        self.find(target)
    }

    /// Opens the first chunk that ends at `target` or after it; false if there is none.
    fn open(&mut self, target: u32) -> Result<bool> {
        let bounds = &self.term.bounds;
        let from = match &self.chunk {
            Some((open, _)) if bounds[*open].last >= target => return Ok(true),
            Some((open, _)) => open + 1,
            None => 0,
        };
        let at = from + bounds[from..].partition_point(|bound| bound.last < target);
        if at == bounds.len() {
            return Ok(false);
        }
        self.chunk = Some((at, chunk(self.part, &self.term, at)?));
        (self.block, self.at) = (0, 0);
        Ok(true)
    }

    /// The bound of the block it stands in; none at the end.
    pub(super) fn block(&self) -> Option<&Bound> {
        let (_, chunk) = self.chunk.as_ref().filter(|_| self.ordinal != END)?;
        Some(&chunk.blocks[self.block].bound)
    }

    /// The bound of the block that has `target`, if the chunk is open; else that of the chunk, which is
    /// not read. None after the last.
    pub(super) fn bound(&self, target: u32) -> Option<&Bound> {
        let bounds = &self.term.bounds;
        if let Some((open, chunk)) = &self.chunk {
            if bounds[*open].last >= target {
                // It mostly is the same or one of the next.
                let rest = &chunk.blocks[self.block..];
                let near = rest.iter().take(4).position(|block| block.bound.last >= target);
                let far = || rest.partition_point(|block| block.bound.last < target);
                return rest.get(near.unwrap_or_else(far)).map(|block| &block.bound);
            }
            let rest = &bounds[open + 1..];
            return rest.get(rest.partition_point(|bound| bound.last < target));
        }
        bounds.get(bounds.partition_point(|bound| bound.last < target))
    }

    /// How many postings the term has.
    pub(super) fn postings(&self) -> u32 {
        self.term.postings
    }
}

/// How many postings a term has in `ordinals`, and how many of them name the speaker.
pub(super) fn count(
    part: &Part<'_, '_>,
    term: &Arc<Term>,
    ordinals: &Range<u32>,
) -> Result<(u64, u64)> {
    if ordinals.start == 0 && ordinals.end == part.totals().documents {
        return Ok((u64::from(term.postings), u64::from(term.labels)));
    }
    let before = count_before(part, term, ordinals.start)?;
    let to = count_before(part, term, ordinals.end)?;
    Ok((to.0 - before.0, to.1 - before.1))
}

fn count_before(part: &Part<'_, '_>, term: &Arc<Term>, end: u32) -> Result<(u64, u64)> {
    let mut counts = (0, 0);
    let mut add = |postings: u32, labels: u32| {
        counts.0 += u64::from(postings);
        counts.1 += u64::from(labels);
    };
    let is_before = |bound: &&Bound| bound.last < end;
    term.bounds.iter().take_while(is_before).for_each(|bound| add(bound.postings, bound.labels));
    let cursor = Cursor::new(part, term.clone(), end)?;
    if let Some((_, chunk)) = &cursor.chunk
        && cursor.ordinal != END
    {
        let bounds = chunk.blocks[..cursor.block].iter().map(|block| &block.bound);
        bounds.for_each(|bound| add(bound.postings, bound.labels));
        let block = &chunk.blocks[cursor.block];
        for at in 0..cursor.at {
            add(1, u32::from(chunk.posting(block, at).label));
        }
    }
    Ok(counts)
}

/// All postings of the term in a row of the dictionary, in order, put into `to`.
pub(super) fn all(part: &Part<'_, '_>, row: &Row, to: &mut Vec<Posting>) -> Result<()> {
    let from = to.len();
    let value = row.0.value(row.1);
    if !Term::read_here(value, part.totals(), to).ok_or_else(|| part.segment.damaged())? {
        let term = Term::read(value, part.totals()).ok_or_else(|| part.segment.damaged())?;
        for at in 0..term.bounds.len() {
            chunk(part, &term, at)?.postings(to);
        }
    }
    if to[from..].is_sorted_by(|a, b| a.ordinal < b.ordinal) {
        Ok(())
    } else {
        Err(part.segment.damaged())
    }
}

/// The chunk at a place among a term's.
fn chunk(part: &Part<'_, '_>, term: &Term, at: usize) -> Result<Arc<Chunk>> {
    match &term.chunks {
        Chunks::Here(chunk) => Ok(chunk.clone()),
        Chunks::From(first) => part.chunk(*first, at),
    }
}

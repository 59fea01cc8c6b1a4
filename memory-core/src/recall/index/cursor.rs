use std::{ops::Range, sync::Arc};

use super::{
    block::Place,
    part::{Part, Row},
    postings::{Bound, Chunk, Chunks, Posting, Term},
    query_term::QueryTerm,
};
use crate::Result;

/// A walk through the postings of a term in a part, forwards only.
pub(super) struct Cursor<'p, 's, 'b> {
    part: &'p Part<'s, 'b>,
    term: &'p QueryTerm,
    /// The chunk that is open, by its place among the term's.
    chunk: Option<(usize, Arc<Chunk>)>,
    /// Where in it the walk is.
    block: usize,
    place: Place,
}

impl<'p, 's, 'b> Cursor<'p, 's, 'b> {
    /// A cursor before the first posting.
    pub(super) fn new(part: &'p Part<'s, 'b>, term: &'p QueryTerm) -> Self {
        Self { part, term, chunk: None, block: 0, place: Place::default() }
    }

    /// The posting of `ordinal`, if there is one; no later one was asked for before.
    #[inline]
    pub(super) fn get(&mut self, ordinal: u32) -> Result<Option<Posting>> {
        if !self.term.may_have(ordinal) {
            return Ok(None);
        }
        self.seek(ordinal)?;
        let Some((_, chunk)) = &self.chunk else { return Ok(None) };
        let block = chunk.blocks.get(self.block);
        Ok(block.and_then(|block| chunk.get(block, &mut self.place, ordinal)))
    }

    /// Moves to the first block that ends at `target` or after it; beyond the last if there is none.
    #[inline]
    fn seek(&mut self, target: u32) -> Result<()> {
        self.open(target)?;
        let Some((_, chunk)) = &self.chunk else { return Ok(()) };
        let rest = &chunk.lasts[self.block..];
        if rest.first().is_some_and(|last| *last < target) {
            // It mostly is one of the next.
            let near = rest.iter().take(4).position(|last| *last >= target);
            let far = || rest.partition_point(|last| *last < target);
            self.block += near.unwrap_or_else(far);
            self.place = Place::default();
        }
        Ok(())
    }

    /// Opens the first chunk that ends at `target` or after it, if there is one.
    #[inline]
    fn open(&mut self, target: u32) -> Result<()> {
        let bounds = &self.term.term.bounds;
        let from = match &self.chunk {
            Some((open, _)) if bounds[*open].last >= target => return Ok(()),
            Some((open, _)) => open + 1,
            None => 0,
        };
        let at = from + bounds[from..].partition_point(|bound| bound.last < target);
        if at < bounds.len() {
            self.chunk = Some((at, chunk(self.part, &self.term.term, at)?));
            (self.block, self.place) = (0, Place::default());
        }
        Ok(())
    }
}

/// How many postings a term has in `ordinals`, and how many of them name the speaker.
pub(super) fn count(
    part: &Part<'_, '_>,
    term: &QueryTerm,
    ordinals: &Range<u32>,
) -> Result<(u64, u64)> {
    if ordinals.start == 0 && ordinals.end == part.totals().documents {
        return Ok((u64::from(term.term.postings), u64::from(term.term.labels)));
    }
    let before = count_before(part, term, ordinals.start)?;
    let to = count_before(part, term, ordinals.end)?;
    Ok((to.0 - before.0, to.1 - before.1))
}

fn count_before(part: &Part<'_, '_>, term: &QueryTerm, end: u32) -> Result<(u64, u64)> {
    let mut counts = (0, 0);
    let mut add = |postings: u32, labels: u32| {
        counts.0 += u64::from(postings);
        counts.1 += u64::from(labels);
    };
    let is_before = |bound: &&Bound| bound.last < end;
    term.term
        .bounds
        .iter()
        .take_while(is_before)
        .for_each(|bound| add(bound.postings, bound.labels));
    let mut cursor = Cursor::new(part, term);
    cursor.seek(end)?;
    if let Some((_, chunk)) = &cursor.chunk {
        let bounds = chunk.blocks[..cursor.block].iter().map(|block| &block.bound);
        bounds.for_each(|bound| add(bound.postings, bound.labels));
        if let Some(block) = chunk.blocks.get(cursor.block) {
            let (postings, labels) = chunk.count_before(block, end);
            add(postings, labels);
        }
    }
    Ok(counts)
}

/// Calls `visit` with the postings of a term in `ordinals` and some around them, in order.
pub(super) fn each(
    part: &Part<'_, '_>,
    term: &Term,
    ordinals: &Range<u32>,
    mut visit: impl FnMut(Posting),
) -> Result<()> {
    let first = term.bounds.partition_point(|bound| bound.last < ordinals.start);
    for (at, bound) in term.bounds.iter().enumerate().skip(first) {
        chunk(part, term, at)?.each(&mut visit);
        if bound.last >= ordinals.end {
            break;
        }
    }
    Ok(())
}

/// All postings of the term in a row of the dictionary, in order, put into `to`.
pub(super) fn all(part: &Part<'_, '_>, row: &Row, to: &mut Vec<Posting>) -> Result<()> {
    let from = to.len();
    let value = row.0.value(row.1);
    if !Term::read_here(value, part.totals(), to).ok_or_else(|| part.segment.damaged())? {
        let term = Term::read(value, part.totals()).ok_or_else(|| part.segment.damaged())?;
        each(part, &term, &(0..u32::MAX), |posting| to.push(posting))?;
    }
    if to[from..].is_sorted_by(|a, b| a.ordinal < b.ordinal) {
        Ok(())
    } else {
        Err(part.segment.damaged())
    }
}

/// The chunk at a place among a term's.
pub(super) fn chunk(part: &Part<'_, '_>, term: &Term, at: usize) -> Result<Arc<Chunk>> {
    match &term.chunks {
        Chunks::Here(chunk) => Ok(chunk.clone()),
        Chunks::From(first) => part.chunk(*first, at),
    }
}

//! The best documents of a segment's added part, without looking at all that match.
//!
//! `MaxScore` over blocks: Turtle and Flood, *Query Evaluation: Strategies and Optimizations* (1995);
//! Ding and Suel, *Faster Top-k Document Retrieval Using Block-Max Indexes* (2011). The terms are taken
//! one by one, that which can add most first: rare ones have found good documents before the long lists
//! of frequent ones come, of which little is left to look at then. A document is scored whole where it is
//! first met.

use super::{
    block::Block,
    cursor::{self, Cursor},
    formula::Formula,
    part::{Part, Stretch},
    postings::{Bound, Chunk, Posting},
    query_term::QueryTerm,
    set::Set,
    top::{Judge, Top},
};
use crate::{Result, recall::ranked::Entry};

/// Puts the best of the documents in a stretch of a part into `top`.
pub(super) fn collect(
    (segment, part): (usize, &Part<'_, '_>),
    stretch: &Stretch,
    terms: &[QueryTerm],
    formula: &Formula,
    judge: &mut dyn Judge,
    top: &mut Top<'_>,
) -> Result<()> {
    let mut lists: Vec<List<'_>> = terms
        .iter()
        .map(|term| List { term, limit: formula.bound(term.position, &term.term.bound), rest: 0.0 })
        .collect();
    lists.sort_by(|a, b| {
        let order = b.limit.total_cmp(&a.limit);
        order.then_with(|| a.term.term.postings.cmp(&b.term.term.postings))
    });
    let mut rest = 0.0;
    for list in lists.iter_mut().rev() {
        list.rest = rest;
        rest += list.limit;
    }
    let mut search = Search {
        segment,
        part,
        stretch,
        formula,
        is_read: formula.bonus() > 0.0 || judge.is_strict(segment),
        judge,
        top,
        seen: Set::new(stretch),
        postings: Vec::new(),
        candidates: Vec::new(),
        weights: Vec::new(),
        width: terms.iter().map(|term| term.position + 1).max().unwrap_or(0),
    };
    (0..lists.len()).try_for_each(|at| search.list(&lists[at..]))
}

/// The postings of a query term.
struct List<'t> {
    term: &'t QueryTerm,
    /// The most that it can add to a score.
    limit: f64,
    /// The most that those after it can add together.
    rest: f64,
}

/// A document that may be among the best.
#[derive(Clone, Copy)]
struct Candidate {
    ordinal: u32,
    length: u64,
    /// Of the terms that were looked at.
    score: f64,
    /// Where its weights are.
    row: usize,
}

/// A search of a stretch.
struct Search<'a, 's, 'b, 'r> {
    segment: usize,
    part: &'a Part<'s, 'b>,
    stretch: &'a Stretch,
    formula: &'a Formula,
    /// Whether a document's values tell whether it is among the best: else they are not read.
    is_read: bool,
    judge: &'a mut dyn Judge,
    top: &'a mut Top<'r>,
    /// The documents that were met.
    seen: Set,
    /// Of a block.
    postings: Vec<Posting>,
    /// Those of a block, and rows of their weights, by the position of the term among so many.
    candidates: Vec<Candidate>,
    weights: Vec<f64>,
    width: usize,
}

impl Search<'_, '_, '_, '_> {
    /// Whether a document of the first list, and of none before, could be among the best, if it is within
    /// `bound`.
    fn admits(&self, list: &List<'_>, bound: &Bound) -> bool {
        let most = self.formula.bound(list.term.position, bound) + list.rest;
        self.top.admits(self.formula.up(most) + self.bonus(bound), bound.newest)
    }

    /// The most that a document within `bound` has for being open.
    fn bonus(&self, bound: &Bound) -> f64 {
        if bound.open { self.formula.bonus() } else { 0.0 }
    }

    /// Takes in the documents of the first of `lists`, of which those before had none.
    fn list(&mut self, lists: &[List<'_>]) -> Result<()> {
        let (list, part, stretch) = (&lists[0], self.part, &self.stretch.ordinals);
        if !self.admits(list, &list.term.term.bound) {
            return Ok(());
        }
        let mut others: Vec<_> =
            lists[1..].iter().map(|other| Cursor::new(part, other.term)).collect();
        let bounds = &list.term.term.bounds;
        let is_before = |bound: &Bound| bound.last < stretch.start;
        for (at, bound) in bounds.iter().enumerate().skip(bounds.partition_point(is_before)) {
            if self.admits(list, bound) {
                let chunk = cursor::chunk(part, &list.term.term, at)?;
                for block in &chunk.blocks {
                    if !is_before(&block.bound) && self.admits(list, &block.bound) {
                        self.block(lists, (&chunk, block), &mut others)?;
                    }
                }
            }
            if bound.last >= stretch.end {
                break;
            }
        }
        Ok(())
    }

    /// Takes in the documents of a block.
    fn block(
        &mut self,
        lists: &[List<'_>],
        (chunk, block): (&Chunk, &Block),
        others: &mut [Cursor<'_, '_, '_>],
    ) -> Result<()> {
        let (list, formula, bound) = (&lists[0], self.formula, &block.bound);
        let (bonus, least) = (self.bonus(bound), self.top.least(bound.newest));
        let reaches = |score: f64| formula.up(score) + bonus >= least;
        let weight = |count, length| formula.weight(list.term.position, count, length);

        let once = weight(1, bound.min_length);
        self.candidates.clear();
        self.postings.clear();
        chunk.each_of(block, |posting| self.postings.push(posting));
        for posting in &self.postings {
            if !self.seen.insert(posting.ordinal) {
                continue;
            }
            let most =
                if posting.count == 1 { once } else { weight(posting.count, bound.min_length) };
            if reaches(most + list.rest) {
                let length =
                    if formula.has_lengths() { self.part.length(posting.ordinal)? } else { 0 };
                let score = weight(posting.count, length);
                if reaches(score + list.rest) {
                    let (ordinal, row) = (posting.ordinal, self.candidates.len());
                    self.candidates.push(Candidate { ordinal, length, score, row });
                }
            }
        }

        self.weights.clear();
        self.weights.resize(self.candidates.len() * self.width, 0.0);
        for Candidate { score, row, .. } in &self.candidates {
            self.weights[row * self.width + list.term.position] = *score;
        }
        for (other, cursor) in lists[1..].iter().zip(others) {
            other.term.expect(self.part, self.stretch, self.candidates.len())?;
            let mut kept = 0;
            for at in 0..self.candidates.len() {
                let mut candidate = self.candidates[at];
                if let Some(posting) = cursor.get(candidate.ordinal)? {
                    let weight =
                        formula.weight(other.term.position, posting.count, candidate.length);
                    candidate.score += weight;
                    self.weights[candidate.row * self.width + other.term.position] = weight;
                }
                if reaches(candidate.score + other.rest) {
                    self.candidates[kept] = candidate;
                    kept += 1;
                }
            }
            self.candidates.truncate(kept);
        }
        for Candidate { ordinal, row, .. } in &self.candidates {
            // The same sum as everywhere: in the order of the terms.
            let score: f64 = self.weights[row * self.width..][..self.width].iter().sum();
            let key = (self.segment, *ordinal);
            if !self.is_read {
                self.top.push(Entry::unread(key, score))?;
                continue;
            }
            if !self.judge.passes(self.part, *ordinal)? {
                continue;
            }
            let (values, row) = self.part.values(*ordinal)?;
            let score = if values.open(row) { score + formula.bonus() } else { score };
            let (created_at, position) = (values.created_at(row), values.number(row));
            if self.top.admits(score, created_at) && self.judge.is_eligible(key, position)? {
                self.top.push(Entry { key, score, created_at, position })?;
            }
        }
        Ok(())
    }
}

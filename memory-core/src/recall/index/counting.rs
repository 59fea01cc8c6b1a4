//! The counts of the query's terms in the turns that are ranked anew, as far as they are needed.
//!
//! The terms are counted one by one, that which can add most first. After each, a turn is left out that
//! cannot be among the best any more, whatever the terms that are left add to it; most are, before the
//! frequent terms come, whose counts take longest to find.

use std::mem;

use super::{
    context::Member, cursor::Cursor, postings::Posting, query_term::QueryTerm, search::Searched,
};
use crate::{
    Result,
    recall::{
        context::{MOST, Turn, shares, together},
        statistics::Weights,
        term_counter::TermCount,
    },
};

/// By how much sums of the same numbers in another order may differ, at most.
const ROUNDING: f64 = 1e-9;

/// A term that is to be counted, and the most that it can add to a turn.
struct Term {
    position: usize,
    weight: f64,
    label: f64,
}

/// What is known of a turn.
struct Sum {
    /// What its neighbours lend to it, and itself.
    shares: [f64; 5],
    /// What the terms that were counted add.
    terms: f64,
    labels: f64,
    /// Whether it may be among the best.
    may: bool,
    /// Whether it lends to one that may.
    lends: bool,
}

/// A count that goes on.
pub(super) struct Counting<'a, 's, 'b> {
    searched: &'a Searched<'a, 's, 'b>,
    weights: &'a Weights,
    /// By place.
    members: &'a [Member],
    /// Where those are, by segment and ordinal.
    by_spot: Vec<usize>,
    /// Those that are left, that which can add most last.
    terms: Vec<Term>,
    sums: Vec<Sum>,
    /// How many are the best, and a score that so many of them have at least.
    k: usize,
    least: f64,
    /// Members and what was counted in them.
    counts: Vec<(usize, TermCount)>,
    /// Of the term that is counted: its weights in the members, two that are nothing before and after.
    own: Vec<f64>,
}

impl<'a, 's, 'b> Counting<'a, 's, 'b> {
    /// Before the first term, for the `k` best of `members`, which are in the order of their places.
    pub(super) fn new(
        searched: &'a Searched<'a, 's, 'b>,
        members: &'a [Member],
        k: usize,
        weights: &'a Weights,
    ) -> Self {
        let turns: Vec<Turn> = members.iter().map(|member| member.turn).collect();
        let sum = |at| Sum {
            shares: shares(&turns, at),
            terms: 0.0,
            labels: 0.0,
            may: true,
            lends: true,
        };
        let mut by_spot: Vec<usize> = (0..members.len()).collect();
        by_spot.sort_unstable_by_key(|at| members[*at].spot);
        let mut counting = Self {
            searched,
            weights,
            members,
            by_spot,
            terms: terms(searched, weights),
            sums: (0..members.len()).map(sum).collect(),
            k,
            least: f64::NEG_INFINITY,
            counts: Vec::new(),
            own: vec![0.0; members.len() + 4],
        };
        counting.leave_out();
        counting
    }

    /// Counts the next term. Returns whether there was one.
    pub(super) fn term(&mut self) -> Result<bool> {
        let Some(term) = self.terms.pop() else { return Ok(false) };
        self.own.fill(0.0);
        let members = self.members;
        let mut by_spot = mem::take(&mut self.by_spot);
        for group in by_spot.chunk_by(|a, b| members[*a].spot.0 == members[*b].spot.0) {
            let segment = members[group[0]].spot.0;
            let found = self.searched.found(segment);
            if let Some(found) = found.iter().find(|found| found.position == term.position) {
                self.segment(segment, found, group)?;
            }
        }
        for (at, sum) in self.sums.iter_mut().enumerate().filter(|(_, sum)| sum.may) {
            let lent = sum.shares.iter().zip(&self.own[at..]);
            sum.terms += together(lent.map(|(share, weight)| share * weight));
        }
        self.leave_out();
        by_spot.retain(|at| self.sums[*at].lends);
        self.by_spot = by_spot;
        Ok(true)
    }

    /// Counts a term in members of a segment.
    fn segment(&mut self, segment: usize, found: &QueryTerm, members: &[usize]) -> Result<()> {
        let (part, stretch) = (self.searched.adds(segment), self.searched.stretch(segment));
        found.expect(part, stretch, members.len())?;
        let mut cursor = Cursor::new(part, found);
        let term = u32::try_from(found.position).unwrap_or(u32::MAX);
        for at in members {
            let Member { spot, turn, .. } = &self.members[*at];
            if let Some(Posting { count, label, .. }) = cursor.get(spot.1)? {
                let count = TermCount { term, count, label };
                self.own[at + 2] = self.weights.weight(count, turn.length);
                self.sums[*at].labels += self.weights.label_idf(count);
                self.counts.push((*at, count));
            }
        }
        Ok(())
    }

    /// Leaves out those that cannot be among the best.
    fn leave_out(&mut self) {
        if self.k >= self.members.len() {
            return;
        }
        let known = self.sums.iter().zip(self.members).filter(|(sum, _)| sum.may);
        let at_least = known
            .map(|(sum, Member { turn, own, .. })| turn.score(sum.terms.max(*own), sum.labels));
        let mut best: Vec<f64> = at_least.filter(|score| *score >= self.least).collect();
        if best.len() >= self.k {
            let (_, least, _) = best.select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
            self.least = *least;
        }
        let rest: f64 = self.terms.iter().map(|term| MOST * term.weight).sum();
        let labels: f64 = self.terms.iter().map(|term| term.label).sum();
        let least = self.least * (1.0 - ROUNDING);
        for (sum, Member { turn, .. }) in self.sums.iter_mut().zip(self.members) {
            let most = turn.score(sum.terms + rest, sum.labels + labels);
            sum.may &= most * (1.0 + ROUNDING) >= least;
        }
        for at in 0..self.sums.len() {
            let near = at.saturating_sub(2)..self.sums.len().min(at + 3);
            self.sums[at].lends = self.sums[near].iter().any(|sum| sum.may);
        }
    }

    /// The members that may be among the best and those that lend to them, which of them may, and what was
    /// counted in each.
    pub(super) fn finish(self) -> (Vec<(usize, bool)>, Counts) {
        let Self { sums, mut counts, .. } = self;
        let lenders = sums.iter().enumerate().filter(|(_, sum)| sum.lends);
        let lenders: Vec<(usize, bool)> = lenders.map(|(at, sum)| (at, sum.may)).collect();
        counts.retain(|(at, _)| sums[*at].lends);
        // Stable: what was counted of each term is in order, or mostly.
        counts.sort_by_key(|(at, count)| (*at, count.term));
        let mut ends = Vec::with_capacity(lenders.len());
        let mut end = 0;
        for (at, _) in &lenders {
            end += counts[end..].iter().take_while(|(of, _)| of == at).count();
            ends.push(end);
        }
        let counts = counts.into_iter().map(|(_, count)| count).collect();
        (lenders, Counts { ends, counts })
    }
}

/// What was counted in members, one after the other.
pub(super) struct Counts {
    ends: Vec<usize>,
    counts: Vec<TermCount>,
}

impl Counts {
    pub(super) fn of(&self, member: usize) -> &[TermCount] {
        let start = member.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.counts[start..self.ends[member]]
    }
}

/// The terms that any segment has, that which can add most last.
fn terms(searched: &Searched<'_, '_, '_>, weights: &Weights) -> Vec<Term> {
    let mut terms: Vec<Term> = (0..searched.terms.len())
        .map(|position| Term { position, weight: 0.0, label: 0.0 })
        .collect();
    for found in (0..searched.parts.len()).flat_map(|segment| searched.found(segment)) {
        let (position, bound) = (found.position, &found.term.bound);
        let Term { weight, label, .. } = &mut terms[position];
        *weight = weight.max(weights.weight_of(position, bound.max_count, bound.min_length));
        if found.term.labels > 0 {
            *label = weights.label_idf_of(position);
        }
    }
    terms.retain(|term| term.weight > 0.0);
    terms.sort_by(|a, b| (a.weight + a.label).total_cmp(&(b.weight + b.label)));
    terms
}

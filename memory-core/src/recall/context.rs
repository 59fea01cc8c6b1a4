//! Re-ranking of turns by what is said around them.
//!
//! The words of a question are rarely all in the turn that answers it: one turn asks, the next
//! answers, and the subject was named before. So a turn borrows from the turns around it.
//!
//! The score of a turn is, summed over the distinct query terms in byte order, its own BM25 weight
//! of the term or the largest that a neighbour lends, whichever is larger ([`REPEATED`] of the
//! other weights on top), times [`ASKING`] if the turn ends with a question; plus [`LABEL`] times
//! the idf of each query term that names its speaker; plus [`SESSION`] times the best BM25 score
//! in its session.
//!
//! The constants were searched on three long two-person conversations and rounded, with the
//! figures of two others in view. Near these values the share of questions answered among the first
//! ten turns changes by less than a point when any one of them moves by a quarter.

use super::statistics::Weights;
use super::term_counter::TermCount;

/// Number of best BM25 documents that are re-ranked. A prototype with 100 lost half a point.
pub(super) const CANDIDATES: usize = 1000;

/// Turns lend to others of their session at most this far away.
pub(super) const REACH: u64 = 2;

/// What the turn before lends: it names what this one speaks about.
const FROM_PREVIOUS: f64 = 0.45;

/// Times as much if it asks, since this one then answers. The product stays below [`ASKING`], so
/// that of two turns the one that has the only matching word comes first.
const FROM_QUESTION: f64 = 1.5;

/// What the turn after lends: it takes up what this one said.
const FROM_NEXT: f64 = 0.3;

/// What the second turn before lends: often the same speaker's last.
const FROM_SECOND_PREVIOUS: f64 = 0.3;

/// What the second turn after lends.
const FROM_SECOND_NEXT: f64 = 0.2;

/// Share of the weights beside the largest. Small: the same word said three times in a row is
/// hardly better evidence than once.
const REPEATED: f64 = 0.2;

/// Share that a turn keeps if it ends with a question: whoever asks does not yet tell.
const ASKING: f64 = 0.7;

/// Weight of being said by somebody whom the query names, against being about them.
const LABEL: f64 = 2.5;

/// Share of the session's best turn: other turns of a session that treats the subject are likelier
/// than turns of one that does not.
const SESSION: f64 = 0.7;

/// The most that a term adds to a turn, as a multiple of the largest of its weights in the turn and those
/// around it.
pub(super) const MOST: f64 = 1.0
    + REPEATED
        * (FROM_PREVIOUS * FROM_QUESTION + FROM_NEXT + FROM_SECOND_PREVIOUS + FROM_SECOND_NEXT);

/// A turn to be re-ranked.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Number of the session, and position of the turn in it.
    pub(super) place: (u64, u64),
    pub(super) length: u64,
    pub(super) asks: bool,
    /// The best BM25 score in its session.
    pub(super) best: f64,
}

impl Turn {
    /// Its score: of what the terms add to it, and the idfs of those that name its speaker.
    pub(super) fn score(&self, terms: f64, labels: f64) -> f64 {
        let terms = if self.asks { terms * ASKING } else { terms };
        terms + LABEL * labels + SESSION * self.best
    }
}

/// The scores of `turns`, which are in the order of their places; `counts` are those of the query's terms
/// in each, in byte order of the terms.
pub(super) fn scores<'c>(
    turns: &[Turn],
    counts: impl Fn(usize) -> &'c [TermCount],
    weights: &Weights,
) -> Vec<f64> {
    // The weights of the terms of each turn, and where those of each end.
    let (mut own, mut ends) = (Vec::new(), vec![0]);
    for (at, turn) in turns.iter().enumerate() {
        own.extend(counts(at).iter().map(|c| (c.term, weights.weight(*c, turn.length))));
        ends.push(own.len());
    }
    let mut lent: Vec<(u32, f64)> = Vec::new();
    let score = |(at, turn): (usize, &Turn)| {
        lent.clear();
        for (offset, share) in shares(turns, at).into_iter().enumerate() {
            if share > 0.0 {
                let lender = at + offset - 2;
                let own = &own[ends[lender]..ends[lender + 1]];
                lent.extend(own.iter().map(|(term, weight)| (*term, share * weight)));
            }
        }
        // Stable: the weights of one term stay in the order of the turns, and so do their sums.
        lent.sort_by_key(|(term, _)| *term);
        let terms = lent.chunk_by(|a, b| a.0 == b.0);
        let terms = terms.map(|term| together(term.iter().map(|(_, weight)| *weight))).sum();
        turn.score(terms, counts(at).iter().map(|c| weights.label_idf(*c)).sum())
    };
    turns.iter().enumerate().map(score).collect()
}

/// What a term adds to a turn that has it, or borrows it, with these weights.
pub(super) fn together(weights: impl Iterator<Item = f64>) -> f64 {
    let (mut largest, mut sum) = (0.0, 0.0);
    for weight in weights {
        largest = f64::max(largest, weight);
        sum += weight;
    }
    largest + REPEATED * (sum - largest)
}

/// What the second turn before the one at `at` lends to it, the one before, it itself, and the two after. Two
/// places in either direction are enough: positions in a session are distinct.
pub(super) fn shares(turns: &[Turn], at: usize) -> [f64; 5] {
    std::array::from_fn(|offset| {
        let lender = (at + offset).checked_sub(2).and_then(|lender| turns.get(lender));
        if offset == 2 { 1.0 } else { lender.map_or(0.0, |lender| share(lender, &turns[at])) }
    })
}

/// What `lender` lends to another `turn`.
fn share(lender: &Turn, turn: &Turn) -> f64 {
    let ((session, from), (own, to)) = (lender.place, turn.place);
    if session != own {
        return 0.0;
    }
    match (from < to, from.abs_diff(to)) {
        (true, 1) if lender.asks => FROM_PREVIOUS * FROM_QUESTION,
        (true, 1) => FROM_PREVIOUS,
        (true, 2) => FROM_SECOND_PREVIOUS,
        (false, 1) => FROM_NEXT,
        (false, 2) => FROM_SECOND_NEXT,
        _ => 0.0,
    }
}

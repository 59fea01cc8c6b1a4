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

/// A turn to be re-ranked.
pub(super) struct Turn<'a> {
    /// Number of the session, and position of the turn in it.
    pub(super) place: (u32, u64),
    pub(super) length: u64,
    /// In byte order of the terms; empty for a neighbour that matches nothing.
    pub(super) counts: &'a [TermCount],
    pub(super) asks: bool,
}

/// The scores of `turns`, which are in the order of their places.
pub(super) fn scores(turns: &[Turn<'_>], weights: &Weights) -> Vec<f64> {
    let mut scores = Vec::with_capacity(turns.len());
    let (mut own, mut ends, mut lent) = (Vec::new(), Vec::new(), Vec::new());
    for session in turns.chunk_by(|a, b| a.place.0 == b.place.0) {
        own.clear();
        ends.clear();
        let mut best: f64 = 0.0;
        for turn in session {
            let start = own.len();
            own.extend(turn.counts.iter().map(|c| (c.term, weights.weight(*c, turn.length))));
            best = best.max(own[start..].iter().map(|(_, weight)| weight).sum());
            ends.push(own.len());
        }
        let own = Own { weights: &own, ends: &ends };
        for (at, turn) in session.iter().enumerate() {
            let mut score = with_neighbours(session, &own, at, &mut lent);
            if turn.asks {
                score *= ASKING;
            }
            let label: f64 = turn.counts.iter().map(|c| weights.label_idf(*c)).sum();
            scores.push(score + LABEL * label + SESSION * best);
        }
    }
    scores
}

/// The weights of the terms of each turn of a session.
struct Own<'a> {
    weights: &'a [(u32, f64)],
    /// Where those of each turn end.
    ends: &'a [usize],
}

impl Own<'_> {
    fn of(&self, turn: usize) -> &[(u32, f64)] {
        let start = turn.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.weights[start..self.ends[turn]]
    }
}

/// `lent` is scratch space.
fn with_neighbours(
    session: &[Turn<'_>],
    own: &Own<'_>,
    at: usize,
    lent: &mut Vec<(u32, f64)>,
) -> f64 {
    let turn = &session[at];
    lent.clear();
    // Two places in either direction are enough: positions in a session are distinct.
    let reach = at.saturating_sub(2)..session.len().min(at + 3);
    for (near, lender) in reach.clone().zip(&session[reach]) {
        if let Some(share) = share(lender, turn) {
            lent.extend(own.of(near).iter().map(|(term, weight)| (*term, share * weight)));
        }
    }
    // Stable: the weights of one term stay in the order of the turns, and so do their sums.
    lent.sort_by_key(|(term, _)| *term);
    lent.chunk_by(|a, b| a.0 == b.0)
        .map(|term| {
            let largest = term.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
            let sum: f64 = term.iter().map(|(_, weight)| *weight).sum();
            largest + REPEATED * (sum - largest)
        })
        .sum()
}

/// What `lender` lends to `turn` of the same session; everything to itself.
fn share(lender: &Turn<'_>, turn: &Turn<'_>) -> Option<f64> {
    let (from, to) = (lender.place.1, turn.place.1);
    if std::ptr::eq(lender, turn) {
        return Some(1.0);
    }
    match (from < to, from.abs_diff(to)) {
        (true, 1) if lender.asks => Some(FROM_PREVIOUS * FROM_QUESTION),
        (true, 1) => Some(FROM_PREVIOUS),
        (true, 2) => Some(FROM_SECOND_PREVIOUS),
        (false, 1) => Some(FROM_NEXT),
        (false, 2) => Some(FROM_SECOND_NEXT),
        _ => None,
    }
}

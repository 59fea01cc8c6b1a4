use super::postings::Bound;
use crate::recall::{overlap_ranker::OPEN_BOOST, statistics::Weights};

/// What a term adds to a document's score.
pub(super) enum Formula {
    /// One, and a bonus for an open document.
    Overlap,
    /// The weight of BM25.
    Bm25(Weights),
}

impl Formula {
    pub(super) fn weight(&self, term: usize, count: u32, length: u64) -> f64 {
        match self {
            Self::Overlap => 1.0,
            Self::Bm25(weights) => weights.weight_of(term, count, length),
        }
    }

    /// Whether the length of a document matters.
    pub(super) fn has_lengths(&self) -> bool {
        matches!(self, Self::Bm25(_))
    }

    /// The most that a term adds to a document within `bound`.
    pub(super) fn bound(&self, term: usize, bound: &Bound) -> f64 {
        self.weight(term, bound.max_count, bound.min_length)
    }

    /// A bound of the sum of scores, whatever order they are added in, of which `sum` is one.
    pub(super) fn up(&self, sum: f64) -> f64 {
        match self {
            // Exact in any order.
            Self::Overlap => sum,
            Self::Bm25(_) => sum * (1.0 + 1e-9),
        }
    }

    /// What an open document has more than a closed one.
    pub(super) fn bonus(&self) -> f64 {
        match self {
            Self::Overlap => OPEN_BOOST,
            Self::Bm25(_) => 0.0,
        }
    }
}

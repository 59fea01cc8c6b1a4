//! Tests of recall through its public interface.
// Scores are promised bit for bit.
#![allow(clippy::float_cmp)]

mod analyzer;
mod context;
mod order;
mod overlap;
mod pains;
mod properties;
mod substring;

use super::{Analyzer, Document, Ranker, Scorer};

pub(super) const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];
pub(super) const TERM_SCORERS: [Scorer; 2] = [Scorer::Bm25, Scorer::Context];

/// Positions of the texts found for `query`, best first.
pub(super) fn find(scorer: Scorer, texts: &[&str], query: &str) -> Vec<usize> {
    let mut ranker = Ranker::new(query, scorer, usize::MAX, &Analyzer::default());
    for (at, text) in texts.iter().enumerate() {
        ranker.add(at, &document(&[text]));
    }
    ranker.finish().into_iter().map(|hit| hit.key).collect()
}

pub(super) fn document<'a>(text: &'a [&'a str]) -> Document<'a> {
    Document { text, created_at: 0, open: false, session: None, eligible: true }
}

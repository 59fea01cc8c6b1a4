use std::ops::Range;

use super::analyzer::Analyzer;
use super::document::Document;
use super::ranked::{Entry, Ranked, first_k};
use super::tally::{Counted, Tally};

/// [`Scorer::Bm25`](super::Scorer::Bm25): holds the term counts of the matching documents, since
/// the statistics are known only after the last.
pub(super) struct Bm25Ranker<K> {
    k: usize,
    /// Its counts are those of the matches only.
    tally: Tally,
    matches: Vec<Match<K>>,
}

struct Match<K> {
    key: K,
    created_at: i64,
    position: u64,
    length: u64,
    /// Where its counts are.
    counts: Range<usize>,
}

impl<K> Bm25Ranker<K> {
    pub(super) fn new(query: &str, k: usize, analyzer: &Analyzer) -> Self {
        Self { k, tally: Tally::new(query, analyzer), matches: Vec::new() }
    }

    pub(super) fn add(&mut self, key: K, document: &Document<'_>) {
        if self.k == 0 || self.tally.is_empty() {
            return;
        }
        let Counted { position, length, counts } = self.tally.add(document);
        if document.eligible && !counts.is_empty() {
            let created_at = document.created_at;
            self.matches.push(Match { key, created_at, position, length, counts });
        } else {
            self.tally.counts.truncate(counts.start);
        }
    }

    pub(super) fn finish(self) -> Vec<Ranked<K>> {
        let weights = self.tally.statistics.weights();
        let entries = self
            .matches
            .into_iter()
            .map(|m| {
                let counts = &self.tally.counts[m.counts];
                Entry {
                    key: m.key,
                    score: counts.iter().map(|c| weights.weight(*c, m.length)).sum(),
                    created_at: m.created_at,
                    position: m.position,
                }
            })
            .collect();
        first_k(entries, self.k)
    }
}

use super::analyzer::Analyzer;
use super::document::Document;
use super::ranked::{Entry, Ranked, first_k};
use super::statistics::Statistics;
use super::term_counter::{TermCount, TermCounter};

/// [`Scorer::Bm25`](super::Scorer::Bm25): holds the term counts of the matching documents, since
/// the statistics are known only after the last.
pub(super) struct Bm25Ranker<K> {
    counter: TermCounter,
    k: usize,
    statistics: Statistics,
    matches: Vec<Match<K>>,
    /// Of all matches, one after the other.
    counts: Vec<TermCount>,
}

struct Match<K> {
    key: K,
    created_at: i64,
    position: u64,
    length: u64,
    /// End of its stretch of `counts`, which begins at the end of the match before.
    counts_end: usize,
}

impl<K> Bm25Ranker<K> {
    pub(super) fn new(query: &str, k: usize, analyzer: &Analyzer) -> Self {
        let counter = TermCounter::new(query, analyzer);
        Self {
            k,
            statistics: Statistics::new(counter.terms()),
            counter,
            matches: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, key: K, document: &Document<'_>) {
        if self.k == 0 || self.counter.terms() == 0 {
            return;
        }
        let begin = self.counts.len();
        let (length, counts) = self.counter.count(document.text);
        self.counts.extend(counts);
        let position = self.statistics.documents;
        self.statistics.add(length, &self.counts[begin..]);
        if document.eligible && begin < self.counts.len() {
            self.matches.push(Match {
                key,
                created_at: document.created_at,
                position,
                length,
                counts_end: self.counts.len(),
            });
        } else {
            self.counts.truncate(begin);
        }
    }

    pub(super) fn finish(self) -> Vec<Ranked<K>> {
        let weights = self.statistics.weights();
        let mut begin = 0;
        let entries = self
            .matches
            .into_iter()
            .map(|m| {
                let counts = &self.counts[begin..m.counts_end];
                begin = m.counts_end;
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

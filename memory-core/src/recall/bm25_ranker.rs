use super::analyzer::Analyzer;
use super::bm25;
use super::document::Document;
use super::ranked::{Entry, Ranked, first_k};
use super::term_counter::TermCounter;

/// [`Scorer::Bm25`](super::Scorer::Bm25): holds the term counts of the matching documents, since
/// the statistics are known only after the last.
pub(super) struct Bm25Ranker<K> {
    counter: TermCounter,
    k: usize,
    statistics: Statistics,
    matches: Vec<Match<K>>,
    /// Term and count, of all matches one after the other.
    counts: Vec<(u32, u32)>,
}

/// Document count, total length and document frequencies of what was searched.
pub(super) struct Statistics {
    pub(super) documents: u64,
    pub(super) total_length: u64,
    /// By query term, in byte order.
    pub(super) frequencies: Vec<u64>,
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
        let idfs = self.statistics.idfs();
        let average_length = self.statistics.average_length();
        let mut begin = 0;
        let entries = self
            .matches
            .into_iter()
            .map(|m| {
                let counts = &self.counts[begin..m.counts_end];
                begin = m.counts_end;
                Entry {
                    key: m.key,
                    score: counts
                        .iter()
                        .map(|(term, count)| {
                            bm25::weight(idfs[*term as usize], *count, m.length, average_length)
                        })
                        .sum(),
                    created_at: m.created_at,
                    position: m.position,
                }
            })
            .collect();
        first_k(entries, self.k)
    }
}

impl Statistics {
    pub(super) fn new(terms: usize) -> Self {
        Self { documents: 0, total_length: 0, frequencies: vec![0; terms] }
    }

    pub(super) fn add(&mut self, length: u64, counts: &[(u32, u32)]) {
        self.documents += 1;
        self.total_length += length;
        for (term, _) in counts {
            self.frequencies[*term as usize] += 1;
        }
    }

    pub(super) fn idfs(&self) -> Vec<f64> {
        self.frequencies.iter().map(|frequency| bm25::idf(self.documents, *frequency)).collect()
    }

    pub(super) fn average_length(&self) -> f64 {
        bm25::average_length(self.documents, self.total_length)
    }
}

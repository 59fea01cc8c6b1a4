use super::analyzer::Analyzer;
use super::bm25_ranker::Bm25Ranker;
use super::context_ranker::ContextRanker;
use super::document::Document;
use super::overlap_ranker::OverlapRanker;
use super::ranked::Ranked;
use super::scorer::Scorer;

/// Finds the best documents of a set for one query, in one pass over the set.
///
/// Results are in the order of score, then of creation time, both descending, then of insertion.
/// The `k` first are the same whatever `k`: those of `k` begin those of `k + 1`.
pub struct Ranker<K> {
    inner: Inner<K>,
}

enum Inner<K> {
    Overlap(OverlapRanker<K>),
    Bm25(Bm25Ranker<K>),
    Context(ContextRanker<K>),
}

impl<K> Ranker<K> {
    /// A ranker for any text as `query`, which returns at most `k` documents: none for 0, every
    /// match for `usize::MAX`. [`Scorer::Overlap`] does not use the analyzer.
    #[must_use]
    pub fn new(query: &str, scorer: Scorer, k: usize, analyzer: &Analyzer) -> Self {
        Self {
            inner: match scorer {
                Scorer::Overlap => Inner::Overlap(OverlapRanker::new(query, k)),
                Scorer::Bm25 => Inner::Bm25(Bm25Ranker::new(query, k, analyzer)),
                Scorer::Context => Inner::Context(ContextRanker::new(query, k, analyzer)),
            },
        }
    }

    /// Considers one document. To be called once for each document of the searched workspaces,
    /// eligible or not, in the order of insertion.
    pub fn add(&mut self, key: K, document: &Document<'_>) {
        let document = &Document { text: &document.readable(), ..*document };
        match &mut self.inner {
            Inner::Overlap(ranker) => ranker.add(key, document),
            Inner::Bm25(ranker) => ranker.add(key, document),
            Inner::Context(ranker) => ranker.add(key, document),
        }
    }

    /// The best documents, best first.
    #[must_use]
    pub fn finish(self) -> Vec<Ranked<K>> {
        match self.inner {
            Inner::Overlap(ranker) => ranker.finish(),
            Inner::Bm25(ranker) => ranker.finish(),
            Inner::Context(ranker) => ranker.finish(),
        }
    }
}

use std::ops::Range;

use super::analyzer::Analyzer;
use super::document::Document;
use super::statistics::Statistics;
use super::term_counter::{TermCount, TermCounter};

/// How often the terms of a query are in the documents of a scan.
pub(super) struct Tally {
    counter: TermCounter,
    pub(super) statistics: Statistics,
    /// Of the documents, one after the other.
    pub(super) counts: Vec<TermCount>,
}

/// A document that was counted.
pub(super) struct Counted {
    /// Position in the order of insertion.
    pub(super) position: u64,
    pub(super) length: u64,
    /// Where the counts of the query's terms in it are among all.
    pub(super) counts: Range<usize>,
}

impl Tally {
    pub(super) fn new(query: &str, analyzer: &Analyzer) -> Self {
        let counter = TermCounter::new(query, analyzer);
        Self { statistics: Statistics::new(counter.terms()), counter, counts: Vec::new() }
    }

    /// Whether the query has no terms.
    pub(super) fn is_empty(&self) -> bool {
        self.counter.terms() == 0
    }

    /// Counts the terms of the next document.
    pub(super) fn add(&mut self, document: &Document<'_>) -> Counted {
        let start = self.counts.len();
        let (length, counts) = self.counter.count(document.text);
        self.counts.extend(counts);
        let position = self.statistics.documents;
        self.statistics.add(length, &self.counts[start..]);
        Counted { position, length, counts: start..self.counts.len() }
    }
}

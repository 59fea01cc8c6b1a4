use std::collections::HashMap;

use super::analyzer::{Analyzer, compose};
use super::speech::speaker_label;
use super::token::{Token, for_each_token};

/// Distinct words whose analysis is remembered during one scan: enough for nearly every
/// occurrence in natural text, a few megabytes at most.
const MAX_REMEMBERED_WORDS: usize = 1 << 16;

/// A query term in a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct TermCount {
    /// Position among the query terms in byte order.
    pub(super) term: u32,
    /// Occurrences, at least one.
    pub(super) count: u32,
    /// Whether it names the speaker.
    pub(super) label: bool,
}

/// Counts the terms of one query in many documents.
pub(super) struct TermCounter {
    analyzer: Analyzer,
    /// Distinct, in byte order.
    terms: Vec<String>,
    /// Occurrences in the current document, by term.
    counts: Vec<u32>,
    /// Whether the term is in the speaker label of the current document.
    labels: Vec<bool>,
    /// Words as written, with the positions in `terms` that they are indexed under. Stemming a
    /// word costs far more than looking it up.
    remembered: HashMap<Box<str>, [Option<u32>; 2]>,
}

impl TermCounter {
    pub(super) fn new(query: &str, analyzer: &Analyzer) -> Self {
        let terms = analyzer.query_terms(query);
        Self {
            analyzer: analyzer.clone(),
            counts: vec![0; terms.len()],
            labels: vec![false; terms.len()],
            terms,
            remembered: HashMap::new(),
        }
    }

    /// Number of distinct query terms.
    pub(super) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Counts the terms of a document. Returns its length, and the query terms in it.
    pub(super) fn count(&mut self, parts: &[&str]) -> (u64, impl Iterator<Item = TermCount>) {
        self.counts.fill(0);
        self.labels.fill(false);
        let mut length = 0;
        for part in parts {
            self.for_each_query_term(part, |counter, token_length, found| {
                length += token_length;
                for at in found.into_iter().flatten() {
                    let count = &mut counter.counts[at as usize];
                    *count = count.saturating_add(1);
                }
            });
        }
        if let Some(label) = parts.first().and_then(|part| speaker_label(part)) {
            self.for_each_query_term(label, |counter, _, found| {
                for at in found.into_iter().flatten() {
                    counter.labels[at as usize] = true;
                }
            });
        }
        let counts = (0_u32..)
            .zip(self.counts.iter().zip(&self.labels))
            .map(|(term, (count, label))| TermCount { term, count: *count, label: *label })
            .filter(|term| term.count > 0);
        (length, counts)
    }

    /// Calls `visit` for each token of `text` with its length and the query terms that it is.
    fn for_each_query_term(
        &mut self,
        text: &str,
        mut visit: impl FnMut(&mut Self, u64, [Option<u32>; 2]),
    ) {
        for_each_token(&compose(text), &mut |token| {
            let found = match self.remembered.get(token.text) {
                Some(found) => *found,
                None => self.analyze(token),
            };
            visit(self, token.length(), found);
        });
    }

    fn analyze(&mut self, token: Token<'_>) -> [Option<u32>; 2] {
        let mut found = [None; 2];
        let mut free = found.iter_mut();
        self.analyzer.for_each_term(token, &mut |term| {
            if let Ok(at) = self.terms.binary_search_by(|t| t.as_str().cmp(term))
                && let Some(slot) = free.next()
            {
                *slot = u32::try_from(at).ok();
            }
        });
        if self.remembered.len() < MAX_REMEMBERED_WORDS && token.text.len() <= MAX_REMEMBERED_BYTES
        {
            self.remembered.insert(token.text.into(), found);
        }
        found
    }
}

/// Longer tokens are rarely repeated.
const MAX_REMEMBERED_BYTES: usize = 64;

use std::collections::HashMap;

use super::analyzer::{Analyzer, compose};
use super::token::for_each_token;

/// Distinct words whose analysis is remembered during one scan: enough for nearly every
/// occurrence in natural text, a few megabytes at most.
const MAX_REMEMBERED_WORDS: usize = 1 << 16;

/// Counts the terms of one query in many documents.
pub(super) struct TermCounter {
    analyzer: Analyzer,
    /// Distinct, in byte order.
    terms: Vec<String>,
    /// Occurrences in the current document, by term.
    counts: Vec<u32>,
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
            terms,
            remembered: HashMap::new(),
        }
    }

    /// Number of distinct query terms.
    pub(super) fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Counts the terms of a document. Returns its length, and each query term in it (position in
    /// byte order of the terms) with its count.
    pub(super) fn count(&mut self, parts: &[&str]) -> (u64, impl Iterator<Item = (u32, u32)>) {
        self.counts.fill(0);
        let mut length = 0;
        for part in parts {
            for_each_token(&compose(part), &mut |token| {
                length += token.length();
                let found = match self.remembered.get(token.text) {
                    Some(found) => *found,
                    None => {
                        let mut found = [None; 2];
                        let mut free = found.iter_mut();
                        self.analyzer.for_each_term(token, &mut |term| {
                            if let Ok(at) = self.terms.binary_search_by(|t| t.as_str().cmp(term))
                                && let Some(slot) = free.next()
                            {
                                *slot = u32::try_from(at).ok();
                            }
                        });
                        if self.remembered.len() < MAX_REMEMBERED_WORDS
                            && token.text.len() <= MAX_REMEMBERED_BYTES
                        {
                            self.remembered.insert(token.text.into(), found);
                        }
                        found
                    }
                };
                for at in found.into_iter().flatten() {
                    let count = &mut self.counts[at as usize];
                    *count = count.saturating_add(1);
                }
            });
        }
        let counts = (0_u32..).zip(self.counts.iter().copied());
        (length, counts.filter(|(_, count)| *count > 0))
    }
}

/// Longer tokens are rarely repeated.
const MAX_REMEMBERED_BYTES: usize = 64;

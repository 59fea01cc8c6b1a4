use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::document::Document;
use super::overlap::{for_each_overlap_token, overlap_tokens};
use super::ranked::{Entry, Ranked, first_k};

/// Added to the score of an open episode: it wins every tie of tokens and loses to one more token.
pub(super) const OPEN_BOOST: f64 = 0.5;

/// [`Scorer::Overlap`](super::Scorer::Overlap): holds the `k` best documents so far.
pub(super) struct OverlapRanker<K> {
    /// Query tokens, sorted, each with the position of the last document that had it.
    tokens: Vec<(String, Option<u64>)>,
    k: usize,
    best: BinaryHeap<Reverse<Entry<K>>>,
    added: u64,
}

impl<K> OverlapRanker<K> {
    pub(super) fn new(query: &str, k: usize) -> Self {
        Self {
            tokens: overlap_tokens(query).into_iter().map(|token| (token, None)).collect(),
            k,
            best: BinaryHeap::new(),
            added: 0,
        }
    }

    pub(super) fn add(&mut self, key: K, document: &Document<'_>) {
        let position = self.added;
        self.added += 1;
        if self.k == 0 || self.tokens.is_empty() || !document.eligible {
            return;
        }
        let mut shared = 0_u32;
        for part in document.text {
            for_each_overlap_token(part, &mut |token| {
                let Ok(at) = self.tokens.binary_search_by(|(t, _)| t.as_str().cmp(token)) else {
                    return;
                };
                let seen = &mut self.tokens[at].1;
                if *seen != Some(position) {
                    *seen = Some(position);
                    shared += 1;
                }
            });
        }
        if shared == 0 {
            return;
        }
        let entry = Entry {
            key,
            score: f64::from(shared) + if document.open { OPEN_BOOST } else { 0.0 },
            created_at: document.created_at,
            position,
        };
        if self.best.len() < self.k {
            self.best.push(Reverse(entry));
        } else if let Some(mut worst) = self.best.peek_mut()
            && worst.0 < entry
        {
            *worst = Reverse(entry);
        }
    }

    pub(super) fn finish(self) -> Vec<Ranked<K>> {
        first_k(self.best.into_iter().map(|Reverse(entry)| entry).collect(), self.k)
    }
}

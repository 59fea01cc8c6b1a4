use std::collections::HashMap;
use std::hash::Hash;

use super::ranked::{Entry, Ranked, first_k};

/// Damps the lead of the very first ranks; the value of the paper, which later work confirmed.
const RANK_OFFSET: f64 = 60.0;

/// Merges rankings of the same things by different means, such as [`Ranker`](super::Ranker) and a
/// caller's own index of embeddings, into the `k` best.
///
/// Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): each ranking, best first,
/// adds 1 / (60 + rank), rank from 1; so scores of different scales need not be comparable. A key
/// that one ranking repeats counts there once, at its best rank. Ties are in the order of the first
/// appearance, ranking by ranking.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "ranks stay far below 2^53")]
pub fn fuse<K: Clone + Eq + Hash>(rankings: &[Vec<K>], k: usize) -> Vec<Ranked<K>> {
    let mut places: HashMap<&K, (usize, usize)> = HashMap::new();
    let mut entries: Vec<Entry<K>> = Vec::new();
    for (number, ranking) in rankings.iter().enumerate() {
        for (rank, key) in ranking.iter().enumerate() {
            let (at, last_ranking) = *places.entry(key).or_insert((entries.len(), usize::MAX));
            if at == entries.len() {
                entries.push(Entry {
                    key: key.clone(),
                    score: 0.0,
                    created_at: 0,
                    position: at as u64,
                });
            }
            if last_ranking != number {
                places.insert(key, (at, number));
                entries[at].score += 1.0 / (RANK_OFFSET + 1.0 + rank as f64);
            }
        }
    }
    first_k(entries, k)
}

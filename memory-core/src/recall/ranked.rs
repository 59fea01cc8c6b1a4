use std::cmp::Ordering;

/// A document found, with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked<K> {
    /// The key given to [`Ranker::add`](super::Ranker::add).
    pub key: K,
    /// Its score; finite and greater than zero. Comparable only within one result.
    pub score: f64,
}

/// A scored document in the order of results: the greater entry comes first.
pub(super) struct Entry<K> {
    pub(super) key: K,
    pub(super) score: f64,
    pub(super) created_at: i64,
    /// Position in the order of insertion.
    pub(super) position: u64,
}

impl<K> Ord for Entry<K> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| self.created_at.cmp(&other.created_at))
            .then_with(|| other.position.cmp(&self.position))
    }
}

impl<K> PartialOrd for Entry<K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K> PartialEq for Entry<K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K> Eq for Entry<K> {}

/// The `k` first of `entries`, in order.
pub(super) fn first_k<K>(mut entries: Vec<Entry<K>>, k: usize) -> Vec<Ranked<K>> {
    if k == 0 {
        return Vec::new();
    }
    if k < entries.len() {
        entries.select_nth_unstable_by(k, |a, b| b.cmp(a));
        entries.truncate(k);
    }
    entries.sort_unstable_by(|a, b| b.cmp(a));
    entries.into_iter().map(|Entry { key, score, .. }| Ranked { key, score }).collect()
}

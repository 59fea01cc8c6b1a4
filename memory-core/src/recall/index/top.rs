use std::{cmp::Reverse, collections::BinaryHeap};

use super::values::ValuesBlock;
use crate::{Result, recall::ranked::Entry};

/// Where a document is: segment and ordinal.
pub(super) type Spot = (usize, u32);

/// The `k` best so far.
pub(super) struct Top {
    k: usize,
    best: BinaryHeap<Reverse<Entry<Spot>>>,
    /// Score and creation time of the worst of them, once there are `k`.
    worst: (f64, i64),
}

impl Top {
    pub(super) fn new(k: usize) -> Self {
        Self { k, best: BinaryHeap::new(), worst: (f64::NEG_INFINITY, i64::MIN) }
    }

    /// Whether a document with at most this score, created no later than `newest`, could still come in.
    #[inline]
    pub(super) fn admits(&self, score: f64, newest: i64) -> bool {
        score >= self.least(newest)
    }

    /// The least score by which a document that was created no later than `newest` could still come in.
    pub(super) fn least(&self, newest: i64) -> f64 {
        let (worst, created_at) = self.worst;
        if newest >= created_at { worst } else { worst.next_up() }
    }

    /// Takes a document in, if it is among the best.
    pub(super) fn push(&mut self, entry: Entry<Spot>) {
        if self.best.len() < self.k {
            self.best.push(Reverse(entry));
        } else if let Some(mut worst) = self.best.peek_mut()
            && worst.0 < entry
        {
            *worst = Reverse(entry);
        }
        if self.best.len() == self.k
            && let Some(Reverse(worst)) = self.best.peek()
        {
            self.worst = (worst.score, worst.created_at);
        }
    }

    /// In no particular order.
    pub(super) fn into_entries(self) -> Vec<Entry<Spot>> {
        self.best.into_iter().map(|Reverse(entry)| entry).collect()
    }
}

/// Whether a document may be among the best: what its values tell, then what costs more to find out.
pub(super) trait Judge {
    fn passes(&self, values: &ValuesBlock, row: usize) -> bool;
    fn is_eligible(&mut self, spot: Spot, number: u64) -> Result<bool>;
}

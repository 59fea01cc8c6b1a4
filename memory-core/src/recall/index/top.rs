use std::{cmp::Reverse, collections::BinaryHeap, mem};

use super::part::Part;
use crate::{Result, recall::ranked::Entry};

/// Where a document is: segment and ordinal.
pub(super) type Spot = (usize, u32);

/// What reads documents.
pub(super) trait Reader {
    /// Reads a document that has a score.
    fn read(&self, spot: Spot, score: f64) -> Result<Entry<Spot>>;

    /// Tells that it will be read. Returns whether it is at hand.
    fn want(&self, spot: Spot) -> bool;

    /// Whether documents may be far away.
    fn is_far(&self) -> bool;

    /// Whether all is to be told that may be needed; see [`Far`](super::Far).
    fn hurries(&self) -> bool;
}

/// The creation time of a document of which it was not read: no later than any.
const UNREAD: i64 = i64::MIN;

/// So many documents may wait to be told apart, or as many as there are best ones.
const TIES: usize = 64;

impl Entry<Spot> {
    /// Of a document of which only the score is known yet.
    pub(super) fn unread(key: Spot, score: f64) -> Self {
        Self { key, score, created_at: UNREAD, position: 0 }
    }

    fn is_unread(&self) -> bool {
        self.created_at == UNREAD
    }
}

/// The `k` best so far. Creation time and number of a document are read only where they decide: among
/// those that are as good as the worst of the best.
pub(super) struct Top<'r> {
    k: usize,
    reader: &'r dyn Reader,
    best: BinaryHeap<Reverse<Entry<Spot>>>,
    /// As good as the worst of the best; which of them are better is not known yet.
    ties: Vec<Spot>,
    /// Score and creation time of the worst of them, once there are `k`.
    worst: (f64, i64),
}

impl<'r> Top<'r> {
    pub(super) fn new(k: usize, reader: &'r dyn Reader) -> Self {
        let worst = (f64::NEG_INFINITY, i64::MIN);
        Self { k, reader, best: BinaryHeap::new(), ties: Vec::new(), worst }
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

    /// Takes a document in, if it is among the best, or may be.
    pub(super) fn push(&mut self, entry: Entry<Spot>) -> Result<()> {
        let worst = self.best.peek().filter(|_| self.best.len() == self.k);
        let Some(Reverse(worst)) = worst else {
            self.best.push(Reverse(entry));
            self.note_worst();
            return Ok(());
        };
        let is_tie = entry.score.total_cmp(&worst.score).is_eq();
        if is_tie && (entry.is_unread() || worst.is_unread()) {
            self.ties.push(entry.key);
        } else if *worst < entry {
            let worst = self.best.peek_mut();
            let last = worst.map(|mut worst| mem::replace(&mut *worst, Reverse(entry)).0);
            self.note_worst();
            if let Some(last) = last {
                if self.worst.0 > last.score {
                    self.ties.clear();
                } else if last.is_unread() {
                    self.ties.push(last.key);
                }
            }
        }
        // Those that are far away are read all at once, at the end.
        if self.ties.len() > self.k.max(TIES) && !self.reader.is_far() {
            self.settle()?;
        }
        Ok(())
    }

    fn note_worst(&mut self) {
        if self.best.len() == self.k
            && let Some(Reverse(worst)) = self.best.peek()
        {
            self.worst = (worst.score, worst.created_at);
        }
    }

    /// Finds out which are the best of those that are as good as the worst.
    fn settle(&mut self) -> Result<()> {
        if self.ties.is_empty() {
            return Ok(());
        }
        let score = self.worst.0;
        let all = mem::take(&mut self.best).into_iter();
        let (mut best, last): (Vec<_>, Vec<_>) = all.partition(|entry| entry.0.score > score);
        let places = last.len();
        let equal = last.into_iter().map(|entry| entry.0.key).chain(mem::take(&mut self.ties));
        let equal: Vec<Spot> = equal.collect();
        if self.want_all(&equal) {
            let read = equal.into_iter().map(|spot| self.reader.read(spot, score));
            let mut equal = read.collect::<Result<Vec<_>>>()?;
            equal.sort_unstable_by(|a, b| b.cmp(a));
            best.extend(equal.into_iter().take(places).map(Reverse));
        } else {
            // It will be run again. Until then any of them are taken, or all.
            let places = if self.reader.hurries() { equal.len() } else { places };
            let taken = equal.into_iter().take(places);
            best.extend(taken.map(|spot| Reverse(Entry::unread(spot, score))));
        }
        self.best = best.into();
        self.note_worst();
        Ok(())
    }

    /// Tells that documents will be read. Returns whether all are at hand.
    fn want_all(&self, spots: &[Spot]) -> bool {
        !self.reader.is_far() || spots.iter().filter(|spot| !self.reader.want(**spot)).count() == 0
    }

    /// Where they are, and their scores, in no particular order.
    pub(super) fn into_spots(mut self) -> Result<Vec<(Spot, f64)>> {
        self.settle()?;
        Ok(self.best.into_iter().map(|Reverse(entry)| (entry.key, entry.score)).collect())
    }

    /// In no particular order.
    pub(super) fn into_entries(mut self) -> Result<Vec<Entry<Spot>>> {
        self.settle()?;
        let best = mem::take(&mut self.best).into_iter().map(|Reverse(entry)| entry);
        let best: Vec<_> = best.collect();
        self.want_all(&best.iter().map(|entry| entry.key).collect::<Vec<_>>());
        best.into_iter().map(|entry| self.reader.read(entry.key, entry.score)).collect()
    }
}

/// Whether a document may be among the best: what its values tell, then what costs more to find out.
pub(super) trait Judge {
    /// Whether any document of a segment may be refused: else none is to be judged.
    fn is_strict(&self, segment: usize) -> bool;

    /// None if what tells it is not at hand.
    fn passes(&self, part: &Part<'_, '_>, ordinal: u32) -> Result<Option<bool>>;

    fn is_eligible(&mut self, spot: Spot, number: u64) -> Result<bool>;
}

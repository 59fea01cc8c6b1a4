//! The best documents of a segment's added part, without looking at all that match.
//!
//! `MaxScore` over blocks: Turtle and Flood, *Query Evaluation: Strategies and Optimizations* (1995);
//! Ding and Suel, *Faster Top-k Document Retrieval Using Block-Max Indexes* (2011).

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
    sync::Arc,
};

use super::{
    cursor::{Cursor, END},
    formula::Formula,
    part::{Part, Stretch},
    postings::{Bound, Term},
    segment::Totals,
    values::ValuesBlock,
};
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
    fn admits(&self, score: f64, newest: i64) -> bool {
        let (worst, created_at) = self.worst;
        match score.total_cmp(&worst) {
            Ordering::Greater => true,
            Ordering::Equal => newest >= created_at,
            Ordering::Less => false,
        }
    }

    fn push(&mut self, entry: Entry<Spot>) {
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

/// A query term in the part.
pub(super) struct Walk<'p, 's, 'b> {
    /// Position among the query's terms.
    pub(super) term: usize,
    pub(super) cursor: Cursor<'p, 's, 'b>,
    /// The most that it can add to a score.
    limit: f64,
    /// The same of the block that the cursor stands in.
    reach: Reach,
}

/// What no document of a block exceeds.
#[derive(Clone, Copy, Debug)]
struct Reach {
    last: u32,
    most: f64,
    min_length: u64,
    newest: i64,
    open: bool,
}

impl Walk<'_, '_, '_> {
    /// The reach of the block that the cursor stands in; it is not at the end.
    #[inline]
    fn reach(&mut self, formula: &Formula) -> Reach {
        if self.reach.last < self.cursor.ordinal()
            && let Some(bound) = self.cursor.block()
        {
            let most = formula.bound(self.term, bound);
            let Bound { last, min_length, newest, open, .. } = *bound;
            self.reach = Reach { last, most, min_length, newest, open };
        }
        self.reach
    }
}

/// Puts the best of the documents in a stretch of a part into `top`.
pub(super) fn collect(
    (segment, part): (usize, &Part<'_, '_>),
    stretch: &Stretch,
    terms: &[(usize, Arc<Term>)],
    formula: &Formula,
    judge: &mut dyn Judge,
    top: &mut Top,
) -> Result<()> {
    let mut walks = Vec::with_capacity(terms.len());
    for (term, postings) in terms {
        let limit = formula.bound(*term, &postings.bound);
        let cursor = Cursor::new(part, postings.clone(), stretch.ordinals.start)?;
        let Totals { min_length, newest, .. } = *part.totals();
        let reach = Reach { last: 0, most: limit, min_length, newest, open: true };
        walks.push(Walk { term: *term, cursor, limit, reach });
    }
    // Those that can add least come first; of equals the most frequent.
    walks.sort_by(|a, b| {
        a.limit.total_cmp(&b.limit).then_with(|| b.cursor.postings().cmp(&a.cursor.postings()))
    });
    // The most that the first ones can add together.
    let mut sums = vec![0.0];
    for walk in &walks {
        sums.push(sums[sums.len() - 1] + walk.limit);
    }
    let newest = part.totals().newest;
    let search = Search { segment, part, stretch, formula, sums, newest, optional: 0 };
    search.run(walks, judge, top)
}

/// Whether a document could come in.
enum Reached {
    /// This one could, with so much for being open at most.
    Perhaps { bonus: f64 },
    /// Another could, this one could not.
    NotAt,
    /// None could, up to this one.
    No { end: u32 },
}

/// A search of a stretch.
struct Search<'a, 's, 'b> {
    segment: usize,
    part: &'a Part<'s, 'b>,
    stretch: &'a Stretch,
    formula: &'a Formula,
    sums: Vec<f64>,
    /// No document that is left is newer.
    newest: i64,
    /// So many of the walks cannot bring a document in without the others.
    optional: usize,
}

impl Search<'_, '_, '_> {
    fn run(
        mut self,
        mut walks: Vec<Walk<'_, '_, '_>>,
        judge: &mut dyn Judge,
        top: &mut Top,
    ) -> Result<()> {
        let bonus = self.formula.bonus();
        let mut weights = Vec::with_capacity(walks.len());
        loop {
            while self.optional < walks.len()
                && !top.admits(self.formula.up(self.sums[self.optional + 1]) + bonus, self.newest)
            {
                self.optional += 1;
            }
            let (_, needed) = walks.split_at_mut(self.optional);
            let at = needed.iter().map(|walk| walk.cursor.ordinal()).min().unwrap_or(END);
            if at >= self.stretch.ordinals.end {
                return Ok(());
            }
            match self.reach(needed, at, top) {
                Reached::No { end } => {
                    for walk in needed {
                        walk.cursor.seek(end.saturating_add(1))?;
                    }
                    continue;
                }
                Reached::NotAt => {}
                Reached::Perhaps { bonus } => {
                    self.score((at, bonus), &mut walks, judge, top, &mut weights)?;
                }
            }
            for walk in &mut walks[self.optional..] {
                if walk.cursor.ordinal() == at {
                    walk.cursor.advance()?;
                }
            }
        }
    }

    /// Whether the document `at`, the first that one of `needed` has, could come in, or another in the
    /// blocks around it.
    fn reach(&self, needed: &mut [Walk<'_, '_, '_>], at: u32, top: &Top) -> Reached {
        let (mut most, mut most_at) = (self.sums[self.optional], self.sums[self.optional]);
        let (mut end, mut latest, mut open) = (END, i64::MIN, false);
        for walk in needed.iter_mut() {
            let ordinal = walk.cursor.ordinal();
            if ordinal == END {
                continue;
            }
            let reach = walk.reach(self.formula);
            most += reach.most;
            if ordinal == at {
                most_at += reach.most;
            }
            end = end.min(reach.last);
            latest = latest.max(reach.newest);
            open |= reach.open;
        }
        let (bonus, newest) =
            (if open { self.formula.bonus() } else { 0.0 }, latest.min(self.newest));
        if top.admits(self.formula.up(most_at) + bonus, newest) {
            Reached::Perhaps { bonus }
        } else if top.admits(self.formula.up(most) + bonus, newest) {
            Reached::NotAt
        } else {
            Reached::No { end }
        }
    }

    fn score(
        &mut self,
        (at, bonus): (u32, f64),
        walks: &mut [Walk<'_, '_, '_>],
        judge: &mut dyn Judge,
        top: &mut Top,
        weights: &mut Vec<(usize, f64)>,
    ) -> Result<()> {
        let Self { formula, newest, optional, .. } = *self;
        weights.clear();
        let mut so_far = bonus;
        let needed = &walks[optional..];
        for walk in needed {
            if let Some(posting) = walk.cursor.posting(at) {
                so_far += formula.weight(walk.term, posting.count, walk.reach.min_length);
            }
        }
        if !top.admits(formula.up(so_far + self.sums[optional]), newest) {
            return Ok(());
        }
        // Values are far away: they are read only if there is no bound without them.
        let length = match formula {
            Formula::Overlap => 0,
            Formula::Bm25(_) => {
                let (values, row) = self.part.values(at)?;
                values.length(row)
            }
        };
        so_far = bonus;
        let mut add = |walk: &Walk<'_, '_, '_>, so_far: &mut f64| {
            if let Some(posting) = walk.cursor.posting(at) {
                let weight = formula.weight(walk.term, posting.count, length);
                weights.push((walk.term, weight));
                *so_far += weight;
            }
        };
        for walk in needed {
            add(walk, &mut so_far);
        }
        for i in (0..optional).rev() {
            if !top.admits(formula.up(so_far + self.sums[i + 1]), newest) {
                return Ok(());
            }
            let walk = &mut walks[i];
            let Some(bound) = walk.cursor.bound(at) else { continue };
            let most = so_far + self.sums[i] + formula.bound(walk.term, bound);
            if !top.admits(formula.up(most), newest) {
                return Ok(());
            }
            walk.cursor.seek(at)?;
            add(walk, &mut so_far);
        }
        if !top.admits(formula.up(so_far), newest) {
            return Ok(());
        }
        let (values, row) = self.part.values(at)?;
        let created_at = values.created_at(row);
        if self.stretch.newest_first {
            self.newest = created_at;
        }
        let bonus = if values.open(row) { formula.bonus() } else { 0.0 };
        if !judge.passes(values, row) {
            return Ok(());
        }
        // The same sum as everywhere: in the order of the terms.
        weights.sort_unstable_by_key(|(term, _)| *term);
        let score = weights.iter().map(|(_, weight)| weight).sum::<f64>() + bonus;
        let (spot, number) = ((self.segment, at), values.number(row));
        if top.admits(score, created_at) && judge.is_eligible(spot, number)? {
            top.push(Entry { key: spot, score, created_at, position: number });
        }
        Ok(())
    }
}

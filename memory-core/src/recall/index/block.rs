use super::{
    packed::{Packed, bits, put_packed},
    postings::{Bound, Posting},
};

/// How many postings a block has at most. Few, so that its bound says much.
pub(super) const BLOCK_POSTINGS: usize = 128;

/// Up to [`BLOCK_POSTINGS`] postings: their ordinals, then what is known of each beside.
pub(super) struct Block {
    pub(super) bound: Bound,
    /// The least ordinal that there could be.
    base: u32,
    ordinals: Ordinals,
    rest: Packed,
}

/// The distances of ordinals from the least that there could be, in the form that takes less room.
enum Ordinals {
    /// One after the other.
    Packed(Packed),
    /// A bit for each, in words: whether it is one of them.
    Set(Packed),
}

/// How far a walk through a block has come.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// How many postings there are before this distance.
    before: usize,
    distance: u32,
}

impl Block {
    /// How many distances there could be, and how many bits one takes.
    fn distances(bound: &Bound, base: u32) -> (usize, u32) {
        let last = bound.last.saturating_sub(base);
        (last as usize + 1, bits(u64::from(last)))
    }

    fn is_set((distances, width): (usize, u32), postings: usize) -> bool {
        distances <= postings * width as usize
    }

    /// The bits of a posting's rest.
    fn rest_width(bound: &Bound) -> u32 {
        bits(u64::from(bound.max_count.saturating_sub(1))) + u32::from(bound.labels > 0)
    }

    pub(super) fn put(to: &mut Vec<u8>, postings: &[Posting], bound: &Bound, base: u32) {
        let distances = postings.iter().map(|posting| posting.ordinal - base);
        let (count, width) = Self::distances(bound, base);
        if Self::is_set((count, width), postings.len()) {
            let mut set = vec![0; count.div_ceil(8)];
            for distance in distances {
                set[distance as usize / 8] |= 1 << (distance % 8);
            }
            to.extend_from_slice(&set);
        } else {
            put_packed(to, width, distances.map(u64::from));
        }
        let labels = u32::from(bound.labels > 0);
        let of = |p: &Posting| u64::from(p.count - 1) << labels | u64::from(p.label);
        put_packed(to, Self::rest_width(bound), postings.iter().map(of));
    }

    /// The block at `start` in `page`, and where it ends.
    pub(super) fn read(
        page: &[u8],
        start: usize,
        bound: Bound,
        base: u32,
    ) -> Option<(Self, usize)> {
        let (distances, width) = Self::distances(&bound, base);
        let (count, rest) = (bound.postings as usize, Self::rest_width(&bound));
        if count == 0 || count > BLOCK_POSTINGS || bound.max_count == 0 || width > 32 || rest > 33 {
            return None;
        }
        let (ordinals, end) = if Self::is_set((distances, width), count) {
            let (words, end) = Packed::words(page, start, distances)?;
            (Ordinals::Set(words), end)
        } else {
            let (packed, end) = Packed::new(page, start, width, count)?;
            (Ordinals::Packed(packed), end)
        };
        let (rest, end) = Packed::new(page, end, rest, count)?;
        let block = Self { bound, base, ordinals, rest };
        let is_sound = match block.ordinals {
            Ordinals::Packed(_) => true,
            Ordinals::Set(words) => ones(page, words, 0, block.last().saturating_add(1)) == count,
        };
        is_sound.then_some((block, end))
    }

    /// The distance of the last ordinal.
    fn last(&self) -> u32 {
        self.bound.last.saturating_sub(self.base)
    }

    /// The posting of `ordinal`, which is not after the last, if there is one. The walk at `place` goes on
    /// to there.
    #[inline]
    pub(super) fn get(&self, page: &[u8], place: &mut Place, ordinal: u32) -> Option<Posting> {
        let distance = ordinal.checked_sub(self.base)?;
        match self.ordinals {
            Ordinals::Packed(packed) => {
                place.before = self.find(page, packed, place.before, distance);
                if packed.get(page, place.before) != u64::from(distance) {
                    return None;
                }
            }
            Ordinals::Set(words) => {
                let word = words.get(page, distance as usize / 64);
                if word >> (distance % 64) & 1 == 0 {
                    return None;
                }
                if !self.rest.is_nothing() {
                    place.before += ones(page, words, place.distance, distance);
                    place.distance = distance;
                }
            }
        }
        Some(self.posting(page, place.before, ordinal))
    }

    /// How many postings there are before `ordinal`, which is not after the last, and how many of these
    /// name the speaker.
    pub(super) fn count_before(&self, page: &[u8], ordinal: u32) -> (u32, u32) {
        let distance = ordinal.saturating_sub(self.base);
        let before = match self.ordinals {
            Ordinals::Packed(packed) => self.find(page, packed, 0, distance),
            Ordinals::Set(words) => ones(page, words, 0, distance),
        };
        let postings = (0..before).map(|at| self.posting(page, at, ordinal));
        postings.fold((0, 0), |(count, labels), p| (count + 1, labels + u32::from(p.label)))
    }

    /// Where the first ordinal is that has at least this distance; the last one has. It is not before
    /// `from`, and mostly near.
    #[inline]
    fn find(&self, page: &[u8], distances: Packed, mut from: usize, distance: u32) -> usize {
        let is_before = |at| distances.get(page, at) < u64::from(distance);
        let (mut to, mut step) = (self.bound.postings as usize - 1, 1);
        while from + step < to && is_before(from + step) {
            from += step + 1;
            step *= 2;
        }
        to = to.min(from + step);
        while from < to {
            let middle = from + (to - from) / 2;
            if is_before(middle) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The posting at a place, whose ordinal this is.
    #[inline]
    fn posting(&self, page: &[u8], at: usize, ordinal: u32) -> Posting {
        let rest = self.rest.get(page, at);
        let labels = u32::from(self.bound.labels > 0);
        #[expect(clippy::cast_possible_truncation, reason = "its width is at most 33 bits")]
        let count = (rest >> labels) as u32;
        let label = labels == 1 && rest & 1 == 1;
        Posting { ordinal, count: count.saturating_add(1), label }
    }

    /// Calls `visit` with all its postings, in order.
    #[inline]
    pub(super) fn each(&self, page: &[u8], mut visit: impl FnMut(Posting)) {
        let mut visit = |at, distance: u64| {
            #[expect(clippy::cast_possible_truncation, reason = "it is of at most 32 bits")]
            let ordinal = self.base.wrapping_add(distance as u32);
            visit(self.posting(page, at, ordinal));
        };
        match self.ordinals {
            Ordinals::Packed(packed) => {
                (0..self.bound.postings as usize).for_each(|at| visit(at, packed.get(page, at)));
            }
            Ordinals::Set(words) => {
                let (mut at, count) = (0, u64::from(self.last()) + 1);
                for (number, first) in (0..).zip((0..count).step_by(64)) {
                    let mut word = words.get(page, number);
                    if count - first < 64 {
                        word &= (1 << (count - first)) - 1;
                    }
                    while word != 0 {
                        visit(at, first + u64::from(word.trailing_zeros()));
                        word &= word - 1;
                        at += 1;
                    }
                }
            }
        }
    }
}

/// How many numbers from `from` on, before `to`, are in a set.
#[inline]
fn ones(page: &[u8], words: Packed, from: u32, to: u32) -> usize {
    let (first, last) = (from / 64, to / 64);
    let mut count = 0;
    for at in first..=last {
        let mut word = words.get(page, at as usize);
        if at == first {
            word &= u64::MAX << (from % 64);
        }
        if at == last {
            word &= (1 << (to % 64)) - 1;
        }
        count += word.count_ones() as usize;
    }
    count
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Near to each other and far apart: as a set, and packed.
        #[test]
        fn postings_come_back(
            base in 0..1_000_u32,
            gap in 1..40_u32,
            postings in prop::collection::vec((0..40_u32, 1..4_u32, any::<bool>()), 1..=BLOCK_POSTINGS),
            labels in any::<bool>(),
            before in 0..9_usize,
        ) {
            let mut next = base;
            let postings: Vec<Posting> = postings
                .into_iter()
                .map(|(distance, count, label)| {
                    let ordinal = next + distance % gap;
                    next = ordinal + 1;
                    Posting { ordinal, count, label: label && labels }
                })
                .collect();
            let bound = Bound::of(&postings, &|_| (0, 0, false));
            let mut page = vec![0xff; before];
            Block::put(&mut page, &postings, &bound, base);
            let end = page.len();
            page.push(0xff);
            let (block, found_end) = Block::read(&page, before, bound, base).unwrap();
            prop_assert_eq!(found_end, end);

            let mut all = Vec::new();
            block.each(&page, |posting| all.push(posting));
            prop_assert_eq!(&all, &postings);
            let by_ordinal: BTreeMap<u32, Posting> =
                postings.iter().map(|posting| (posting.ordinal, *posting)).collect();
            let mut place = Place::default();
            for ordinal in base..=bound.last {
                let found = block.get(&page, &mut place, ordinal);
                prop_assert_eq!(found, by_ordinal.get(&ordinal).copied());
                let earlier = by_ordinal.range(..ordinal);
                let count = earlier.clone().count();
                let labels = earlier.filter(|(_, posting)| posting.label).count();
                let (found, found_labels) = block.count_before(&page, ordinal);
                prop_assert_eq!((found as usize, found_labels as usize), (count, labels));
            }
        }
    }
}

use super::part::Stretch;

/// Some of the ordinals of a stretch.
pub(super) struct Set {
    start: u32,
    end: u32,
    /// A bit for each.
    bits: Vec<u64>,
}

impl Set {
    /// None of them.
    pub(super) fn new(stretch: &Stretch) -> Self {
        let (start, end) = (stretch.ordinals.start, stretch.ordinals.end);
        Self { start, end, bits: vec![0; (end - start).div_ceil(u64::BITS) as usize] }
    }

    /// Puts an ordinal in. Returns false if it was there, or is not of the stretch.
    #[inline]
    pub(super) fn insert(&mut self, ordinal: u32) -> bool {
        if !(self.start..self.end).contains(&ordinal) {
            return false;
        }
        let at = ordinal - self.start;
        let (bits, bit) = (&mut self.bits[(at / u64::BITS) as usize], 1 << (at % u64::BITS));
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Whether an ordinal of the stretch is in it.
    #[inline]
    pub(super) fn has(&self, ordinal: u32) -> bool {
        let at = ordinal.wrapping_sub(self.start);
        let bits = self.bits.get((at / u64::BITS) as usize);
        bits.is_some_and(|bits| bits >> (at % u64::BITS) & 1 == 1)
    }

    /// Leaves what is in `other`, too.
    pub(super) fn retain(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits &= other);
    }

    /// Those that are in it, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        (self.start..).step_by(u64::BITS as usize).zip(&self.bits).flat_map(|(first, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some(first + bit)
            })
        })
    }
}

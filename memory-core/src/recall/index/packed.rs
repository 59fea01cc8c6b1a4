//! Runs of whole numbers, each in the same number of bits, so that any of them is read without reading
//! the others.

/// How many bits `number` needs.
pub(super) fn bits(number: u64) -> u32 {
    u64::BITS - number.leading_zeros()
}

/// Appends `numbers`, each of which `width` bits are enough for.
pub(super) fn put_packed(to: &mut Vec<u8>, width: u32, numbers: impl Iterator<Item = u64>) {
    put_rows(to, [width], numbers.map(|number| [number]));
}

/// Appends rows of numbers, for each of which the bits of its column are enough.
pub(super) fn put_rows<const N: usize>(
    to: &mut Vec<u8>,
    widths: [u32; N],
    rows: impl Iterator<Item = [u64; N]>,
) {
    let (mut held, mut filled) = (0_u128, 0);
    for (width, number) in rows.flat_map(|row| widths.into_iter().zip(row)) {
        held |= u128::from(number) << filled;
        filled += width;
        while filled >= 8 {
            to.push(held.to_le_bytes()[0]);
            held >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        to.push(held.to_le_bytes()[0]);
    }
}

/// Where a run of numbers is in a page, all of one width and equally far apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    /// In bits, as all of these.
    start: usize,
    width: u32,
    stride: u32,
}

impl Packed {
    /// `count` numbers of `width` bits from `start` on in `page`, and where they end; none if the page
    /// is too short.
    pub(super) fn new(
        page: &[u8],
        start: usize,
        width: u32,
        count: usize,
    ) -> Option<(Self, usize)> {
        Self::rows(page, start, [width], count).map(|([packed], end)| (packed, end))
    }

    /// The columns of `count` rows of numbers of so many bits from `start` on in `page`, and where they
    /// end; none if the page is too short.
    pub(super) fn rows<const N: usize>(
        page: &[u8],
        start: usize,
        widths: [u32; N],
        count: usize,
    ) -> Option<([Self; N], usize)> {
        if widths.iter().any(|width| *width > u64::BITS) {
            return None;
        }
        let stride = widths.iter().sum();
        let bytes = count.checked_mul(stride as usize)?.div_ceil(8);
        let end = start.checked_add(bytes).filter(|end| *end <= page.len())?;
        let mut start = start * 8;
        let columns = widths.map(|width| {
            let column = Self { start, width, stride };
            start += width as usize;
            column
        });
        Some((columns, end))
    }

    /// The words of a set of `count` bits from `start` on in `page`, and where it ends; none if the page is
    /// too short. The last word may have other bits after those of the set.
    pub(super) fn words(page: &[u8], start: usize, count: usize) -> Option<(Self, usize)> {
        let (_, end) = Self::new(page, start, 1, count)?;
        Some((Self { start: start * 8, width: u64::BITS, stride: u64::BITS }, end))
    }

    /// Whether all its numbers are 0, and take no room.
    #[inline]
    pub(super) fn is_nothing(self) -> bool {
        self.width == 0
    }

    /// The number at `at`, which there is.
    #[inline]
    pub(super) fn get(self, page: &[u8], at: usize) -> u64 {
        if self.is_nothing() {
            return 0;
        }
        let bit = self.start + at * self.stride as usize;
        let (byte, shift) = (bit / 8, bit % 8);
        let rest = page.get(byte..).unwrap_or_default();
        let (low, next) = if let Some((low, after)) = rest.split_first_chunk::<8>() {
            (*low, after.first().copied().unwrap_or_default())
        } else {
            let mut low = [0; 8];
            low[..rest.len()].copy_from_slice(rest);
            (low, 0)
        };
        let mut number = u64::from_le_bytes(low) >> shift;
        if self.width as usize + shift > 64 {
            number |= u64::from(next) << (64 - shift);
        }
        if self.width < u64::BITS { number & ((1 << self.width) - 1) } else { number }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_come_back(
            widths in prop::array::uniform3(0..=64_u32),
            rows in prop::collection::vec(any::<[u64; 3]>(), 0..50),
        ) {
            let mask = |column: usize, number: u64| match widths[column] {
                64 => number,
                width => number & ((1 << width) - 1),
            };
            let masked = |row: &[u64; 3]| [0, 1, 2].map(|column| mask(column, row[column]));
            let mut page = Vec::new();
            put_rows(&mut page, widths, rows.iter().map(masked));
            let (columns, end) = Packed::rows(&page, 0, widths, rows.len()).unwrap();
            prop_assert_eq!(end, page.len());
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(columns.map(|column| column.get(&page, at)), masked(row));
            }
        }

        #[test]
        fn numbers_come_back(
            before in 0..9_usize,
            width in 0..=64_u32,
            numbers in prop::collection::vec(any::<u64>(), 0..200),
        ) {
            let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
            let mut page = vec![0xff; before];
            put_packed(&mut page, width, numbers.iter().map(|number| number & mask));
            let end = page.len();
            page.push(0xff);
            let (packed, found_end) = Packed::new(&page, before, width, numbers.len()).unwrap();
            prop_assert_eq!(found_end, end);
            for (at, number) in numbers.iter().enumerate() {
                prop_assert_eq!(packed.get(&page, at), number & mask);
                prop_assert_eq!(packed.get(&page[..end], at), number & mask);
            }
        }
    }
}

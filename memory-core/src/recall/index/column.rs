use super::{
    bytes::{Input, put_number},
    packed::{Packed, bits, put_rows},
};

/// A column of rows of whole numbers, each kept as its distance from the smallest.
pub(super) struct Column {
    smallest: u64,
    distances: Packed,
}

/// Appends rows of numbers as columns. What is in a row is side by side.
pub(super) fn put_columns<const N: usize>(
    to: &mut Vec<u8>,
    rows: impl Iterator<Item = [u64; N]> + Clone,
) {
    let (mut smallest, mut largest) = ([u64::MAX; N], [0; N]);
    for row in rows.clone() {
        for at in 0..N {
            smallest[at] = row[at].min(smallest[at]);
            largest[at] = row[at].max(largest[at]);
        }
    }
    let widths: [_; N] = std::array::from_fn(|at| bits(largest[at].saturating_sub(smallest[at])));
    for (smallest, width) in smallest.iter().zip(widths) {
        put_number(to, *smallest);
        put_number(to, u64::from(width));
    }
    put_rows(to, widths, rows.map(|row| std::array::from_fn(|at| row[at] - smallest[at])));
}

impl Column {
    /// Reads the heads of the columns of `count` rows from `input`, what is left of `page`.
    pub(super) fn read<const N: usize>(
        page: &[u8],
        input: &mut Input<'_>,
        count: usize,
    ) -> Option<[Self; N]> {
        let (mut smallest, mut widths) = ([0; N], [0; N]);
        for (smallest, width) in smallest.iter_mut().zip(&mut widths) {
            *smallest = input.number()?;
            *width = input.small()?;
        }
        let start = page.len() - input.0.len();
        let (distances, end) = Packed::rows(page, start, widths, count)?;
        input.take(end - start)?;
        let column = |at: usize| Self { smallest: smallest[at], distances: distances[at] };
        Some(std::array::from_fn(column))
    }

    /// The number in row `row`, which the column has.
    #[inline]
    pub(super) fn get(&self, page: &[u8], row: usize) -> u64 {
        self.smallest.wrapping_add(self.distances.get(page, row))
    }
}

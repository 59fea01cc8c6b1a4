use super::{
    bytes::{Input, put_number},
    packed::{Packed, bits, put_packed},
};

/// A column of whole numbers, each kept as its distance from the smallest.
pub(super) struct Column {
    smallest: u64,
    distances: Packed,
}

/// Appends `numbers` as a column.
pub(super) fn put_column(to: &mut Vec<u8>, numbers: impl Iterator<Item = u64> + Clone) {
    let smallest = numbers.clone().min().unwrap_or(0);
    let largest = numbers.clone().max().unwrap_or(0);
    let width = bits(largest - smallest);
    put_number(to, smallest);
    put_number(to, u64::from(width));
    put_packed(to, width, numbers.map(|number| number - smallest));
}

impl Column {
    /// Reads the head of a column of `count` numbers from `input`, what is left of `page`.
    pub(super) fn read(page: &[u8], input: &mut Input<'_>, count: usize) -> Option<Self> {
        let smallest = input.number()?;
        let width = input.small()?;
        let start = page.len() - input.0.len();
        let (distances, end) = Packed::new(page, start, width, count)?;
        input.take(end - start)?;
        Some(Self { smallest, distances })
    }

    /// The number in row `row`, which the column has.
    #[inline]
    pub(super) fn get(&self, page: &[u8], row: usize) -> u64 {
        self.smallest.wrapping_add(self.distances.get(page, row))
    }
}

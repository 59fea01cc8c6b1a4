use super::{
    bytes::{Input, put_number},
    column::{Column, put_columns},
    page::Page,
    segment::Totals,
};

/// How many documents share a page of lengths.
pub(super) const DOCUMENTS: u32 = 8192;

/// The lengths of up to [`DOCUMENTS`] documents. They are apart from the other values, since most
/// documents that a search looks at are looked at no further: all of them together fit in a processor's
/// cache.
pub(super) struct Lengths {
    bytes: Vec<u8>,
    rows: usize,
    column: Column,
}

impl Page for Lengths {
    fn decode(bytes: Vec<u8>, _: &Totals) -> Option<Self> {
        let mut input = Input(&bytes);
        let rows = input.size()?;
        let [column] = Column::read(&bytes, &mut input, rows)?;
        Some(Self { bytes, rows, column })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

impl Lengths {
    pub(super) fn encode(lengths: impl ExactSizeIterator<Item = u64> + Clone) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, lengths.len() as u64);
        put_columns(&mut bytes, lengths.map(|length| [length]));
        bytes
    }

    /// The length of the document in row `row`.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<u64> {
        (row < self.rows).then(|| self.column.get(&self.bytes, row))
    }
}

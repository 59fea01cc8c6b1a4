use super::{
    bytes::{Input, put_bytes, put_number},
    column::{Column, put_columns},
    page::Page,
    places::Place,
    segment::Totals,
};

/// How many documents share a block of values.
pub(super) const BLOCK: u32 = 2048;

/// What the index keeps of a document beside its terms: what scores, ties and filters need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values {
    /// Of the record, in order of insertion; never given twice.
    pub(super) number: u64,
    pub(super) place: Place,
    /// Microseconds since the epoch.
    pub(super) created_at: i64,
    /// In terms; see [`Analyzer`](crate::recall::Analyzer).
    pub(super) length: u64,
    pub(super) open: bool,
    /// Whether it ends with a question. It is kept of turns only.
    pub(super) asks: bool,
    /// Of a turn, else empty.
    pub(super) role: String,
}

/// Up to [`BLOCK`] documents' values but for their lengths and places, read one by one.
pub(super) struct ValuesBlock {
    bytes: Vec<u8>,
    rows: usize,
    roles: Vec<String>,
    number: Column,
    created_at: Column,
    role: Column,
    open: Column,
}

/// Keeps the order of signed numbers.
fn unsigned(number: i64) -> u64 {
    number.cast_unsigned() ^ (1 << 63)
}

impl Page for ValuesBlock {
    fn decode(bytes: Vec<u8>, _: &Totals) -> Option<Self> {
        let mut input = Input(&bytes);
        let rows = input.size()?;
        let mut roles = Vec::new();
        for _ in 0..input.number()? {
            roles.push(input.text()?.to_owned());
        }
        let [number, created_at, role, open] = Column::read(&bytes, &mut input, rows)?;
        Some(Self { bytes, rows, roles, number, created_at, role, open })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

impl ValuesBlock {
    pub(super) fn encode(rows: &[Values]) -> Vec<u8> {
        let mut roles: Vec<&str> = rows.iter().map(|row| row.role.as_str()).collect();
        roles.sort_unstable();
        roles.dedup();
        let mut bytes = Vec::new();
        put_number(&mut bytes, rows.len() as u64);
        put_number(&mut bytes, roles.len() as u64);
        for role in &roles {
            put_bytes(&mut bytes, role.as_bytes());
        }
        let columns = |row: &Values| {
            let role = roles.partition_point(|role| *role < row.role.as_str()) as u64;
            [row.number, unsigned(row.created_at), role, u64::from(row.open)]
        };
        put_columns(&mut bytes, rows.iter().map(columns));
        bytes
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn number(&self, row: usize) -> u64 {
        self.number.get(&self.bytes, row)
    }

    pub(super) fn created_at(&self, row: usize) -> i64 {
        unsigned(self.created_at.get(&self.bytes, row).cast_signed()).cast_signed()
    }

    pub(super) fn open(&self, row: usize) -> bool {
        self.open.get(&self.bytes, row) == 1
    }

    pub(super) fn role(&self, row: usize) -> &str {
        let role = usize::try_from(self.role.get(&self.bytes, row)).unwrap_or(usize::MAX);
        self.roles.get(role).map_or("", String::as_str)
    }
}

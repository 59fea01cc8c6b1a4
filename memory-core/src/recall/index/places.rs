use std::ops::Range;

use super::{
    bytes::{Input, put_number},
    column::{Column, put_columns},
    page::Page,
    segment::Totals,
};

/// How many documents share a page of places.
pub(super) const DOCUMENTS: u32 = 8192;

/// Where documents of a workspace are sorted: session and index of a turn, else the complement of the
/// record's number, so that the newest come first.
pub(super) type Place = (u64, u64);

/// Documents side by side whose indexes follow each other in one session.
pub(super) struct Run {
    pub(super) ordinals: Range<u32>,
    /// Of the first.
    place: Place,
}

impl Run {
    /// The only document of its kind that is at `place`.
    pub(super) fn one(ordinal: u32, place: Place) -> Self {
        Self { ordinals: ordinal..ordinal.saturating_add(1), place }
    }

    /// The place of a document of the run.
    #[inline]
    pub(super) fn place(&self, ordinal: u32) -> Place {
        let (session, index) = self.place;
        (session, index.wrapping_add(u64::from(ordinal.wrapping_sub(self.ordinals.start))))
    }
}

/// The places of up to [`DOCUMENTS`] turns, and which of them ask. They are apart from the other values,
/// since [`Scorer::Context`](crate::recall::Scorer::Context) looks at thousands of turns and returns few.
pub(super) struct Places {
    bytes: Vec<u8>,
    rows: u32,
    /// Of the runs: where they begin, and the place of the first document.
    runs: usize,
    first: Column,
    session: Column,
    index: Column,
    /// Of the rows.
    asks: Column,
}

impl Page for Places {
    fn decode(bytes: Vec<u8>, _: &Totals) -> Option<Self> {
        let mut input = Input(&bytes);
        let (rows, runs) = (input.small()?, input.size()?);
        let [first, session, index] = Column::read(&bytes, &mut input, runs)?;
        let [asks] = Column::read(&bytes, &mut input, rows as usize)?;
        Some(Self { bytes, rows, runs, first, session, index, asks })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

impl Places {
    /// Where the run begins that is at `at`; the end of the page after the last.
    fn first(&self, at: usize) -> u64 {
        if at < self.runs { self.first.get(&self.bytes, at) } else { u64::from(self.rows) }
    }

    /// The run that has `row`, in a page that begins with the document `base`.
    pub(super) fn run(&self, row: u32, base: u32) -> Option<Run> {
        let (mut at, mut to) = (0, self.runs);
        while at + 1 < to {
            let middle = at + (to - at) / 2;
            if self.first(middle) <= u64::from(row) {
                at = middle;
            } else {
                to = middle;
            }
        }
        let bounds = [at, at + 1].map(|at| u32::try_from(self.first(at)).ok());
        let (start, end) = (bounds[0]?, bounds[1]?.min(self.rows));
        if at >= self.runs || !(start..end).contains(&row) {
            return None;
        }
        let ordinals = base.checked_add(start)?..base.checked_add(end)?;
        let place = (self.session.get(&self.bytes, at), self.index.get(&self.bytes, at));
        Some(Run { ordinals, place })
    }

    /// Whether the document in row `row` asks.
    pub(super) fn asks(&self, row: u32) -> Option<bool> {
        (row < self.rows).then(|| self.asks.get(&self.bytes, row as usize) == 1)
    }
}

/// A page of places that is being written.
#[derive(Default)]
pub(super) struct PlacesWriter {
    /// Where runs begin, and the place of the first document.
    runs: Vec<[u64; 3]>,
    asks: Vec<bool>,
    next: Option<Place>,
}

impl PlacesWriter {
    /// Adds the next document. Returns whether the page is full.
    pub(super) fn put(&mut self, place: Place, asks: bool) -> bool {
        let (session, index) = place;
        if self.next != Some(place) {
            self.runs.push([self.asks.len() as u64, session, index]);
        }
        self.next = index.checked_add(1).map(|next| (session, next));
        self.asks.push(asks);
        self.asks.len() == DOCUMENTS as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, self.asks.len() as u64);
        put_number(&mut bytes, self.runs.len() as u64);
        put_columns(&mut bytes, self.runs.iter().copied());
        put_columns(&mut bytes, self.asks.iter().map(|asks| [u64::from(*asks)]));
        bytes
    }
}

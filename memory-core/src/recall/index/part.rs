use std::{
    cell::OnceCell,
    ops::{Range, RangeInclusive},
    sync::Arc,
};

use super::{
    bytes::{Input, beginning, put_number},
    lengths::{self, Lengths},
    page::{Kind, Page, PageId},
    places::{self, Place, Places, Run},
    postings::{Chunk, Term},
    segment::{Segment, Sign, Totals},
    table::Table,
    values::{BLOCK, Values, ValuesBlock},
};
use crate::Result;

/// The documents of a workspace in a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) ordinals: Range<u32>,
    pub(super) length: u64,
    /// Whether no document is newer than one before it.
    pub(super) newest_first: bool,
}

impl Stretch {
    pub(super) const NONE: Self = Self { ordinals: 0..0, length: 0, newest_first: true };

    pub(super) fn encode(&self) -> Vec<u8> {
        let Range { start, end } = self.ordinals;
        let mut bytes = Vec::new();
        put_number(&mut bytes, u64::from(start));
        put_number(&mut bytes, u64::from(end - start) << 1 | u64::from(self.newest_first));
        put_number(&mut bytes, self.length);
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut input = Input(bytes);
        let first = input.small()?;
        let count = input.number()?;
        let end = first.checked_add(u32::try_from(count >> 1).ok()?)?;
        let length = input.number()?;
        Some(Self { ordinals: first..end, length, newest_first: count & 1 == 1 })
    }
}

/// A page of a table, and a row of it.
pub(super) type Row = (Arc<Table>, usize);

/// One part of a segment being read.
pub(super) struct Part<'s, 'b> {
    pub(super) segment: &'s Segment<'b>,
    pub(super) sign: Sign,
    /// By number.
    values: Numbered<ValuesBlock>,
    lengths: Numbered<Lengths>,
    places: Numbered<Places>,
}

/// Pages of a kind that were read, by number.
type Numbered<T> = Vec<OnceCell<Arc<T>>>;

impl<'s, 'b> Part<'s, 'b> {
    pub(super) fn new(segment: &'s Segment<'b>, sign: Sign) -> Self {
        let Totals { documents, of_sessions, .. } = *segment.root.totals(sign);
        let values = vec![OnceCell::new(); documents.div_ceil(BLOCK) as usize];
        let lengths = vec![OnceCell::new(); documents.div_ceil(lengths::DOCUMENTS) as usize];
        let turns = if of_sessions { documents } else { 0 };
        let places = vec![OnceCell::new(); turns.div_ceil(places::DOCUMENTS) as usize];
        Self { segment, sign, values, lengths, places }
    }

    /// Both parts of each segment.
    pub(super) fn all(segments: &'s [Segment<'b>]) -> Vec<[Self; 2]> {
        segments.iter().map(|segment| Sign::BOTH.map(|sign| Self::new(segment, sign))).collect()
    }

    pub(super) fn totals(&self) -> &Totals {
        self.segment.root.totals(self.sign)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.totals().documents == 0
    }

    /// All of the part's documents.
    fn everything(&self) -> Stretch {
        let Totals { documents, length, newest_first, .. } = *self.totals();
        Stretch { ordinals: 0..documents, length, newest_first }
    }

    /// Whether it has pages that are far away.
    pub(super) fn is_far(&self) -> bool {
        !self.is_empty() && self.segment.is_far()
    }

    /// Tells that a page will be read. Returns whether it is at hand.
    pub(super) fn want(&self, kind: Kind, number: u32) -> bool {
        self.segment.want(PageId::new(self.sign, kind, number))
    }

    /// Tells that the values of a document will be read. Returns whether they are at hand.
    #[inline]
    pub(super) fn want_values(&self, ordinal: u32) -> bool {
        let number = ordinal / BLOCK;
        let is_read = self.values.get(number as usize).is_some_and(|page| page.get().is_some());
        is_read || self.want(Kind::Values, number)
    }

    /// The same for its place.
    #[inline]
    pub(super) fn want_place(&self, ordinal: u32) -> bool {
        if !self.totals().of_sessions {
            return self.want_values(ordinal);
        }
        let number = ordinal / places::DOCUMENTS;
        let is_read = self.places.get(number as usize).is_some_and(|page| page.get().is_some());
        is_read || self.want(Kind::Places, number)
    }

    /// Tells that pages of a kind will be read which have so many documents each.
    pub(super) fn want_all(&self, kind: Kind, ordinals: &Range<u32>, documents: u32) {
        let end = ordinals.end.min(self.totals().documents);
        for number in ordinals.start / documents..end.div_ceil(documents) {
            self.want(kind, number);
        }
    }

    /// Tells that all pages of a table will be read.
    pub(super) fn want_table(&self, kind: Kind) -> Result<()> {
        let fence = self.table(Kind::Fence, kind as u32)?;
        for number in (0..).take(fence.map_or(0, |fence| fence.len())) {
            self.want(kind, number);
        }
        Ok(())
    }

    /// The page `number` of a table; none beyond the last.
    pub(super) fn table(&self, kind: Kind, number: u32) -> Result<Option<Arc<Table>>> {
        self.segment.page(self.sign, PageId::new(self.sign, kind, number))
    }

    /// The number of the page of a table that `key` would be in; none if it would be before the first.
    pub(super) fn page_number(&self, kind: Kind, key: &[u8]) -> Result<Option<u32>> {
        if self.is_empty() {
            return Ok(None);
        }
        let Some(fence) = self.table(Kind::Fence, kind as u32)? else { return Ok(None) };
        let number = fence.partition(|first| first <= key).checked_sub(1);
        number.map(u32::try_from).transpose().map_err(|_| self.segment.damaged())
    }

    /// The page of a table that `key` would be in.
    fn page_of(&self, kind: Kind, key: &[u8]) -> Result<Option<Arc<Table>>> {
        let Some(number) = self.page_number(kind, key)? else { return Ok(None) };
        self.table(kind, number)?.map_or_else(|| Err(self.segment.damaged()), |page| Ok(Some(page)))
    }

    /// Where `key` is in a table.
    pub(super) fn find(&self, kind: Kind, key: &[u8]) -> Result<Option<Row>> {
        let Some(page) = self.page_of(kind, key)? else { return Ok(None) };
        Ok(page.find(key).map(|row| (page, row)))
    }

    /// The documents of `workspace`, or all.
    pub(super) fn within(&self, workspace: Option<&str>) -> Result<Stretch> {
        match workspace {
            None => Ok(self.everything()),
            Some(workspace) => Ok(self.workspace(workspace)?.unwrap_or(Stretch::NONE)),
        }
    }

    /// The documents of `workspace`.
    fn workspace(&self, workspace: &str) -> Result<Option<Stretch>> {
        self.find(Kind::Workspaces, workspace.as_bytes())?.map(|row| self.stretch(&row)).transpose()
    }

    /// The documents of the workspace in a row.
    pub(super) fn stretch(&self, (page, row): &Row) -> Result<Stretch> {
        let stretch = Stretch::read(page.value(*row)).filter(|stretch| {
            stretch.ordinals.end <= self.totals().documents && !stretch.ordinals.is_empty()
        });
        stretch.ok_or_else(|| self.segment.damaged())
    }

    /// The block that has the values of a document, and the document's row.
    #[inline]
    pub(super) fn values(&self, ordinal: u32) -> Result<(&ValuesBlock, usize)> {
        let (number, row) = (ordinal / BLOCK, (ordinal % BLOCK) as usize);
        let block = self.numbered(Kind::Values, number, &self.values)?;
        if row < block.rows() { Ok((block, row)) } else { Err(self.segment.damaged()) }
    }

    /// The length of a document.
    #[inline]
    pub(super) fn length(&self, ordinal: u32) -> Result<u64> {
        let (number, row) = (ordinal / lengths::DOCUMENTS, (ordinal % lengths::DOCUMENTS) as usize);
        let page = self.numbered(Kind::Lengths, number, &self.lengths)?;
        page.get(row).ok_or_else(|| self.segment.damaged())
    }

    /// The page that has the place of a turn, and the turn's row.
    #[inline]
    fn places(&self, ordinal: u32) -> Result<(&Places, u32)> {
        let page = self.numbered(Kind::Places, ordinal / places::DOCUMENTS, &self.places)?;
        Ok((page, ordinal % places::DOCUMENTS))
    }

    /// The run that a document is of.
    #[inline]
    pub(super) fn run(&self, ordinal: u32) -> Result<Run> {
        if !self.totals().of_sessions {
            let (values, row) = self.values(ordinal)?;
            return Ok(Run::one(ordinal, (!values.number(row), 0)));
        }
        let (page, row) = self.places(ordinal)?;
        page.run(row, ordinal - row).ok_or_else(|| self.segment.damaged())
    }

    /// Whether a document ends with a question, as far as that is kept.
    #[inline]
    pub(super) fn asks(&self, ordinal: u32) -> Result<bool> {
        if !self.totals().of_sessions {
            return Ok(false);
        }
        let (page, row) = self.places(ordinal)?;
        page.asks(row).ok_or_else(|| self.segment.damaged())
    }

    /// All that is kept of the document at `place` beside its terms.
    pub(super) fn document(&self, ordinal: u32, place: Place) -> Result<Values> {
        let (values, row) = self.values(ordinal)?;
        Ok(Values {
            number: values.number(row),
            place,
            created_at: values.created_at(row),
            length: self.length(ordinal)?,
            open: values.open(row),
            asks: self.asks(ordinal)?,
            role: values.role(row).to_owned(),
        })
    }

    /// The page `number` of a kind of which there must be so many.
    #[inline]
    fn numbered<'p, T: Page>(
        &self,
        kind: Kind,
        number: u32,
        pages: &'p Numbered<T>,
    ) -> Result<&'p T> {
        let place = pages.get(number as usize).ok_or_else(|| self.segment.damaged())?;
        if let Some(page) = place.get() {
            return Ok(page);
        }
        let page = self.segment.page::<T>(self.sign, PageId::new(self.sign, kind, number))?;
        let page = page.ok_or_else(|| self.segment.damaged())?;
        Ok(place.get_or_init(|| page))
    }

    /// What the directory has under `key`.
    pub(super) fn directory(&self, key: u64) -> Result<Option<Range<u32>>> {
        let Some((page, row)) = self.find(Kind::Directory, &key.to_be_bytes())? else {
            return Ok(None);
        };
        let mut input = Input(page.value(row));
        let mut read = || {
            let first = input.small()?;
            Some(first..first.checked_add(input.small()?)?)
        };
        read().map(Some).ok_or_else(|| self.segment.damaged())
    }

    /// The least and the greatest key of the directory.
    pub(super) fn directory_range(&self) -> Result<Option<RangeInclusive<u64>>> {
        let Some(fence) = self.table(Kind::Fence, Kind::Directory as u32)? else { return Ok(None) };
        let number = u32::try_from(fence.len()).ok().and_then(|pages| pages.checked_sub(1));
        let page = number.map_or(Ok(None), |number| self.table(Kind::Directory, number))?;
        let read = || {
            let page = page.as_ref()?;
            let session = |key: &[u8]| Some(u64::from_be_bytes(key.try_into().ok()?));
            Some(session(fence.key(0))?..=session(page.key(page.len().checked_sub(1)?))?)
        };
        read().map(Some).ok_or_else(|| self.segment.damaged())
    }

    /// Where the postings of `term` are.
    pub(super) fn term(&self, term: &[u8]) -> Result<Option<Arc<Term>>> {
        self.find(Kind::Dictionary, term)?.map(|row| self.term_in(&row)).transpose()
    }

    /// Where the postings of the term in a row are.
    pub(super) fn term_in(&self, (page, row): &Row) -> Result<Arc<Term>> {
        let term = page.read(*row, |value| Term::read(value, self.totals()).map(Arc::new));
        term.ok_or_else(|| self.segment.damaged())
    }

    /// The chunk at a place among a term's, the first of which is page `first`.
    pub(super) fn chunk(&self, first: u32, at: usize) -> Result<Arc<Chunk>> {
        let number = u32::try_from(at).ok().and_then(|at| first.checked_add(at));
        let number = number.ok_or_else(|| self.segment.damaged())?;
        let chunk = self.segment.page(self.sign, PageId::new(self.sign, Kind::Chunk, number))?;
        chunk.ok_or_else(|| self.segment.damaged())
    }
}

/// A walk through all rows of a table.
pub(super) struct Walk {
    kind: Kind,
    next: u32,
    row: Option<Row>,
    /// Of the row's key.
    beginning: u64,
}

impl Walk {
    /// A walk before the first row.
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, next: 0, row: None, beginning: 0 }
    }

    /// Goes on to the next row; none after the last.
    pub(super) fn advance(&mut self, part: &Part<'_, '_>) -> Result<Option<&Row>> {
        if let Some((page, row)) = &mut self.row
            && *row + 1 < page.len()
        {
            *row += 1;
        } else {
            let page = part.table(self.kind, self.next)?.filter(|page| page.len() > 0);
            self.row = page.map(|page| (page, 0));
            self.next += 1;
        }
        self.beginning = self.key().map_or(0, beginning);
        Ok(self.row.as_ref())
    }

    /// The first bytes of the key that the walk is at, as a number.
    pub(super) fn beginning(&self) -> u64 {
        self.beginning
    }

    /// The row that the walk is at.
    pub(super) fn row(&self) -> Option<&Row> {
        self.row.as_ref()
    }

    /// Its key.
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.row.as_ref().map(|(page, row)| page.key(*row))
    }
}

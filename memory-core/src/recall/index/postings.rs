//! Which documents a term is in.
//!
//! Postings come in *blocks* of up to [`BLOCK_POSTINGS`], blocks in *chunks* of up to
//! [`PAGE_BYTES`] and [`CHUNK_BLOCKS`] blocks. Each block and each chunk has a [`Bound`], by which a search passes over it
//! unread. Any posting of a [`Block`] is read without the others. A term of one block has it in the dictionary.

use std::sync::Arc;

use super::{
    block::{BLOCK_POSTINGS, Block, Place},
    bytes::{Input, put_bytes, put_number},
    page::{PAGE_BYTES, Page},
    segment::Totals,
};

/// Few enough for a search to find its way among them at once.
const CHUNK_BLOCKS: usize = 32;

/// How many bytes the length of a chunk's heads takes.
const HEADS_LENGTH: usize = 2;

/// A term in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Posting {
    /// Of the document in its part of the segment.
    pub(super) ordinal: u32,
    /// How often, at least once.
    pub(super) count: u32,
    /// Whether it names the speaker.
    pub(super) label: bool,
}

/// What no posting of a stretch exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// The last ordinal.
    pub(super) last: u32,
    pub(super) postings: u32,
    /// How many of them name the speaker.
    pub(super) labels: u32,
    pub(super) max_count: u32,
    pub(super) min_length: u64,
    pub(super) newest: i64,
    /// Whether a document is open.
    pub(super) open: bool,
}

/// What a bound is made from: a document's length, creation time and openness.
pub(super) type Measure<'m> = dyn Fn(u32) -> (u64, i64, bool) + 'm;

impl Bound {
    pub(super) fn of(postings: &[Posting], measure: &Measure<'_>) -> Self {
        let mut bound = Self {
            last: 0,
            postings: 0,
            labels: 0,
            max_count: 0,
            min_length: u64::MAX,
            newest: i64::MIN,
            open: false,
        };
        for posting in postings {
            let (length, created_at, open) = measure(posting.ordinal);
            bound = bound.and(&Self {
                last: posting.ordinal,
                postings: 1,
                labels: u32::from(posting.label),
                max_count: posting.count,
                min_length: length,
                newest: created_at,
                open,
            });
        }
        bound
    }

    /// With the stretch that follows.
    fn and(&self, next: &Self) -> Self {
        Self {
            last: next.last,
            postings: self.postings.saturating_add(next.postings),
            labels: self.labels.saturating_add(next.labels),
            max_count: self.max_count.max(next.max_count),
            min_length: self.min_length.min(next.min_length),
            newest: self.newest.max(next.newest),
            open: self.open | next.open,
        }
    }

    /// `newest` is relative to that of all documents, and `last` to the stretch before.
    fn put(&self, to: &mut Vec<u8>, base: u32, newest: i64) {
        put_number(to, u64::from(self.last - base));
        put_number(to, u64::from(self.postings));
        put_number(to, u64::from(self.max_count) << 1 | u64::from(self.open));
        put_number(to, u64::from(self.labels));
        put_number(to, self.min_length);
        put_number(to, newest.abs_diff(self.newest));
    }

    fn read(input: &mut Input<'_>, base: u32, newest: i64) -> Option<Self> {
        let last = base.checked_add(input.small()?)?;
        let postings = input.small()?;
        let count_and_open = input.number()?;
        Some(Self {
            last,
            postings,
            labels: input.small()?,
            max_count: u32::try_from(count_and_open >> 1).ok()?,
            min_length: input.number()?,
            newest: newest.checked_sub_unsigned(input.number()?)?,
            open: count_and_open & 1 != 0,
        })
    }
}

/// Where the postings of a term are.
#[derive(Debug)]
pub(super) struct Term {
    pub(super) postings: u32,
    pub(super) labels: u32,
    /// Of all its postings.
    pub(super) bound: Bound,
    /// Of its chunks.
    pub(super) bounds: Vec<Bound>,
    pub(super) chunks: Chunks,
}

pub(super) enum Chunks {
    /// The only one.
    Here(Arc<Chunk>),
    /// Pages of consecutive numbers, the first of which this is.
    From(u32),
}

impl std::fmt::Debug for Chunks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here(_) => f.write_str("Here"),
            Self::From(first) => write!(f, "From({first})"),
        }
    }
}

impl Term {
    /// Appends what the dictionary keeps of a term with these `postings`, at least one. Chunks are
    /// handed to `put_chunk`, which numbers them.
    pub(super) fn encode(
        to: &mut Vec<u8>,
        postings: &[Posting],
        newest: i64,
        measure: &Measure<'_>,
        mut put_chunk: impl FnMut(Vec<u8>) -> u32,
    ) {
        let labels = postings.iter().filter(|posting| posting.label).count();
        put_number(to, postings.len() as u64);
        put_number(to, labels as u64);
        if postings.len() <= BLOCK_POSTINGS {
            // The rest of its bound is that of all documents.
            let bound = Bound::of(postings, &|_| (0, 0, false));
            put_number(to, u64::from(bound.last));
            put_number(to, u64::from(bound.max_count));
            Block::put(to, postings, &bound, 0);
            return;
        }
        let (mut bounds, mut first, mut base) = (Vec::new(), None, 0);
        let mut left = postings;
        while !left.is_empty() {
            let (bytes, bound) = Chunk::encode(&mut left, base, newest, measure);
            let number = put_chunk(bytes);
            first.get_or_insert(number);
            bound.put(&mut bounds, base, newest);
            base = bound.last + 1;
        }
        put_number(to, u64::from(first.unwrap_or_default()));
        to.extend_from_slice(&bounds);
    }

    pub(super) fn read(value: &[u8], totals: &Totals) -> Option<Self> {
        let mut input = Input(value);
        let (postings, labels) = (input.small()?, input.small()?);
        if postings as usize <= BLOCK_POSTINGS {
            let block = Self::block(&mut input, (postings, labels), totals)?;
            let bound = block.bound;
            let chunk = Chunk::new(input.0.to_vec(), vec![block]);
            let chunks = Chunks::Here(Arc::new(chunk));
            return Some(Self { postings, labels, bound, bounds: vec![bound], chunks });
        }
        let first = input.small()?;
        let (mut bounds, mut base) = (Vec::<Bound>::new(), 0);
        let mut whole: Option<Bound> = None;
        while !input.is_empty() {
            let bound = Bound::read(&mut input, base, totals.newest)?;
            base = bound.last.checked_add(1)?;
            whole = Some(whole.map_or(bound, |whole| whole.and(&bound)));
            bounds.push(bound);
        }
        Some(Self { postings, labels, bound: whole?, bounds, chunks: Chunks::From(first) })
    }

    /// The only block of a term, which then is all of what is left of `input`.
    fn block(
        input: &mut Input<'_>,
        (postings, labels): (u32, u32),
        totals: &Totals,
    ) -> Option<Block> {
        let (last, max_count) = (input.small()?, input.small()?);
        let Totals { min_length, newest, .. } = *totals;
        let bound = Bound { last, postings, labels, max_count, min_length, newest, open: true };
        let (block, end) = Block::read(input.0, 0, bound, 0)?;
        (end == input.0.len()).then_some(block)
    }

    /// All postings of a term that has them in the dictionary, put into `to`; false if it has chunks.
    pub(super) fn read_here(value: &[u8], totals: &Totals, to: &mut Vec<Posting>) -> Option<bool> {
        let mut input = Input(value);
        let (postings, labels) = (input.small()?, input.small()?);
        if postings as usize > BLOCK_POSTINGS {
            return Some(false);
        }
        let block = Self::block(&mut input, (postings, labels), totals)?;
        block.each(input.0, |posting| to.push(posting));
        Some(true)
    }
}

/// A chunk's blocks.
pub(super) struct Chunk {
    page: Vec<u8>,
    pub(super) blocks: Vec<Block>,
    /// The last ordinal of each block, side by side to be searched.
    pub(super) lasts: Vec<u32>,
}

impl Chunk {
    fn new(page: Vec<u8>, blocks: Vec<Block>) -> Self {
        let lasts = blocks.iter().map(|block| block.bound.last).collect();
        Self { page, blocks, lasts }
    }

    /// Takes the first of `left`; `base` is the least ordinal that they could have.
    fn encode(
        left: &mut &[Posting],
        mut base: u32,
        newest: i64,
        measure: &Measure<'_>,
    ) -> (Vec<u8>, Bound) {
        let (mut heads, mut data) = (Vec::new(), Vec::new());
        let mut whole: Option<Bound> = None;
        put_number(&mut heads, u64::from(base));
        for _ in 0..CHUNK_BLOCKS {
            if left.is_empty() {
                break;
            }
            let (block, after) = left.split_at(left.len().min(BLOCK_POSTINGS));
            let bound = Bound::of(block, measure);
            let ends = (heads.len(), data.len());
            Block::put(&mut data, block, &bound, base);
            bound.put(&mut heads, base, newest);
            if whole.is_some() && heads.len() + data.len() + HEADS_LENGTH > PAGE_BYTES {
                heads.truncate(ends.0);
                data.truncate(ends.1);
                break;
            }
            *left = after;
            base = bound.last + 1;
            whole = Some(whole.map_or(bound, |whole| whole.and(&bound)));
        }
        let mut bytes = Vec::with_capacity(heads.len() + data.len() + HEADS_LENGTH);
        put_bytes(&mut bytes, &heads);
        bytes.extend_from_slice(&data);
        (bytes, whole.unwrap_or_else(|| Bound::of(&[], measure)))
    }

    /// The posting of `ordinal` in a block that does not end before, as [`Block::get`] finds it.
    #[inline]
    pub(super) fn get(&self, block: &Block, place: &mut Place, ordinal: u32) -> Option<Posting> {
        block.get(&self.page, place, ordinal)
    }

    /// How many postings of a block there are before `ordinal`; see [`Block::count_before`].
    pub(super) fn count_before(&self, block: &Block, ordinal: u32) -> (u32, u32) {
        block.count_before(&self.page, ordinal)
    }

    /// Calls `visit` with all postings of a block, in order.
    #[inline]
    pub(super) fn each_of(&self, block: &Block, visit: impl FnMut(Posting)) {
        block.each(&self.page, visit);
    }

    /// Calls `visit` with all postings, in order.
    pub(super) fn each(&self, mut visit: impl FnMut(Posting)) {
        self.blocks.iter().for_each(|block| block.each(&self.page, &mut visit));
    }
}

impl Page for Chunk {
    fn decode(page: Vec<u8>, totals: &Totals) -> Option<Self> {
        let mut input = Input(&page);
        let mut heads = Input(input.bytes()?);
        let mut start = page.len() - input.0.len();
        let mut base = heads.small()?;
        let mut blocks = Vec::new();
        while !heads.is_empty() {
            let bound = Bound::read(&mut heads, base, totals.newest)?;
            let (block, end) = Block::read(&page, start, bound, base)?;
            blocks.push(block);
            (base, start) = (bound.last.checked_add(1)?, end);
        }
        (start == page.len()).then(|| Self::new(page, blocks))
    }

    fn bytes(&self) -> usize {
        self.page.len() + self.blocks.len() * size_of::<(Block, u32)>()
    }
}

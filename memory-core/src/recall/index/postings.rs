//! Which documents a term is in.
//!
//! Postings come in *blocks* of up to [`BLOCK_POSTINGS`], blocks in *chunks* of about
//! [`PAGE_BYTES`], and up to [`CHUNK_BLOCKS`] blocks. Each block and each chunk has a [`Bound`], by which a search passes over it
//! unread. Within a block all take the same number of bits, so that any of them is read without
//! the others. A term of one block has it in the dictionary.

use std::sync::Arc;

use super::{
    bytes::{Input, put_bytes, put_number},
    packed::{Packed, bits, put_packed},
    page::{PAGE_BYTES, Page},
    segment::Totals,
};

/// Few, so that a block's bound says much.
pub(super) const BLOCK_POSTINGS: usize = 128;

/// Few enough for a search to find its way among them at once.
const CHUNK_BLOCKS: usize = 32;

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
    fn of(postings: &[Posting], measure: &Measure<'_>) -> Self {
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

/// Up to [`BLOCK_POSTINGS`] postings: distances of ordinals from the least there could be, then what
/// is known of each beside.
pub(super) struct Block {
    pub(super) bound: Bound,
    base: u32,
    ordinals: Packed,
    rest: Packed,
}

impl Block {
    /// The bits of an ordinal's distance, and of a posting's rest.
    fn widths(bound: &Bound, base: u32) -> (u32, u32) {
        let labels = u32::from(bound.labels > 0);
        let rest = bits(u64::from(bound.max_count.saturating_sub(1))) + labels;
        (bits(u64::from(bound.last.saturating_sub(base))), rest)
    }

    fn put(to: &mut Vec<u8>, postings: &[Posting], bound: &Bound, base: u32) {
        let (ordinals, rest) = Self::widths(bound, base);
        put_packed(to, ordinals, postings.iter().map(|p| u64::from(p.ordinal - base)));
        let labels = u32::from(bound.labels > 0);
        let of = |p: &Posting| u64::from(p.count - 1) << labels | u64::from(p.label);
        put_packed(to, rest, postings.iter().map(of));
    }

    /// The block at `start` in `page`, and where it ends.
    fn read(page: &[u8], start: usize, bound: Bound, base: u32) -> Option<(Self, usize)> {
        let (width, rest) = Self::widths(&bound, base);
        let count = bound.postings as usize;
        if count == 0 || count > BLOCK_POSTINGS || bound.max_count == 0 || width > 32 || rest > 33 {
            return None;
        }
        let (ordinals, end) = Packed::new(page, start, width, count)?;
        let (rest, end) = Packed::new(page, end, rest, count)?;
        Some((Self { bound, base, ordinals, rest }, end))
    }

    pub(super) fn len(&self) -> usize {
        self.bound.postings as usize
    }

    /// The ordinal of a posting.
    #[inline]
    fn ordinal(&self, page: &[u8], at: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "its width is at most 32 bits")]
        let distance = self.ordinals.get(page, at) as u32;
        self.base.wrapping_add(distance)
    }

    #[inline]
    fn posting(&self, page: &[u8], at: usize) -> Posting {
        let rest = self.rest.get(page, at);
        let labels = u32::from(self.bound.labels > 0);
        #[expect(clippy::cast_possible_truncation, reason = "its width is at most 33 bits")]
        let count = (rest >> labels) as u32;
        Posting {
            ordinal: self.ordinal(page, at),
            count: count.saturating_add(1),
            label: labels == 1 && rest & 1 == 1,
        }
    }

    /// All its postings.
    fn postings(&self, page: &[u8]) -> impl Iterator<Item = Posting> {
        (0..self.len()).map(|at| self.posting(page, at))
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
    pub(super) fn encode<E>(
        to: &mut Vec<u8>,
        postings: &[Posting],
        newest: i64,
        measure: &Measure<'_>,
        mut put_chunk: impl FnMut(Vec<u8>) -> Result<u32, E>,
    ) -> Result<(), E> {
        let labels = postings.iter().filter(|posting| posting.label).count();
        put_number(to, postings.len() as u64);
        put_number(to, labels as u64);
        if postings.len() <= BLOCK_POSTINGS {
            // The rest of its bound is that of all documents.
            let bound = Bound::of(postings, &|_| (0, 0, false));
            put_number(to, u64::from(bound.last));
            put_number(to, u64::from(bound.max_count));
            Block::put(to, postings, &bound, 0);
            return Ok(());
        }
        let (mut bounds, mut first, mut base) = (Vec::new(), None, 0);
        let mut left = postings;
        while !left.is_empty() {
            let (bytes, bound) = Chunk::encode(&mut left, base, newest, measure);
            let number = put_chunk(bytes)?;
            first.get_or_insert(number);
            bound.put(&mut bounds, base, newest);
            base = bound.last + 1;
        }
        put_number(to, u64::from(first.unwrap_or_default()));
        to.extend_from_slice(&bounds);
        Ok(())
    }

    pub(super) fn read(value: &[u8], totals: &Totals) -> Option<Self> {
        let mut input = Input(value);
        let (postings, labels) = (input.small()?, input.small()?);
        if postings as usize <= BLOCK_POSTINGS {
            let block = Self::block(&mut input, (postings, labels), totals)?;
            let bound = block.bound;
            let chunk = Chunk { blocks: vec![block], page: input.0.to_vec() };
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
        to.extend(block.postings(input.0));
        Some(true)
    }
}

/// A chunk's blocks.
pub(super) struct Chunk {
    page: Vec<u8>,
    pub(super) blocks: Vec<Block>,
}

impl Chunk {
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
            if left.is_empty() || heads.len() + data.len() >= PAGE_BYTES {
                break;
            }
            let (block, after) = left.split_at(left.len().min(BLOCK_POSTINGS));
            *left = after;
            let bound = Bound::of(block, measure);
            Block::put(&mut data, block, &bound, base);
            bound.put(&mut heads, base, newest);
            base = bound.last + 1;
            whole = Some(whole.map_or(bound, |whole| whole.and(&bound)));
        }
        let mut bytes = Vec::with_capacity(heads.len() + data.len() + 2);
        put_bytes(&mut bytes, &heads);
        bytes.extend_from_slice(&data);
        (bytes, whole.unwrap_or_else(|| Bound::of(&[], measure)))
    }

    /// A posting of a block.
    #[inline]
    pub(super) fn posting(&self, block: &Block, at: usize) -> Posting {
        block.posting(&self.page, at)
    }

    /// All postings of a block, in order.
    pub(super) fn postings_of(&self, block: &Block) -> impl Iterator<Item = Posting> {
        block.postings(&self.page)
    }

    /// Where in a block the first posting is that is at `target` or after it, if the block ends no
    /// earlier. It is not before `from`, and mostly near.
    #[inline]
    pub(super) fn find(&self, block: &Block, mut from: usize, target: u32) -> usize {
        let (mut to, mut step) = (block.len() - 1, 1);
        while from + step < to && block.ordinal(&self.page, from + step) < target {
            from += step + 1;
            step *= 2;
        }
        to = to.min(from + step);
        while from < to {
            let middle = from + (to - from) / 2;
            if block.ordinal(&self.page, middle) < target {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// All postings, put into `to`.
    pub(super) fn postings(&self, to: &mut Vec<Posting>) {
        self.blocks.iter().for_each(|block| to.extend(block.postings(&self.page)));
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
        (start == page.len()).then_some(Self { page, blocks })
    }

    fn bytes(&self) -> usize {
        self.page.len() + self.blocks.len() * size_of::<Block>()
    }
}

//! Sorted keys with values, in pages.

use std::{any::Any, mem, ops::Range, sync::OnceLock};

use super::{
    bytes::{Input, put_bytes, put_number},
    page::{Kind, PAGE_BYTES, Page, PageId},
    segment::{Pages, Sign, Totals},
};
/// A page of a table: each key without what it has in common with the one before.
pub(super) struct Table {
    page: Vec<u8>,
    keys: Vec<u8>,
    rows: Vec<Row>,
}

struct Row {
    /// Where its key ends among the keys.
    key_end: usize,
    value: Range<usize>,
    /// What the value was read as, once it was.
    read: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Page for Table {
    fn decode(page: Vec<u8>, _: &Totals) -> Option<Self> {
        let (mut keys, mut rows) = (Vec::new(), Vec::new());
        let mut key = Vec::new();
        let mut input = Input(&page);
        while !input.is_empty() {
            let shared = input.size()?;
            if shared > key.len() {
                return None;
            }
            key.truncate(shared);
            key.extend_from_slice(input.bytes()?);
            keys.extend_from_slice(&key);
            let value = input.bytes()?;
            let end = page.len() - input.0.len();
            let value = end - value.len()..end;
            rows.push(Row { key_end: keys.len(), value, read: OnceLock::new() });
        }
        Some(Self { page, keys, rows })
    }

    fn bytes(&self) -> usize {
        // Values that are read take about as much again.
        2 * self.page.len() + self.keys.len() + self.rows.len() * size_of::<Row>()
    }
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn key(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.rows[row - 1].key_end };
        &self.keys[start..self.rows[row].key_end]
    }

    /// All keys, one after the other.
    pub(super) fn keys(&self) -> &[u8] {
        &self.keys
    }

    pub(super) fn value(&self, row: usize) -> &[u8] {
        &self.page[self.rows[row].value.clone()]
    }

    /// How many rows at the beginning have a key that `is_before` holds for.
    pub(super) fn partition(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut from, mut to) = (0, self.rows.len());
        while from < to {
            let middle = from + (to - from) / 2;
            if is_before(self.key(middle)) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// The row with `key`.
    pub(super) fn find(&self, key: &[u8]) -> Option<usize> {
        let row = self.partition(|at| at < key);
        (row < self.len() && self.key(row) == key).then_some(row)
    }

    /// The value of a row, read by `read` the first time.
    pub(super) fn read<T: Clone + Send + Sync + 'static>(
        &self,
        row: usize,
        read: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let known = &self.rows[row].read;
        if known.get().is_none() {
            let value = read(self.value(row))?;
            // Another thread may have been quicker, with the same.
            let _ = known.set(Box::new(value));
        }
        known.get()?.downcast_ref::<T>().cloned()
    }
}

/// Writes a table, key by key in order.
pub(super) struct TableWriter {
    sign: Sign,
    kind: Kind,
    /// The page that is not full yet, its first key, and its last.
    page: Vec<u8>,
    first: Vec<u8>,
    last: Vec<u8>,
    count: u32,
    fence: Option<Box<TableWriter>>,
}

impl TableWriter {
    pub(super) fn new(sign: Sign, kind: Kind) -> Self {
        Self { fence: Some(Box::new(Self::of(sign, Kind::Fence))), ..Self::of(sign, kind) }
    }

    fn of(sign: Sign, kind: Kind) -> Self {
        let (page, first, last) = (Vec::new(), Vec::new(), Vec::new());
        Self { sign, kind, page, first, last, count: 0, fence: None }
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        if self.page.is_empty() {
            self.first = key.to_vec();
            self.last.clear();
        }
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_number(&mut self.page, shared as u64);
        put_bytes(&mut self.page, &key[shared..]);
        put_bytes(&mut self.page, value);
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
    }

    /// Adds a key, greater than all before.
    pub(super) fn put(&mut self, pages: &mut Pages, key: &[u8], value: &[u8]) {
        let end = self.page.len();
        self.push(key, value);
        if end > 0 && self.page.len() > PAGE_BYTES {
            self.page.truncate(end);
            self.end_page(pages);
            self.push(key, value);
        }
    }

    fn end_page(&mut self, pages: &mut Pages) {
        if self.page.is_empty() {
            return;
        }
        if let Some(fence) = &mut self.fence {
            fence.push(&self.first, &[]);
        }
        let id = PageId::new(self.sign, self.kind, self.count);
        self.count += 1;
        pages.put(id, mem::take(&mut self.page));
    }

    /// To be called after the last key.
    pub(super) fn end(mut self, pages: &mut Pages) {
        self.end_page(pages);
        if let Some(fence) = self.fence.filter(|_| self.count > 0) {
            pages.put(PageId::new(self.sign, Kind::Fence, self.kind as u32), fence.page);
        }
    }
}

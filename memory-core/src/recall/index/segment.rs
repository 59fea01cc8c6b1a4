use std::{cell::RefCell, collections::HashMap, mem, sync::Arc};

use super::{
    blobs::Blobs,
    cache::Cache,
    page::{Page, PageId, corrupt, open, seal},
    root::Root,
};
use crate::Result;

/// The first byte of the key of a page; the segment's name and the page's id follow.
const PAGE: u8 = 1;

/// A segment whose pages are no larger than this together keeps them in its root: one blob to write,
/// one to read.
const ARCHIVE_BYTES: usize = 8 << 10;

/// What a segment is called: never used again, so that pages may be remembered.
pub(super) type Name = [u8; 16];

/// What is to be put into the map: key and value.
pub(super) type Blob = (Vec<u8>, Vec<u8>);

/// A page and which it is.
pub(super) type Keyed = (PageId, Vec<u8>);

/// Which of a segment's two parts: the documents it adds, or those of older segments that it removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Sign {
    Adds = 0,
    Removes = 1,
}

impl Sign {
    pub(super) const BOTH: [Self; 2] = [Self::Adds, Self::Removes];
}

/// What a part has in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) documents: u32,
    pub(super) length: u64,
    /// Of the shortest document, and of the newest; without meaning if there is none.
    pub(super) min_length: u64,
    pub(super) newest: i64,
    /// Whether no document is newer than one before it.
    pub(super) newest_first: bool,
    /// Whether they are turns, which have pages of places.
    pub(super) of_sessions: bool,
}

pub(super) fn page_key(name: &Name, id: &[u8]) -> Vec<u8> {
    [&[PAGE][..], name, id].concat()
}

/// The keys of the first pages of the segment called `name`, up to `count`.
pub(super) fn page_keys(blobs: &dyn Blobs, name: &Name, count: usize) -> Result<Vec<Vec<u8>>> {
    let (start, end) = (page_key(name, &[]), page_key(name, &[0xff]));
    let mut keys = Vec::new();
    blobs.scan(&start..&end, false, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(keys.len() < count)
    })?;
    Ok(keys)
}

/// The pages of a segment that is being worked out.
pub(super) struct Pages {
    pub(super) name: Name,
    /// Those that may stay in the root; none once they are too many.
    held: Option<Vec<Keyed>>,
    bytes: usize,
    count: u64,
    /// The others, until they are taken to be written.
    ready: Vec<Blob>,
}

impl Pages {
    pub(super) fn new() -> Self {
        let name = *uuid::Uuid::now_v7().as_bytes();
        Self { name, held: Some(Vec::new()), bytes: 0, count: 0, ready: Vec::new() }
    }

    pub(super) fn put(&mut self, id: PageId, page: Vec<u8>) {
        self.count += 1;
        let Some(held) = &mut self.held else { return self.seal(id, page) };
        self.bytes += size_of::<PageId>() + page.len();
        held.push((id, page));
        if self.bytes > ARCHIVE_BYTES {
            for (id, page) in self.held.take().into_iter().flatten() {
                self.seal(id, page);
            }
        }
    }

    fn seal(&mut self, id: PageId, page: Vec<u8>) {
        let key = page_key(&self.name, &id.0);
        let sealed = seal(&key, page);
        self.ready.push((key, sealed));
    }

    /// What is to be written by now.
    pub(super) fn take(&mut self) -> Vec<Blob> {
        mem::take(&mut self.ready)
    }

    /// The root of the segment whose pages these are, all taken.
    pub(super) fn into_root(self, age: u64, totals: [Totals; 2]) -> Root {
        Root::new(age, self.name, totals, self.count, self.held)
    }
}

/// A segment being read.
pub(super) struct Segment<'b> {
    blobs: &'b dyn Blobs,
    pub(super) root: Arc<Root>,
    cache: Option<&'b Cache>,
    /// What is kept where there is no cache.
    own: RefCell<HashMap<PageId, Arc<dyn std::any::Any + Send + Sync>>>,
}

impl<'b> Segment<'b> {
    pub(super) fn new(blobs: &'b dyn Blobs, root: Arc<Root>, cache: Option<&'b Cache>) -> Self {
        Self { blobs, root, cache, own: RefCell::default() }
    }

    /// All segments of an index, whose pages are kept in `cache`, and after them those of `newest`.
    pub(super) fn all(
        blobs: &'b dyn Blobs,
        cache: &'b Cache,
        newest: &'b dyn Blobs,
    ) -> Result<Vec<Self>> {
        let mut segments = Vec::new();
        for (blobs, cache) in [(blobs, Some(cache)), (newest, None)] {
            let roots = Root::all_by(blobs, cache)?;
            segments.extend(roots.into_iter().map(|root| Self::new(blobs, root, cache)));
        }
        Ok(segments)
    }

    /// The error for a page that says what cannot be.
    pub(super) fn damaged(&self) -> crate::Error {
        corrupt(&page_key(&self.root.name, &[]))
    }

    /// The page `id` of the part `sign`; none if there is no such page.
    pub(super) fn page<T: Page>(&self, sign: Sign, id: PageId) -> Result<Option<Arc<T>>> {
        let name = self.root.name;
        let known = match self.cache {
            Some(cache) => cache.get(name, id),
            None => self.own.borrow().get(&id).and_then(|page| page.clone().downcast().ok()),
        };
        if known.is_some() {
            return Ok(known);
        }
        let key = page_key(&name, &id.0);
        let bytes = if self.root.has_pages() {
            self.blobs.get(&key)?.map(|mut sealed| {
                let length = open(&key, &sealed)?.len();
                sealed.truncate(length);
                Ok(sealed)
            })
        } else {
            self.root.archived(id).map(|page| Ok(page.to_vec()))
        };
        let Some(bytes) = bytes.transpose()? else { return Ok(None) };
        let page = T::decode(bytes, self.root.totals(sign)).ok_or_else(|| corrupt(&key))?;
        let (bytes, page) = (page.bytes(), Arc::new(page));
        match self.cache {
            Some(cache) => cache.put(name, id, page.clone(), bytes),
            None => drop(self.own.borrow_mut().insert(id, page.clone())),
        }
        Ok(Some(page))
    }
}

use std::sync::Arc;

use super::{
    blobs::{Blobs, BlobsMut},
    bytes::{Input, put_bytes, put_number, put_signed},
    cache::Cache,
    page::{PageId, corrupt, open, seal},
    segment::{Keyed, Name, Sign, Totals, page_key},
};
use crate::Result;

/// The first byte of the key of a root; the segment's age follows.
const ROOT: u8 = 0;

/// A root: what a segment is, without its pages.
#[derive(Clone, Debug)]
pub(super) struct Root {
    /// Segments are ordered by it; one removes from older ones only.
    pub(super) age: u64,
    pub(super) name: Name,
    totals: [Totals; 2],
    /// How many pages it has.
    pages: u64,
    /// The pages themselves, sorted, if they are few.
    archive: Option<Vec<Keyed>>,
}

/// What stands for the root among a segment's pages in a [`Cache`].
const ID: PageId = PageId([0xff; 6]);

fn root_key(age: u64) -> Vec<u8> {
    [&[ROOT][..], &age.to_be_bytes()].concat()
}

fn age_of(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|age| u64::from_be_bytes(*age))
}

impl Root {
    pub(super) fn new(
        age: u64,
        name: Name,
        totals: [Totals; 2],
        pages: u64,
        mut archive: Option<Vec<Keyed>>,
    ) -> Self {
        if let Some(archive) = &mut archive {
            archive.sort_unstable();
        }
        Self { age, name, totals, pages, archive }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.name.to_vec();
        for totals in &self.totals {
            put_number(&mut bytes, u64::from(totals.documents));
            put_number(&mut bytes, totals.length);
            put_number(&mut bytes, totals.min_length);
            put_signed(&mut bytes, totals.newest);
            bytes.push(u8::from(totals.newest_first) | u8::from(totals.of_sessions) << 1);
        }
        put_number(&mut bytes, self.pages);
        bytes.push(u8::from(self.archive.is_some()));
        for (id, page) in self.archive.iter().flatten() {
            bytes.extend_from_slice(&id.0);
            put_bytes(&mut bytes, page);
        }
        bytes
    }

    fn decode(key: &[u8], sealed: &[u8]) -> Result<Self> {
        let decode = |bytes| {
            let mut input = Input(bytes);
            let name = input.take(16)?.try_into().ok()?;
            let mut totals = [Totals::default(); 2];
            for totals in &mut totals {
                *totals = Totals {
                    documents: input.small()?,
                    length: input.number()?,
                    min_length: input.number()?,
                    newest: input.signed()?,
                    ..Totals::default()
                };
                let flags = input.byte()?;
                (totals.newest_first, totals.of_sessions) = (flags & 1 != 0, flags & 2 != 0);
            }
            let pages = input.number()?;
            let mut archive = (input.byte()? == 1).then(Vec::new);
            while !input.is_empty() {
                let id = PageId(input.take(6)?.try_into().ok()?);
                archive.as_mut()?.push((id, input.bytes()?.to_vec()));
            }
            Some(Self { age: age_of(key)?, name, totals, pages, archive })
        };
        decode(open(key, sealed)?).ok_or_else(|| corrupt(key))
    }

    /// About how much memory it takes.
    fn bytes(&self) -> usize {
        let page = |(_, page): &Keyed| page.len() + size_of::<Keyed>();
        size_of::<Self>() + self.archive.iter().flatten().map(page).sum::<usize>()
    }

    /// All segments, oldest first.
    pub(super) fn all(blobs: &dyn Blobs) -> Result<Vec<Arc<Self>>> {
        Self::all_by(blobs, None)
    }

    /// The same; those that `cache` knows are not read.
    pub(super) fn all_by(blobs: &dyn Blobs, cache: Option<&Cache>) -> Result<Vec<Arc<Self>>> {
        let mut roots = Vec::new();
        blobs.scan(&[ROOT]..&[ROOT + 1], false, &mut |key, sealed| {
            let known = sealed.first_chunk().zip(cache);
            let known = known.and_then(|(name, cache)| cache.get(*name, ID));
            let root = if let Some(known) = known {
                known
            } else {
                let root = Arc::new(Self::decode(key, sealed)?);
                if let Some(cache) = cache {
                    cache.put(root.name, ID, root.clone(), root.bytes());
                }
                root
            };
            roots.push(root);
            Ok(true)
        })?;
        Ok(roots)
    }

    /// What all segments are called, oldest first.
    pub(super) fn names(blobs: &dyn Blobs) -> Result<Vec<Name>> {
        let mut names = Vec::new();
        blobs.scan(&[ROOT]..&[ROOT + 1], false, &mut |key, sealed| {
            names.push(*sealed.first_chunk().ok_or_else(|| corrupt(key))?);
            Ok(true)
        })?;
        Ok(names)
    }

    /// The age after that of the newest segment.
    pub(super) fn next_age(blobs: &dyn Blobs) -> Result<u64> {
        let mut age = 0;
        blobs.scan(&[ROOT]..&[ROOT + 1], true, &mut |key, _| {
            age = age_of(key).map_or(0, |age| age + 1);
            Ok(false)
        })?;
        Ok(age)
    }

    /// Documents added and removed: how much work the segment is.
    pub(super) fn size(&self) -> u64 {
        self.totals.iter().map(|totals| u64::from(totals.documents)).sum()
    }

    pub(super) fn totals(&self, sign: Sign) -> &Totals {
        &self.totals[sign as usize]
    }

    /// A page that is kept here; none if it is not, or none is.
    pub(super) fn archived(&self, id: PageId) -> Option<&[u8]> {
        let archive = self.archive.as_ref()?;
        let at = archive.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(&archive[at].1)
    }

    /// Whether it has pages outside of its root.
    pub(super) fn has_pages(&self) -> bool {
        self.archive.is_none()
    }

    pub(super) fn put(&self, blobs: &mut dyn BlobsMut) -> Result<()> {
        let key = root_key(self.age);
        let sealed = seal(&key, self.encode());
        blobs.put(&key, &sealed)
    }

    /// Reads all pages, to see that they are there and undamaged.
    pub(super) fn check(&self, blobs: &dyn Blobs) -> Result<()> {
        let (start, end) = (page_key(&self.name, &[]), page_key(&self.name, &[0xff]));
        let mut pages = self.archive.as_ref().map_or(0, |archive| archive.len() as u64);
        blobs.scan(&start..&end, false, &mut |key, sealed| {
            pages += 1;
            open(key, sealed).map(|_| true)
        })?;
        if pages == self.pages { Ok(()) } else { Err(corrupt(&root_key(self.age))) }
    }

    /// Takes the segment out of the list. Its pages are left.
    pub(super) fn unlist(&self, blobs: &mut dyn BlobsMut) -> Result<()> {
        blobs.delete(&root_key(self.age))
    }
}

use super::{
    blobs::BlobsMut,
    root::Root,
    segment::{Blob, Pages, Totals},
};
use crate::Result;

/// A segment that was worked out and is to be written.
pub(super) struct Draft {
    pages: Vec<Blob>,
    root: Root,
}

impl Draft {
    pub(super) fn new(mut pages: Pages, totals: [Totals; 2]) -> Self {
        Self { pages: pages.take(), root: pages.into_root(0, totals) }
    }

    /// Writes it as the newest segment.
    pub(super) fn put(mut self, blobs: &mut dyn BlobsMut) -> Result<()> {
        put_all(blobs, &self.pages)?;
        self.root.age = Root::next_age(&*blobs)?;
        self.root.put(blobs)
    }
}

/// Writes pages as they are.
pub(super) fn put_all(blobs: &mut dyn BlobsMut, pages: &[Blob]) -> Result<()> {
    pages.iter().try_for_each(|(key, page)| blobs.put(key, page))
}

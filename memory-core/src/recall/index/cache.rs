use std::{any::Any, sync::Arc};

use foldhash::fast::RandomState;
use quick_cache::{Weighter, sync};

use super::{page::PageId, segment::Name};

/// Pages that were read, for the searches to come. Segments never change, so what was read once is
/// right as long as the segment is there.
#[derive(Debug)]
pub struct Cache(sync::Cache<(Name, PageId), Cached, ByBytes, RandomState>);

#[derive(Clone, Debug)]
struct Cached {
    page: Arc<dyn Any + Send + Sync>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<(Name, PageId), Cached> for ByBytes {
    fn weight(&self, _: &(Name, PageId), cached: &Cached) -> u64 {
        cached.bytes as u64
    }
}

/// About how large a page is in memory.
const PAGE_BYTES: usize = 4 << 10;

impl Cache {
    /// A cache that takes about `bytes` of memory at most.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let (hasher, lifecycle) = (RandomState::default(), sync::DefaultLifecycle::default());
        Self(sync::Cache::with(bytes / PAGE_BYTES, bytes as u64, ByBytes, hasher, lifecycle))
    }

    pub(super) fn get<T: Any + Send + Sync>(&self, name: Name, id: PageId) -> Option<Arc<T>> {
        self.0.get(&(name, id))?.page.downcast().ok()
    }

    pub(super) fn has(&self, name: Name, id: PageId) -> bool {
        self.0.get(&(name, id)).is_some()
    }

    pub(super) fn put<T: Any + Send + Sync>(
        &self,
        name: Name,
        id: PageId,
        page: Arc<T>,
        bytes: usize,
    ) {
        self.0.insert((name, id), Cached { page, bytes: bytes + 64 });
    }
}

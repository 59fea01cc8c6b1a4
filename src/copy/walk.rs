use std::{
    future::{poll_fn, ready},
    pin::Pin,
    task::Poll,
};

use crate::{Cursor, MemoryBackend, Page, Record, RecordKind, Result, Scan};

/// How many records are read at a time.
const PAGE: usize = 500;

/// The records of one kind in a store, one after another in order of insertion. While a page is used,
/// the store reads the next one.
pub(super) struct Walk<'s> {
    store: &'s dyn MemoryBackend,
    kind: RecordKind,
    page: std::vec::IntoIter<Record>,
    /// What reads the next page, if there is one.
    next: Option<Read<'s>>,
}

type Read<'s> = Pin<Box<dyn Future<Output = Result<Page<Record>>> + Send + 's>>;

impl<'s> Walk<'s> {
    pub(super) fn new(store: &'s dyn MemoryBackend, kind: RecordKind) -> Self {
        let next = Some(read(store, kind, None));
        Self { store, kind, page: Vec::new().into_iter(), next }
    }

    pub(super) fn kind(&self) -> RecordKind {
        self.kind
    }

    pub(super) async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.page.next() {
                return Ok(Some(record));
            }
            let Some(read_next) = self.next.take() else { return Ok(None) };
            let page = read_next.await?;
            self.page = page.items.into_iter();
            if page.next.is_some() {
                self.next = Some(begun(read(self.store, self.kind, page.next)).await);
            }
        }
    }
}

fn read(store: &dyn MemoryBackend, kind: RecordKind, after: Option<Cursor>) -> Read<'_> {
    Box::pin(async move {
        let mut scan = Scan::new(kind).limit(PAGE);
        scan.after = after;
        store.scan(&scan).await
    })
}

/// A store begins to read when it is asked, and goes on by itself.
async fn begun(mut read: Read<'_>) -> Read<'_> {
    match poll_fn(|context| Poll::Ready(read.as_mut().poll(context))).await {
        Poll::Ready(page) => Box::pin(ready(page)),
        Poll::Pending => read,
    }
}

use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
};

use super::{
    blobs::BlobsMut,
    document::Analysed,
    lists::Lists,
    part_writer::PartWriter,
    root::Root,
    segment::{Pages, Sign, Totals},
};
use crate::{RecordKind, Result};

/// What a commit does to the index of a kind of record, gathered document by document.
#[derive(Debug, Default)]
pub struct Changes {
    removed: Documents,
    added: Documents,
}

/// By workspace and place.
type Documents = BTreeMap<(String, (u64, u64)), Analysed>;

impl Changes {
    /// A document is there from now on. One that is revised is removed first.
    pub fn add(&mut self, document: Analysed) {
        self.added.insert(key(&document), document);
    }

    /// A document as it was added is there no more.
    pub fn remove(&mut self, document: Analysed) {
        let key = key(&document);
        // What the same commit added was never there; what it removed before is the older one.
        if self.added.remove(&key).is_none()
            && let Entry::Vacant(place) = self.removed.entry(key)
        {
            place.insert(document);
        }
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// Writes the changes as the newest segment.
    pub(super) fn write(&mut self, blobs: &mut dyn BlobsMut, kind: RecordKind) -> Result<()> {
        let mut pages = Pages::new();
        let added = write(&mut pages, blobs, Sign::Adds, kind, &mem::take(&mut self.added))?;
        let removed = mem::take(&mut self.removed);
        let removed = write(&mut pages, blobs, Sign::Removes, kind, &removed)?;
        let age = Root::next_age(&*blobs)?;
        pages.into_root(age, [added, removed]).put(blobs)
    }
}

fn key(document: &Analysed) -> (String, (u64, u64)) {
    (document.workspace.as_str().to_owned(), document.values.place)
}

fn write(
    pages: &mut Pages,
    blobs: &mut dyn BlobsMut,
    sign: Sign,
    kind: RecordKind,
    documents: &Documents,
) -> Result<Totals> {
    let mut writer = PartWriter::new(sign, kind);
    let mut lists = Lists::default();
    for (ordinal, ((workspace, _), document)) in (0..).zip(documents) {
        writer.document(pages, blobs, workspace, document.values.clone())?;
        for (term, role) in document.terms.iter() {
            lists.add(term, role, ordinal);
        }
    }
    writer.end_documents(pages, blobs)?;
    let lists = lists.sorted();
    lists.iter().try_for_each(|(term, postings)| writer.term(pages, blobs, term, postings))?;
    writer.end(pages, blobs)
}

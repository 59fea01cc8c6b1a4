use std::{
    collections::{BTreeMap, btree_map::Entry},
    mem,
};

use super::{
    document::Analysed,
    draft::Draft,
    lists::Lists,
    part_writer::PartWriter,
    segment::{Pages, Sign, Totals},
};
use crate::RecordKind;

/// What a commit does to the index of a kind of record, gathered document by document.
#[derive(Debug, Default)]
pub struct Changes {
    removed: Documents,
    added: Documents,
    bytes: usize,
}

/// By workspace and place.
type Documents = BTreeMap<(String, (u64, u64)), Analysed>;

impl Changes {
    /// A document is there from now on. One that is revised is removed first.
    pub fn add(&mut self, document: Analysed) {
        self.bytes += document.bytes();
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

    /// About how much memory the documents take that were added.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// The segment that they are, if there are any. None are left.
    pub(super) fn take(&mut self, kind: RecordKind) -> Option<Draft> {
        if self.is_empty() {
            return None;
        }
        self.bytes = 0;
        let mut pages = Pages::new();
        let added = write(&mut pages, Sign::Adds, kind, &mem::take(&mut self.added));
        let removed = write(&mut pages, Sign::Removes, kind, &mem::take(&mut self.removed));
        Some(Draft::new(pages, [added, removed]))
    }
}

fn key(document: &Analysed) -> (String, (u64, u64)) {
    (document.workspace.as_str().to_owned(), document.values.place)
}

fn write(pages: &mut Pages, sign: Sign, kind: RecordKind, documents: &Documents) -> Totals {
    let mut writer = PartWriter::new(sign, kind);
    let mut lists = Lists::default();
    for (ordinal, ((workspace, _), document)) in (0..).zip(documents) {
        writer.document(pages, workspace, document.values.clone());
        for (term, role) in document.terms.iter() {
            lists.add(term, role, ordinal);
        }
    }
    writer.end_documents(pages);
    lists.sorted().iter().for_each(|(term, postings)| writer.term(pages, term, postings));
    writer.end(pages)
}

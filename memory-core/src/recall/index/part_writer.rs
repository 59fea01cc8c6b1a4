use std::{collections::HashMap, mem};

use sha2::{Digest as _, Sha256};

use super::{
    block::BLOCK_POSTINGS,
    bytes::put_number,
    document::is_uncounted,
    lengths::{self, Lengths},
    page::{Kind, PageId},
    part::Stretch,
    places::{self, PlacesWriter},
    postings::{Posting, Term},
    segment::{Pages, Sign, Totals},
    table::TableWriter,
    values::{BLOCK, Values, ValuesBlock},
};
use crate::RecordKind;

/// Writes a part of a segment: all documents in the order of their places, then all terms bytewise.
pub(super) struct PartWriter {
    sign: Sign,
    totals: Totals,
    /// Those of the block that is not full yet.
    values: Vec<Values>,
    /// The page that is not full yet.
    places: PlacesWriter,
    /// Length, creation time and openness of each document.
    measures: Vec<(u64, i64, bool)>,
    workspace: Option<(String, Stretch)>,
    workspaces: TableWriter,
    /// Key, first ordinal and number of documents.
    directory: Vec<(u64, u32, u32)>,
    dictionary: TableWriter,
    /// What it has of a term, while that is written.
    value: Vec<u8>,
    chunks: u32,
    /// What the dictionary has of terms with chunks, by the digest of the documents they are in: a token
    /// or word that is in the same ones has the same chunks.
    shared: HashMap<[u8; 32], Vec<u8>>,
}

impl PartWriter {
    pub(super) fn new(sign: Sign, kind: RecordKind) -> Self {
        Self {
            sign,
            totals: Totals {
                min_length: u64::MAX,
                newest: i64::MIN,
                newest_first: true,
                of_sessions: kind == RecordKind::Turn,
                ..Totals::default()
            },
            values: Vec::new(),
            places: PlacesWriter::default(),
            measures: Vec::new(),
            workspace: None,
            workspaces: TableWriter::new(sign, Kind::Workspaces),
            directory: Vec::new(),
            dictionary: TableWriter::new(sign, Kind::Dictionary),
            value: Vec::new(),
            chunks: 0,
            shared: HashMap::new(),
        }
    }

    /// Adds the next document; its ordinal is the number of those before.
    pub(super) fn document(&mut self, pages: &mut Pages, workspace: &str, values: Values) {
        let ordinal = self.totals.documents;
        let is_newer = |last: &(u64, i64, bool)| last.1 < values.created_at;
        let is_newer = self.measures.last().is_some_and(is_newer);
        if self.workspace.as_ref().is_none_or(|(current, _)| current != workspace) {
            self.end_workspace(pages);
            let stretch = Stretch { ordinals: ordinal..ordinal, ..Stretch::NONE };
            self.workspace = Some((workspace.to_owned(), stretch));
        } else if let Some((_, stretch)) = &mut self.workspace {
            stretch.newest_first &= !is_newer;
        }
        if let Some((_, stretch)) = &mut self.workspace {
            stretch.ordinals.end += 1;
            stretch.length += values.length;
        }
        self.totals.newest_first &= !is_newer;
        // It is of sessions among added turns, and of the documents themselves among removed ones.
        let by_session = self.totals.of_sessions && self.sign == Sign::Adds;
        let key = if by_session { values.place.0 } else { values.number };
        match self.directory.last_mut() {
            Some((last, _, count)) if by_session && *last == key => *count += 1,
            _ if by_session || self.sign == Sign::Removes => {
                self.directory.push((key, ordinal, 1));
            }
            _ => {}
        }
        self.totals.documents += 1;
        self.totals.length += values.length;
        self.totals.min_length = self.totals.min_length.min(values.length);
        self.totals.newest = self.totals.newest.max(values.created_at);
        self.measures.push((values.length, values.created_at, values.open));
        if self.totals.of_sessions && self.places.put(values.place, values.asks) {
            self.end_places(pages);
        }
        self.values.push(values);
        if self.values.len() == BLOCK as usize {
            self.end_values(pages);
        }
    }

    fn end_workspace(&mut self, pages: &mut Pages) {
        if let Some((name, stretch)) = self.workspace.take() {
            self.workspaces.put(pages, name.as_bytes(), &stretch.encode());
        }
    }

    fn end_values(&mut self, pages: &mut Pages) {
        if self.values.is_empty() {
            return;
        }
        let number = (self.totals.documents - 1) / BLOCK;
        let page = ValuesBlock::encode(&self.values);
        self.values.clear();
        pages.put(PageId::new(self.sign, Kind::Values, number), page);
    }

    fn end_places(&mut self, pages: &mut Pages) {
        if self.places.is_empty() {
            return;
        }
        let number = (self.totals.documents - 1) / places::DOCUMENTS;
        let page = mem::take(&mut self.places).encode();
        pages.put(PageId::new(self.sign, Kind::Places, number), page);
    }

    /// To be called after the last document and before the first term.
    pub(super) fn end_documents(&mut self, pages: &mut Pages) {
        self.end_workspace(pages);
        self.end_values(pages);
        self.end_places(pages);
        for (number, measures) in (0..).zip(self.measures.chunks(lengths::DOCUMENTS as usize)) {
            let page = Lengths::encode(measures.iter().map(|(length, _, _)| *length));
            pages.put(PageId::new(self.sign, Kind::Lengths, number), page);
        }
        let mut directory = mem::take(&mut self.directory);
        directory.sort_unstable();
        let mut table = TableWriter::new(self.sign, Kind::Directory);
        for (key, ordinal, count) in directory {
            let mut value = Vec::new();
            put_number(&mut value, u64::from(ordinal));
            put_number(&mut value, u64::from(count));
            table.put(pages, &key.to_be_bytes(), &value);
        }
        table.end(pages);
    }

    /// Adds the next term with its postings, at least one, in order.
    pub(super) fn term(&mut self, pages: &mut Pages, term: &[u8], postings: &[Posting]) {
        let digest = (postings.len() > BLOCK_POSTINGS).then(|| digest(postings));
        let shared = digest.filter(|_| is_uncounted(term));
        if let Some(value) = shared.and_then(|digest| self.shared.get(&digest)) {
            return self.dictionary.put(pages, term, value);
        }
        let Self { sign, measures, chunks, value, .. } = self;
        let measure = |ordinal: u32| measures[ordinal as usize];
        value.clear();
        Term::encode(value, postings, self.totals.newest, &measure, |chunk| {
            let number = *chunks;
            *chunks += 1;
            pages.put(PageId::new(*sign, Kind::Chunk, number), chunk);
            number
        });
        self.dictionary.put(pages, term, value);
        if let Some(digest) = digest {
            self.shared.entry(digest).or_insert_with(|| value.clone());
        }
    }

    /// To be called after the last term.
    pub(super) fn end(self, pages: &mut Pages) -> Totals {
        self.workspaces.end(pages);
        self.dictionary.end(pages);
        self.totals
    }
}

/// A digest of the documents that postings are of.
fn digest(postings: &[Posting]) -> [u8; 32] {
    let ordinals = postings.iter().flat_map(|posting| posting.ordinal.to_le_bytes());
    Sha256::digest(ordinals.collect::<Vec<u8>>()).into()
}

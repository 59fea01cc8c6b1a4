use sha2::{Digest as _, Sha256};

use super::{values::Values, words::for_each_word};
use crate::{
    RecordKind, Workspace,
    recall::{Analyzer, Document, overlap::for_each_overlap_token, speech::asks},
};

/// Longer terms are kept by their beginning and a hash, so that keys stay short.
const MAX_TERM_BYTES: usize = 120;

/// A term of [`Scorer::Bm25`](crate::recall::Scorer::Bm25) as the dictionary knows it.
pub(super) fn term_key(term: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + term.len());
    push_key(&mut key, TERM, term);
    key
}

/// A token of [`Scorer::Overlap`](crate::recall::Scorer::Overlap) as the dictionary knows it.
pub(super) fn token_key(token: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + token.len());
    push_key(&mut key, TOKEN, token);
    key
}

/// What the key of a short term begins with, and that of a long one. Those of terms come first, so that
/// the postings of a token or a word can be those of a term.
type Prefixes = [u8; 2];
const TERM: Prefixes = *b"aA";
const TOKEN: Prefixes = *b"oO";

/// What the keys of the words begin with by which [`find`](super::find()) finds, the last of all keys.
pub(super) const WORD: u8 = b'w';

/// The key of documents with words that are too long for keys.
pub(super) const LONG_WORDS: &[u8] = b"W";

/// Whether it is not counted how often what a key stands for is in a document.
pub(super) fn is_uncounted(key: &[u8]) -> bool {
    let is_first = |first: &u8| TOKEN.contains(first) || *first == WORD || LONG_WORDS[0] == *first;
    key.first().is_some_and(is_first)
}

fn push_key(to: &mut Vec<u8>, [short, long]: Prefixes, term: &str) {
    let bytes = term.as_bytes();
    match bytes.get(..MAX_TERM_BYTES) {
        Some(beginning) if bytes.len() > MAX_TERM_BYTES => {
            to.push(long);
            to.extend_from_slice(beginning);
            to.extend_from_slice(&Sha256::digest(bytes));
        }
        _ => {
            to.push(short);
            to.extend_from_slice(bytes);
        }
    }
}

/// A document in analysed form, as the index takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysed {
    pub(super) workspace: Workspace,
    pub(super) values: Values,
    pub(super) terms: Occurrences,
}

/// What a term is in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It occurs once more.
    Counted,
    /// It occurs, however often.
    There,
    /// It names the speaker, if it occurs.
    Label,
}

/// Terms of a document, as often as they occur. Labels come after what occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Occurrences {
    keys: Vec<u8>,
    /// Where each key ends.
    ends: Vec<(usize, Role)>,
}

impl Occurrences {
    /// With room for what texts of so many bytes mostly have.
    fn of(bytes: usize) -> Self {
        Self { keys: Vec::with_capacity(2 * bytes), ends: Vec::with_capacity(bytes / 3) }
    }

    fn push_key(&mut self, key: &[u8], role: Role) {
        self.keys.extend_from_slice(key);
        self.ends.push((self.keys.len(), role));
    }

    fn push(&mut self, prefixes: Prefixes, term: &str, role: Role) {
        push_key(&mut self.keys, prefixes, term);
        self.ends.push((self.keys.len(), role));
    }

    fn bytes(&self) -> usize {
        self.keys.capacity() + self.ends.capacity() * size_of::<(usize, Role)>()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], Role)> {
        let mut start = 0;
        self.ends.iter().map(move |(end, role)| {
            let key = &self.keys[start..*end];
            start = *end;
            (key, *role)
        })
    }
}

impl Analysed {
    /// Analyses the record `number` of `kind`. `session` is the number of the session of a turn, and
    /// the turn's index in it; `role` is a turn's. Of `document`, its session and eligibility are not
    /// looked at.
    #[must_use]
    pub fn new(
        kind: RecordKind,
        number: u64,
        workspace: &Workspace,
        document: &Document<'_>,
        turn: Option<((u64, u64), &str)>,
        analyzer: &Analyzer,
    ) -> Self {
        let text = document.readable();
        let mut terms = Occurrences::of(text.iter().map(|part| part.len()).sum());
        let mut counted = |term: &str| terms.push(TERM, term, Role::Counted);
        let length = analyzer.for_each_document_term(&text, &mut counted);
        if has_tokens(kind) {
            for part in &*text {
                for_each_overlap_token(part, &mut |token| terms.push(TOKEN, token, Role::There));
            }
        }
        analyzer.for_each_label_term(&text, &mut |term| terms.push(TERM, term, Role::Label));
        let values = Values {
            number,
            place: turn.map_or((!number, 0), |(place, _)| place),
            created_at: document.created_at,
            length,
            open: document.open,
            asks: asks(&text),
            role: turn.map_or_else(String::new, |(_, role)| role.to_owned()),
        };
        Self { workspace: workspace.clone(), values, terms }
    }

    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.terms.bytes()
    }

    /// Makes it to be found by [`find`](super::find()), too; `document` is the same.
    #[must_use]
    pub fn with_words(mut self, document: &Document<'_>) -> Self {
        let readable = document.readable();
        // What is not read may have any word.
        if readable.iter().zip(document.text).any(|(read, part)| read.len() < part.len()) {
            self.terms.push_key(LONG_WORDS, Role::There);
        }
        for part in &*readable {
            for_each_word(part, &mut |word| {
                if word.len() > MAX_TERM_BYTES {
                    self.terms.push_key(LONG_WORDS, Role::There);
                } else {
                    self.terms.push_key(&[&[WORD], word.as_bytes()].concat(), Role::There);
                }
            });
        }
        self
    }
}

/// Whether documents of a kind are found by [`Scorer::Overlap`](crate::recall::Scorer::Overlap), too.
/// Only episodes are ranked by it unless somebody asks for it; the others are then scanned.
pub(super) fn has_tokens(kind: RecordKind) -> bool {
    kind == RecordKind::Episode
}

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;
use rust_stemmers::Stemmer;
use smallvec::SmallVec;
use unicode_normalization::UnicodeNormalization as _;

use super::fold::{fold_accents, fold_case};
use super::irregular;
use super::language::Language;
use super::speech::{asks, speaker_label};
use super::stop_words;
use super::token::{Token, TokenKind, for_each_token};

/// Turns text into the terms of [`Scorer::Bm25`](super::Scorer::Bm25) and
/// [`Scorer::Context`](super::Scorer::Context).
///
/// Words are cut at Unicode word characters, folded in case and accents and stemmed. Identifiers,
/// paths and hyphenated words give their parts and, beside them, their whole form, so that a query
/// for either finds them. Scripts without spaces, and Hangul, give two-character grams (and single
/// characters, for a query of one). Emoji are terms; other punctuation is not.
///
/// The *length* of a text is the number of its parts and grams: whole forms and single characters
/// stand where their parts stand and add nothing. So `atomic_write_json` is three long, like the
/// words it is made of, and a text is not pushed down for being findable in more ways.
pub struct Analyzer {
    language: Language,
    stemmer: Option<Stemmer>,
    /// The terms of words that were met before, if they are remembered.
    known: Option<Mutex<HashMap<Word, Word, RandomState>>>,
}

/// How many words are remembered: most of what people write is made of fewer.
const MAX_KNOWN: usize = 1 << 16;

/// A word or its term, in place: to follow a pointer costs more than to compare.
type Word = SmallVec<[u8; MAX_KNOWN_BYTES]>;

/// Longer words are not remembered.
const MAX_KNOWN_BYTES: usize = 24;

/// The terms of one document, as an index stores them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentTerms {
    /// Length in parts and grams; see [`Analyzer`].
    pub length: u64,
    /// How often each term occurs.
    pub counts: BTreeMap<String, u32>,
    /// Those of its terms that name the speaker, if its first part begins like a line of a
    /// transcript (`Anna: …`). [`Scorer::Context`](super::Scorer::Context) weighs them.
    pub label: BTreeSet<String>,
    /// Whether a part of it ends with a question, for the same purpose.
    pub asks: bool,
}

impl Analyzer {
    /// An analyzer for texts in `language`.
    #[must_use]
    pub fn new(language: Language) -> Self {
        Self { language, stemmer: language.stemmer(), known: None }
    }

    /// The same that remembers words, for whoever analyses many documents.
    #[must_use]
    pub fn remembering(language: Language) -> Self {
        Self { known: Some(Mutex::default()), ..Self::new(language) }
    }

    /// The language it stems.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// The terms of a document made of `parts`, with their counts.
    #[must_use]
    pub fn document_terms(&self, parts: &[&str]) -> DocumentTerms {
        let mut terms = DocumentTerms { asks: asks(parts), ..DocumentTerms::default() };
        terms.length = self.for_each_document_term(parts, &mut |term| {
            if let Some(count) = terms.counts.get_mut(term) {
                *count = count.saturating_add(1);
            } else {
                terms.counts.insert(term.to_owned(), 1);
            }
        });
        self.for_each_label_term(parts, &mut |term| {
            terms.label.insert(term.to_owned());
        });
        terms
    }

    /// Calls `emit` with every occurrence of a term in a document. Returns the document's length.
    pub(super) fn for_each_document_term(
        &self,
        parts: &[&str],
        emit: &mut impl FnMut(&str),
    ) -> u64 {
        let mut length = 0;
        for part in parts {
            for_each_token(&compose(part), &mut |token| {
                length += token.length();
                self.for_each_term(token, emit);
            });
        }
        length
    }

    /// Calls `emit` with the terms that name the speaker; see [`DocumentTerms::label`].
    pub(super) fn for_each_label_term(&self, parts: &[&str], emit: &mut impl FnMut(&str)) {
        if let Some(label) = parts.first().and_then(|part| speaker_label(part)) {
            for_each_token(&compose(label), &mut |token| self.for_each_term(token, emit));
        }
    }

    /// The distinct terms of a query in byte order, without stop words unless it has nothing else.
    #[must_use]
    pub fn query_terms(&self, query: &str) -> Vec<String> {
        let mut stop = Vec::new();
        let mut content = Vec::new();
        for_each_token(&compose(query), &mut |token| {
            if token.kind != TokenKind::Single {
                let terms = if self.is_stop_word(token) { &mut stop } else { &mut content };
                self.for_each_term(token, &mut |term| terms.push(term.to_owned()));
            }
        });
        let mut terms = if content.is_empty() { stop } else { content };
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    fn is_stop_word(&self, token: Token<'_>) -> bool {
        self.language == Language::English
            && token.kind == TokenKind::Word
            && stop_words::is_english(&fold_accents(token.text))
    }

    /// Calls `emit` with the terms that `token` is indexed under: one, or two where the stem of an
    /// accented word differs from the stem of the same word typed without accents.
    pub(super) fn for_each_term(&self, token: Token<'_>, emit: &mut impl FnMut(&str)) {
        let known = self.known.as_ref().filter(|_| {
            // These have one term each.
            token.kind == TokenKind::Word
                && token.text.len() <= MAX_KNOWN_BYTES
                && token.text.bytes().all(|b| b.is_ascii_lowercase())
        });
        let Some(known) = known else { return self.for_each_new_term(token, emit) };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let word = token.text.as_bytes();
        if let Some(term) = known.get(word).and_then(|term| std::str::from_utf8(term).ok()) {
            return emit(term);
        }
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        self.for_each_new_term(token, &mut |term| {
            known.insert(word.into(), term.as_bytes().into());
            emit(term);
        });
    }

    fn for_each_new_term(&self, token: Token<'_>, emit: &mut impl FnMut(&str)) {
        let folded = fold_accents(token.text);
        let stemmer = match (&self.stemmer, token.kind) {
            (Some(stemmer), TokenKind::Word | TokenKind::Whole)
                if folded.len() <= MAX_TERM_BYTES && folded.chars().all(char::is_alphabetic) =>
            {
                stemmer
            }
            _ => return emit_bounded(&folded, emit),
        };
        let base =
            if self.language == Language::English { irregular::base(&folded) } else { &folded };
        let plain = stemmer.stem(base);
        emit_bounded(&plain, emit);
        if !token.text.is_ascii() {
            let accented = fold_accents(&stemmer.stem(&fold_case(token.text)));
            if accented != plain {
                emit_bounded(&accented, emit);
            }
        }
    }
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Analyzer").field("language", &self.language).finish_non_exhaustive()
    }
}

impl Clone for Analyzer {
    fn clone(&self) -> Self {
        Self { known: self.known.as_ref().map(|_| Mutex::default()), ..Self::new(self.language) }
    }
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new(Language::default())
    }
}

impl Token<'_> {
    pub(super) fn length(self) -> u64 {
        u64::from(matches!(self.kind, TokenKind::Word | TokenKind::Gram))
    }
}

/// `text` in NFKC, in which the tokens of [`for_each_token`] are defined.
pub(super) fn compose(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfkc().collect()) }
}

/// A longer term is cut to this many bytes, in documents and queries alike, so that it fits the
/// keys of every storage engine and is still found.
const MAX_TERM_BYTES: usize = 128;

fn emit_bounded(term: &str, emit: &mut impl FnMut(&str)) {
    let term = &term[..term.floor_char_boundary(MAX_TERM_BYTES)];
    if !term.is_empty() {
        emit(term);
    }
}

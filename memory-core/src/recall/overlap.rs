//! The tokens of [`Scorer::Overlap`](super::Scorer::Overlap).

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization as _;
use unicode_segmentation::UnicodeSegmentation as _;

use super::fold::fold_case;
use super::grams::{for_each_gram, split_run};

/// Words that the reference drops.
const STOP_WORDS: [&str; 20] = [
    "and", "are", "can", "design", "does", "explain", "for", "from", "how", "into", "that", "the",
    "this", "what", "when", "which", "while", "why", "with", "without",
];

/// The distinct tokens by which [`Scorer::Overlap`](super::Scorer::Overlap) compares texts.
///
/// - The tokens of `MuseEngine`'s `MemoryStore`: the whole text lower-cased (full Unicode, as
///   Python's `str.lower`), then every leftmost-longest `[a-z][a-z0-9-]{2,}`, without its
///   twenty stop words. On ASCII text there are no others.
/// - Each Unicode word (UAX #29) with a non-ASCII letter, in composed and case-folded form, of
///   any length. Stretches in scripts without spaces, and Hangul, give two-character grams
///   instead; a single character is a gram by itself.
#[must_use]
pub fn overlap_tokens(text: &str) -> BTreeSet<String> {
    let mut tokens = BTreeSet::new();
    for_each_overlap_token(text, &mut |token| {
        if !tokens.contains(token) {
            tokens.insert(token.to_owned());
        }
    });
    tokens
}

/// Calls `emit` with every token of `text`, repetitions included.
pub(super) fn for_each_overlap_token(text: &str, emit: &mut impl FnMut(&str)) {
    if text.is_ascii() {
        for_each_reference_token(&text.to_ascii_lowercase(), emit);
    } else {
        for_each_reference_token(&text.to_lowercase(), emit);
        for_each_unicode_token(&text.nfc().collect::<String>(), emit);
    }
}

fn for_each_reference_token(lowered: &str, emit: &mut impl FnMut(&str)) {
    let bytes = lowered.as_bytes();
    let mut start = 0;
    while start < bytes.len() {
        if !bytes[start].is_ascii_lowercase() {
            start += 1;
            continue;
        }
        let length = bytes[start..]
            .iter()
            .take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || **b == b'-')
            .count();
        let token = &lowered[start..start + length];
        if length >= 3 && STOP_WORDS.binary_search(&token).is_err() {
            emit(token);
        }
        // A shorter run cannot match from a later letter either: it would be shorter still.
        start += length;
    }
}

fn for_each_unicode_token(composed: &str, emit: &mut impl FnMut(&str)) {
    let mut rest = composed;
    while !rest.is_empty() {
        let (run, after) = split_run(rest, true);
        for_each_gram(run, |gram| emit(&fold_case(gram)));
        let (other, after) = split_run(after, false);
        for word in other.unicode_words() {
            if word.chars().any(|c| !c.is_ascii() && c.is_alphabetic()) {
                emit(&fold_case(word));
            }
        }
        rest = after;
    }
}

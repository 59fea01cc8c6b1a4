//! Splits text into the words, identifier parts and grams that become terms.

use unicode_normalization::char::is_combining_mark;

use super::fold::is_joiner;
use super::grams::{for_each_gram, is_gram_char, split_run};

/// A piece of a text, case and accents still as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) kind: TokenKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A word or a part of an identifier: one unit of document length.
    Word,
    /// A compound that stands beside its parts: no length of its own.
    Whole,
    /// Two characters of a script without spaces, or a pictograph: one unit of length.
    Gram,
    /// One character of a longer run, so that a query of one character finds it: no length.
    Single,
}

/// Calls `emit` with every token of `text`, in order, which should be in NFKC.
///
/// - A *part* is a stretch of letters, digits and marks, cut where an identifier is: `camelCase`,
///   `HTTPServer`, `sha256`, `64bit`.
/// - A *name* is parts joined by nothing, `-` or `_`. Its whole form is closed up, so that
///   `e-mail` is `email` and `get_user_id` is `getUserId`; between digits the joint stays.
///   Trailing `+` and `#` make one more form: `C++`, `c#`.
/// - A *chain* is names joined by one of `. / \ : @ &`, kept in its whole form: `GB/s`, `x:y`,
///   `src/main.rs`, `v1.2.3`.
/// - An apostrophe before one or two letters closes up (`don't` is `dont`) or, before `s`, goes
///   with it (`Anna's`); before a longer part it is a joint without a trace (`l'homme`).
pub(super) fn for_each_token(text: &str, emit: &mut impl FnMut(Token<'_>)) {
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if is_gram_char(c) {
            let (run, after) = split_run(rest, true);
            emit_grams(run, emit);
            rest = after;
        } else if let Some(end) = plain_word(rest) {
            emit(Token { text: &rest[..end], kind: TokenKind::Word });
            rest = &rest[end..];
        } else if c.is_alphanumeric() {
            rest = Chain::default().read(rest, emit);
        } else {
            let (skipped, after) = rest.split_at(c.len_utf8());
            if is_pictograph(c) {
                emit(Token { text: skipped, kind: TokenKind::Gram });
            }
            rest = after;
        }
    }
}

/// Length of the ASCII word at the start of `text` if it plainly is not part of a compound: most
/// words are, and need no buffers.
fn plain_word(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = usize::from(bytes[0].is_ascii_alphabetic());
    let end = first + bytes[first..].iter().take_while(|b| b.is_ascii_lowercase()).count();
    let ends_word = |at: usize| bytes.get(at).is_none_or(|b| b" \n\t\r,;!?()\"".contains(b));
    (end > 0 && (ends_word(end) || bytes[end] == b'.' && ends_word(end + 1))).then_some(end)
}

fn emit_grams(run: &str, emit: &mut impl FnMut(Token<'_>)) {
    for_each_gram(run, |text| emit(Token { text, kind: TokenKind::Gram }));
    if run.chars().nth(1).is_some() {
        for (at, c) in run.char_indices() {
            emit(Token { text: &run[at..at + c.len_utf8()], kind: TokenKind::Single });
        }
    }
}

/// Emoji and the symbols that are used like them: somebody may well search for one.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || !c.is_ascii()
            && !is_gram_char(c)
            && (c.is_alphanumeric() || is_combining_mark(c) || is_joiner(c))
}

/// The compound under construction.
#[derive(Default)]
struct Chain {
    whole: String,
    name: String,
    names: usize,
    parts_of_name: usize,
}

impl Chain {
    /// Reads the chain at the start of `text`, which begins with a letter or digit; returns what
    /// follows it.
    fn read<'a>(mut self, text: &'a str, emit: &mut impl FnMut(Token<'_>)) -> &'a str {
        let mut rest = text;
        loop {
            rest = self.read_name(rest, emit);
            self.names += 1;
            push_bounded(&mut self.whole, &self.name);
            let symbols = rest.len() - rest.trim_start_matches(['+', '#']).len();
            if symbols > 0 {
                push_bounded(&mut self.name, &rest[..symbols]);
                emit(Token { text: &self.name, kind: TokenKind::Whole });
                rest = &rest[symbols..];
                break;
            }
            let Some((joint, after)) = split_joint(rest, is_chain_joint) else {
                break;
            };
            push_bounded(&mut self.whole, joint);
            rest = after;
        }
        if self.names > 1 {
            emit(Token { text: &self.whole, kind: TokenKind::Whole });
        }
        rest
    }

    fn read_name<'a>(&mut self, text: &'a str, emit: &mut impl FnMut(Token<'_>)) -> &'a str {
        self.name.clear();
        self.parts_of_name = 0;
        let mut rest = text;
        loop {
            rest = self.read_run(rest, emit);
            let (after, keep) = if let Some((joint, after)) = split_joint(rest, is_name_joint) {
                let between_digits = self.name.ends_with(|c: char| c.is_ascii_digit())
                    && after.starts_with(|c: char| c.is_ascii_digit());
                (after, if between_digits { joint } else { "" })
            } else if let Some((_, after)) = split_joint(rest, is_apostrophe) {
                (after, "")
            } else {
                break;
            };
            push_bounded(&mut self.name, keep);
            rest = after;
        }
        if self.parts_of_name > 1 {
            emit(Token { text: &self.name, kind: TokenKind::Whole });
        }
        rest
    }

    /// Reads one stretch of word characters with the contraction that may follow it.
    fn read_run<'a>(&mut self, text: &'a str, emit: &mut impl FnMut(Token<'_>)) -> &'a str {
        let end = text.find(|c| !is_word_char(c)).unwrap_or(text.len());
        let (run, rest) = text.split_at(end);
        let Some((suffix, after)) = split_contraction(rest) else {
            self.emit_parts(run, emit);
            return rest;
        };
        if suffix.eq_ignore_ascii_case("s") {
            self.emit_parts(run, emit);
        } else {
            let closed = [run, suffix].concat();
            self.parts_of_name += 1;
            push_bounded(&mut self.name, &closed);
            emit(Token { text: &closed, kind: TokenKind::Word });
        }
        after
    }

    fn emit_parts(&mut self, run: &str, emit: &mut impl FnMut(Token<'_>)) {
        let mut rest = run;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_length(rest));
            self.parts_of_name += 1;
            push_bounded(&mut self.name, part);
            emit(Token { text: part, kind: TokenKind::Word });
            rest = after;
        }
    }
}

/// Bytes of the first part of `run`, a non-empty stretch of word characters.
fn part_length(run: &str) -> usize {
    let mut letters = 0;
    let mut previous = ' ';
    for (at, c) in run.char_indices() {
        let tail = &run[at..];
        let boundary = at > 0
            && if previous.is_lowercase() && c.is_uppercase() {
                true
            } else if previous.is_uppercase() && c.is_uppercase() {
                // The second condition keeps plurals of acronyms whole: `URLs`.
                tail.chars().skip(1).take(2).filter(|c| c.is_lowercase()).count() == 2
            } else if previous.is_alphabetic() && c.is_numeric() {
                // `v1` in a version; but `h2o` and `x86` are words.
                letters >= 2 || previous.eq_ignore_ascii_case(&'v')
            } else if previous.is_numeric() && c.is_alphabetic() {
                tail.chars().take(3).filter(|c| c.is_alphabetic()).count() == 3
            } else {
                false
            };
        if boundary {
            return at;
        }
        letters = if c.is_alphabetic() { letters + 1 } else { 0 };
        previous = c;
    }
    run.len()
}

/// Splits off one joint that is followed by a word.
fn split_joint(text: &str, is_joint: fn(char) -> bool) -> Option<(&str, &str)> {
    let c = text.chars().next().filter(|c| is_joint(*c))?;
    // Runs of `_` and `:` are one joint: `snake__case`, `std::fs`.
    let after = match c {
        '_' | ':' => text.trim_start_matches(c),
        _ => &text[c.len_utf8()..],
    };
    let next = after.chars().next()?;
    (next.is_alphanumeric() && !is_gram_char(next))
        .then(|| (&text[..text.len() - after.len()], after))
}

/// Splits off the one or two letters of a contraction or possessive with their apostrophe.
fn split_contraction(text: &str) -> Option<(&str, &str)> {
    let (_, after) = split_joint(text, is_apostrophe)?;
    let end = after.find(|c| !is_word_char(c)).unwrap_or(after.len());
    let (suffix, rest) = after.split_at(end);
    (suffix.chars().count() <= 2).then_some((suffix, rest))
}

fn is_name_joint(c: char) -> bool {
    matches!(c, '-' | '_' | '\u{2010}' | '\u{2011}')
}

fn is_chain_joint(c: char) -> bool {
    matches!(c, '.' | '/' | '\\' | ':' | '@' | '&')
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// A compound longer than this keeps its beginning; what is longer is data, not a name.
const MAX_WHOLE_BYTES: usize = 256;

fn push_bounded(whole: &mut String, piece: &str) {
    let room = MAX_WHOLE_BYTES.saturating_sub(whole.len());
    whole.push_str(&piece[..piece.floor_char_boundary(room)]);
}

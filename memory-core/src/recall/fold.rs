//! Case and accent folding.

use caseless::Caseless as _;
use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// Full Unicode case folding, canonically composed: equal for texts that differ in case or in
/// how an accented letter is encoded.
pub(super) fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfc().default_case_fold().nfc().collect()
}

/// [`fold_case`] that also drops compatibility differences (full width, ligatures), accents,
/// vowel points and invisible joiners.
///
/// A mark is dropped only where readers treat it as optional. Marks that spell the word stay:
/// vowel signs of Indic scripts, voicing marks of kana, the breve of Cyrillic й.
pub(super) fn fold_accents(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut base = ' ';
    for c in text.nfkd().default_case_fold().nfkd() {
        if is_joiner(c) || is_optional_mark(c, base) {
            continue;
        }
        if !is_combining_mark(c) {
            base = c;
        }
        match c {
            'æ' => folded.push_str("ae"),
            'œ' => folded.push_str("oe"),
            'þ' => folded.push_str("th"),
            'ø' => folded.push('o'),
            'ł' => folded.push('l'),
            'đ' | 'ð' => folded.push('d'),
            'ħ' => folded.push('h'),
            'ı' => folded.push('i'),
            c => folded.push(c),
        }
    }
    folded.nfc().collect()
}

/// Invisible characters inside a word: soft hyphen, zero-width (non-)joiner, word joiner.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn is_optional_mark(c: char, base: char) -> bool {
    match c {
        // General diacritics: accents in Latin and Greek; in Cyrillic only ё is written as е.
        '\u{300}'..='\u{36f}' => base < '\u{400}' || base == 'е',
        // Hebrew points and Arabic vowel marks; extended diacritics, enclosing marks, variation
        // selectors.
        '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'
        | '\u{5c2}'
        | '\u{5c4}'
        | '\u{5c5}'
        | '\u{5c7}'
        | '\u{64b}'..='\u{652}'
        | '\u{670}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe00}'..='\u{fe0f}' => true,
        _ => false,
    }
}

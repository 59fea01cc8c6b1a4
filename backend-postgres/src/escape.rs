//! U+0000, which PostgreSQL cannot store in a text.
//!
//! U+0000 is written as U+0001 U+0001, and U+0001 as U+0001 U+0002. So bytewise order stays as it is,
//! and what starts with a text still does.

use std::borrow::Cow;

const MARK: char = '\u{1}';

/// `text` as it is stored.
pub(crate) fn escape(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte <= 1) {
        return Cow::Borrowed(text);
    }
    let mut stored = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => stored.extend([MARK, '\u{1}']),
            MARK => stored.extend([MARK, '\u{2}']),
            c => stored.push(c),
        }
    }
    Cow::Owned(stored)
}

/// The text that is stored as `stored`; none if nothing is stored so.
pub(crate) fn unescape(stored: String) -> Option<String> {
    if !stored.contains(MARK) {
        return Some(stored);
    }
    let mut text = String::with_capacity(stored.len());
    let mut chars = stored.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            MARK => match chars.next()? {
                '\u{1}' => '\0',
                '\u{2}' => MARK,
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

/// The beginning of a text, from a beginning of what is stored, which may end within an escape.
pub(crate) fn unescape_beginning(mut stored: String) -> Option<String> {
    let marks = stored.chars().rev().take_while(|c| *c == MARK).count();
    // After a whole escape of U+0000 a mark stands alone only if their number is odd.
    if marks % 2 == 1 {
        stored.pop();
    }
    unescape(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_in_its_order() {
        let texts = [
            "",
            "\0",
            "\0\0",
            "\0\u{1}",
            "\0a",
            "\u{1}",
            "\u{1}\0",
            "\u{1}\u{2}",
            "\u{2}",
            "a",
            "a\0",
        ];
        for pair in texts.windows(2) {
            assert!(pair[0] < pair[1]);
            assert!(escape(pair[0]) < escape(pair[1]), "{pair:?}");
        }
        for text in texts {
            let stored = escape(text).into_owned();
            assert!(!stored.contains('\0'));
            for (end, _) in stored.char_indices() {
                let beginning = unescape_beginning(stored[..end].to_owned()).unwrap();
                assert!(text.starts_with(&beginning), "{text:?} {beginning:?}");
            }
            assert_eq!(unescape(stored).unwrap(), text);
        }
        for stored in ["\u{1}", "\u{1}\u{3}", "a\u{1}"] {
            assert_eq!(unescape(stored.to_owned()), None);
        }
    }
}

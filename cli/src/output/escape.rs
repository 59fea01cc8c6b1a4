//! Stored text on a terminal: what it could be made to obey is shown as an escape.

use std::{borrow::Cow, fmt::Write};

/// `text` with its lines; everything else that steers a terminal or hides text is escaped.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && steers(c))
}

/// `text` in one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, steers)
}

/// `text` in one line of at most `limit` characters, the last of which tells that it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    // An escape is never shorter than its character: this much of the text is enough.
    let end = text.char_indices().nth(limit + 1).map_or(text.len(), |(end, _)| end);
    let line = line(&text[..end]);
    match line.char_indices().nth(limit) {
        None => line.into_owned(),
        Some(_) => line.chars().take(limit - 1).chain(['…']).collect(),
    }
}

fn escape(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escaped(c) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Control characters, and the marks that end lines or turn the direction of text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_raw() {
        assert_eq!(line("a\0b\x1b[31m\n\t\u{9b}x"), "a\\u{0}b\\u{1b}[31m\\n\\t\\u{9b}x");
        assert_eq!(text("one\ntwo\r\x07"), "one\ntwo\\r\\u{7}");
        assert_eq!(line("safe \u{202e}evil"), "safe \\u{202e}evil");
        assert_eq!(line("ünï 部署 100% \"'"), "ünï 部署 100% \"'");
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("ab\0\0\0", 6), "ab\\u{…");
        assert_eq!(cut("", 6), "");
    }
}

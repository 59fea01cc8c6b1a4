//! Stored text on a terminal: what it could be made to obey is shown as an escape.

use std::{borrow::Cow, fmt::Write};

/// How many characters of a value are enough to recognise it.
pub(crate) const VALUE: usize = 80;

/// `text` with its lines; everything else that steers a terminal or hides text is escaped.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && steers(c))
}

/// `text` in one line.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escape(text, steers)
}

/// Serialized JSON, equal as JSON, in which nothing steers a terminal or hides.
pub(crate) fn json(json: &str) -> Cow<'_, str> {
    replace(json, steers, |out, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// `text` in which no quoted value is longer than it takes to recognise it.
pub(crate) fn shorten(text: &str) -> String {
    /// Longer than anything that memkeep says without quoting.
    const WHOLE: usize = 1_000;
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(['`', '"']) {
        let (head, quoted) = rest.split_at(start + 1);
        let Some(end) = quoted.find(&head[start..]) else { break };
        out.push_str(head);
        out.push_str(&clip(&quoted[..end], VALUE));
        out.push_str(&head[start..]);
        rest = &quoted[end + 1..];
    }
    out.push_str(rest);
    clip(&out, WHOLE).into_owned()
}

/// The first characters of a text that is longer than `limit` of them.
pub(crate) fn clip(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        None => Cow::Borrowed(text),
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}

/// `value` without the login and the parameters of a server's URL, in which a password may be: who forgets
/// an option's name puts a URL where none is looked for.
pub(crate) fn hide_login(value: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = value.split_once("://") else { return Cow::Borrowed(value) };
    let scheme_of = scheme.to_ascii_lowercase();
    if !scheme_of.ends_with("postgres") && !scheme_of.ends_with("postgresql") {
        return Cow::Borrowed(value);
    }
    let (login, rest) = rest.rsplit_once('@').map_or(("", rest), |(_, rest)| ("…@", rest));
    let (rest, parameters) = rest.split_once('?').map_or((rest, ""), |(rest, _)| (rest, "?…"));
    Cow::Owned(format!("{scheme}://{login}{rest}{parameters}"))
}

/// `text` in one line of at most `limit` characters, the last of which tells that it was cut.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    // An escape is never shorter than its character: this much of the text is enough.
    let end = text.char_indices().nth(limit + 1).map_or(text.len(), |(end, _)| end);
    clip(&line(&text[..end]), limit).into_owned()
}

fn escape(text: &str, escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    replace(text, escaped, |out, c| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}", c.escape_default());
    })
}

fn replace(
    text: &str,
    escaped: impl Fn(char) -> bool,
    write: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escaped(c) {
            write(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Control characters, the marks that end lines or turn the direction of text, and those that hide
/// between others. The joiners U+200C and U+200D stay: words and emoji are written with them.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
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
    fn json_stays_equal() {
        let hostile =
            "\u{9b}2J\u{7f}\u{202e}\u{200b}\u{e0041}\u{61c}\u{200f}\0\n\\ 部署 👩\u{200d}👧";
        let written = serde_json::to_string(hostile).unwrap();
        let shown = json(&written);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), hostile);
        assert!(shown.starts_with("\"\\u009b2J\\u007f\\u202e\\u200b\\udb40\\udc41"), "{shown}");
        assert!(!shown.contains(steers) && shown.contains("部署 👩\u{200d}👧"));
    }

    #[test]
    fn quoted_values_are_shortened() {
        let long = "x".repeat(5_000);
        let said = shorten(&format!("unknown variant `{long}`, expected one of `a`, `b`"));
        assert!(said.starts_with("unknown variant `xxx") && said.len() < 200, "{said}");
        assert!(said.ends_with("x…`, expected one of `a`, `b`"), "{said}");
        assert_eq!(shorten("it's `a"), "it's `a");
        assert!(shorten(&long).chars().count() <= 1_000);
    }

    #[test]
    fn a_login_is_hidden() {
        for (value, shown) in [
            ("postgres://me:p@ss w?rd@h/db", "postgres://…@h/db"),
            ("x=PostgreSQL://me:pw@h,i:1/db?schema=a", "x=PostgreSQL://…@h,i:1/db?…"),
            ("postgres://h/db", "postgres://h/db"),
            ("https://me@h/", "https://me@h/"),
            ("me@h", "me@h"),
        ] {
            assert_eq!(hide_login(value), shown);
        }
    }

    #[test]
    fn a_cut_is_seen() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("ab\0\0\0", 6), "ab\\u{…");
        assert_eq!(cut("", 6), "");
    }
}

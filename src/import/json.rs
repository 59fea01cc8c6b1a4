use std::fmt::Write as _;

use super::excerpt;
use crate::Json;

/// JSON read from text as Python's `json` writes and reads it, and what had to be changed.
pub(super) struct Tolerant {
    pub(super) value: Json,
    pub(super) repairs: Vec<String>,
}

/// Reads JSON that nests at most `depth` deep.
///
/// What Python takes for JSON and memkeep cannot hold becomes a string or U+FFFD, and a repair: NaN
/// and infinities, integers beyond 64 bits, numbers beyond any float, lone surrogates. Of equal
/// keys the last wins. Errors: why the text is not JSON.
pub(super) fn parse(text: &str, depth: usize) -> Result<Tolerant, String> {
    let mut rewriter = Rewriter { text, done: 0, out: String::new(), repairs: Vec::new() };
    rewriter.rewrite(depth)?;
    let strict = if rewriter.done == 0 {
        text
    } else {
        rewriter.out.push_str(text.get(rewriter.done..).unwrap_or_default());
        &rewriter.out
    };
    let value = serde_json::from_str(strict).map_err(|e| format!("not JSON: {e}"))?;
    Ok(Tolerant { value, repairs: rewriter.repairs })
}

/// Rewrites the tokens that strict JSON does not know, and nothing else: whether the rest is JSON
/// is for `serde_json` to say.
struct Rewriter<'t> {
    text: &'t str,
    /// Up to here the text is in `out`.
    done: usize,
    out: String,
    repairs: Vec<String>,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, limit: usize) -> Result<(), String> {
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => at = self.string(at + 1),
                b'[' | b'{' => {
                    depth += 1;
                    if depth > limit {
                        return Err(format!("nests deeper than {limit}"));
                    }
                    at += 1;
                }
                b']' | b'}' => {
                    depth = depth.saturating_sub(1);
                    at += 1;
                }
                b'-' | b'0'..=b'9' | b'N' | b'I' => at = self.number(at),
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// Replaces `self.text[from..to]`.
    fn replace(&mut self, from: usize, to: usize, with: &str) {
        self.out.push_str(self.text.get(self.done..from).unwrap_or_default());
        self.out.push_str(with);
        self.done = to;
    }

    /// A number, or a word that Python takes for one. Returns where it ends.
    fn number(&mut self, start: usize) -> usize {
        let rest = self.text.get(start..).unwrap_or_default();
        for word in ["NaN", "Infinity", "-Infinity"] {
            if rest.starts_with(word) {
                return self.as_string(start, word, "is not a number of JSON");
            }
        }
        let is_part = |c: char| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let token = rest.split(|c| !is_part(c)).next().unwrap_or_default();
        let digits = token.strip_prefix('-').unwrap_or(token);
        let is_integer = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_integer {
            let fits = token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
            if !fits && !digits.starts_with('0') {
                return self.as_string(start, token, "does not fit in 64 bits");
            }
        } else if token.parse::<f64>().is_ok_and(f64::is_infinite) {
            return self.as_string(start, token, "is beyond the largest float");
        }
        start + token.len().max(1)
    }

    fn as_string(&mut self, start: usize, token: &str, why: &str) -> usize {
        let end = start + token.len();
        self.replace(start, end, &format!("\"{token}\""));
        self.repairs.push(format!("{} {why}: kept as a string", excerpt(token)));
        end
    }

    /// The rest of a string, whose lone surrogates are replaced. Returns where it ends.
    fn string(&mut self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => return at + 1,
                b'\\' => at = self.escape(at),
                _ => at += 1,
            }
        }
        at
    }

    fn escape(&mut self, at: usize) -> usize {
        let end = match self.unit(at) {
            None => return at + 2,
            Some(0xd800..=0xdbff) if matches!(self.unit(at + 6), Some(0xdc00..=0xdfff)) => {
                return at + 12;
            }
            Some(0xd800..=0xdfff) => at + 6,
            Some(_) => return at + 6,
        };
        let mut repair = "the lone surrogate ".to_owned();
        let _ = write!(repair, "{} became U+FFFD", self.text.get(at..end).unwrap_or_default());
        self.replace(at, end, "\\ufffd");
        self.repairs.push(repair);
        end
    }

    /// The code unit that the escape `\uXXXX` at `at` stands for, if there is one.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.text.get(at..at + 6)?.strip_prefix("\\u")?;
        digits.bytes().all(|b| b.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::parse;

    fn read(text: &str) -> (crate::Json, usize) {
        let tolerant = parse(text, 100).unwrap();
        (tolerant.value, tolerant.repairs.len())
    }

    #[test]
    fn what_strict_json_holds_is_left_alone() {
        let text = r#" {"a": [1, -2.5e-7, 18446744073709551615, -9223372036854775808, 5e-324],
            "NaN": "Infinity -Infinity \" \\", "s": "\ud83d\ude00 \u2028\u0000"} "#;
        let strict: crate::Json = serde_json::from_str(text).unwrap();
        assert_eq!(read(text), (strict, 0));
    }

    #[test]
    fn numbers_that_json_cannot_hold_become_strings() {
        let text = "[NaN,Infinity,-Infinity,1180591620717411303424,-9223372036854775809,1e400]";
        let strings = [
            "NaN",
            "Infinity",
            "-Infinity",
            "1180591620717411303424",
            "-9223372036854775809",
            "1e400",
        ];
        assert_eq!(read(text), (json!(strings), 6));
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let text = r#"{"\ud83d": "\ude00\ud83d\ud83d\ude00", "b": "\\ud83d"}"#;
        let value = json!({ "\u{fffd}": "\u{fffd}\u{fffd}\u{1f600}", "b": "\\ud83d" });
        assert_eq!(read(text), (value, 3));
    }

    #[test]
    fn of_equal_keys_the_last_wins() {
        assert_eq!(read(r#"{"a": 1, "a": NaN}"#), (json!({ "a": "NaN" }), 1));
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        for text in
            ["", "{", "[1,", "NaNx", "01", "-", "\"\\", "\"\\ud8", "{'a': 1}", "\"a\nb\"", "é"]
        {
            assert!(parse(text, 100).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(100), 100).is_ok());
        assert!(parse(&nested(101), 100).is_err());
        assert!(parse(&nested(1_000_000), 100).is_err());
        assert!(parse(&format!("\"{}\"", nested(200)), 100).is_ok());
    }
}

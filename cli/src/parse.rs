//! Words of the command line that stand for something other than text.

use std::{path::PathBuf, time::Duration};

use jiff::{Span, SpanRelativeTo};
use memkeep::{Error, Timestamp};
use serde::de::DeserializeOwned;

use crate::output::escape;

/// RFC 3339, or a date, which is its first instant in UTC.
pub(crate) fn time(word: &str) -> Result<Timestamp, String> {
    let whole: Result<Timestamp, Error> = word.parse();
    whole
        .or_else(|error| format!("{word}T00:00:00Z").parse().map_err(|_: Error| error))
        .map_err(|error| format!("{}; say 2026-01-31 or 2026-01-31T09:30:00Z", error.message()))
}

/// A length of time such as `30d`, `12h` or `1h 30m`; a day has 24 hours.
pub(crate) fn duration(word: &str) -> Result<Duration, String> {
    let span: Span =
        word.parse().map_err(|_| "say a length of time such as 30d, 12h or 90m".to_owned())?;
    let length = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|_| "months and years differ in length: say weeks or days".to_owned())?;
    Duration::try_from(length).map_err(|_| "a length of time is not negative".to_owned())
}

/// What a JSON text encodes, all of its numbers exactly: an integer that no 64 bits hold would
/// silently become the nearest float.
pub(crate) fn json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value = serde_json::from_str(text).map_err(|error| {
        let not_json = if error.is_data() { "" } else { "not JSON: " };
        let mut message = format!("{not_json}{error}");
        if !text.contains('\n') {
            message = message.replace(" at line 1 column ", " at column ");
        }
        message
    })?;
    match integers(text).find(|n| n.parse::<i64>().is_err() && n.parse::<u64>().is_err()) {
        None => Ok(value),
        Some(number) => Err(format!(
            "the integer {} does not fit in 64 bits: write it as a string",
            escape::clip(number, escape::VALUE)
        )),
    }
}

/// The integers in a JSON text.
fn integers(json: &str) -> impl Iterator<Item = &str> {
    let mut in_string = false;
    let mut escaped = false;
    let token = move |c: char| {
        let quote = c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
        in_string ^= quote;
        in_string || !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))
    };
    json.split(token).filter(|token| {
        token.ends_with(|c: char| c.is_ascii_digit()) && !token.contains(['.', 'e', 'E'])
    })
}

const NO_NUMBER: &str = "not a number of 0 or more";

/// How many at most; a number beyond all bounds means all.
pub(crate) fn count(word: &str) -> Result<usize, String> {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NO_NUMBER.to_owned());
    }
    Ok(word.parse().unwrap_or(usize::MAX))
}

/// The version of an entry.
pub(crate) fn version(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| NO_NUMBER.to_owned())
}

/// A path, unless it is one that only a shell could have understood.
pub(crate) fn path(path: PathBuf) -> Result<PathBuf, String> {
    if path.starts_with("~") {
        let hint = "`~` stands for your home folder only in a shell, and unquoted: write the folder \
                    out, or ./~ for one of that name";
        return Err(hint.to_owned());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_friendly_and_of_one_length() {
        let day = Duration::from_hours(24);
        assert_eq!(duration("30d"), Ok(day * 30));
        assert_eq!(duration("2 weeks"), Ok(day * 14));
        assert_eq!(duration("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "30", "soon", "-1h", "1h ago", "2mo", "1y"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_date_is_its_first_instant() {
        assert_eq!(time("2026-01-31"), time("2026-01-31T00:00:00Z"));
        assert_eq!(time("2026-01-31T02:00:00+02:00"), time("2026-01-31"));
        for wrong in ["", "yesterday", "2026-13-01", "2026-01-31T10:00:00", "12:00"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_integer_is_kept_or_refused() {
        let parse = json::<memkeep::Json>;
        for kept in [
            "18446744073709551615",
            "-9223372036854775808",
            "1e300",
            "18446744073709551616.0",
            r#""18446744073709551616""#,
            r#"{"18446744073709551616":"\\\"18446744073709551616"}"#,
        ] {
            assert!(parse(kept).is_ok(), "{kept}");
        }
        for wrong in [
            "18446744073709551616",
            "-9223372036854775809",
            r#"{"a":[1,{"b\\":18446744073709551616}]}"#,
            r#"["\"",99999999999999999999 ]"#,
        ] {
            assert!(parse(wrong).unwrap_err().contains("64 bits"), "{wrong}");
        }
    }

    #[test]
    fn a_count_has_no_upper_bound() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("99999999999999999999999"), Ok(usize::MAX));
        for wrong in ["", "-1", "1.5", "+1", "many"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}

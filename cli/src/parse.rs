//! Words of the command line that stand for something other than text.

use std::time::Duration;

use jiff::{Span, SpanRelativeTo};
use memkeep::{Error, Json, Timestamp};

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

/// One JSON value.
pub(crate) fn json(word: &str) -> Result<Json, String> {
    serde_json::from_str(word).map_err(|error| format!("not JSON: {error}"))
}

/// How many at most; a number beyond all bounds means all.
pub(crate) fn count(word: &str) -> Result<usize, String> {
    if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("not a number of 0 or more".to_owned());
    }
    Ok(word.parse().unwrap_or(usize::MAX))
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
    fn a_count_has_no_upper_bound() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("99999999999999999999999"), Ok(usize::MAX));
        for wrong in ["", "-1", "1.5", "+1", "many"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }
}

use std::fmt::Debug;

use memkeep_core::Error;

/// What a clause comes to.
pub type Verdict = Result<(), Failure>;

/// A rule that was not kept. The runner adds the clause, the calls and the seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the rule asks for.
    pub expected: String,
    /// What came.
    pub actual: String,
}

impl Failure {
    /// A failure in words.
    pub fn new(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self { expected: expected.into(), actual: actual.into() }
    }

    /// A failure in words, with the value that came.
    pub(crate) fn unlike(expected: impl Into<String>, actual: &(impl Debug + ?Sized)) -> Self {
        Self::new(expected, part(&format!("{actual:?}"), 0))
    }

    /// A failure in values. Long ones are shown from shortly before where they part.
    pub fn values(
        what: &str,
        expected: &(impl Debug + ?Sized),
        actual: &(impl Debug + ?Sized),
    ) -> Self {
        let (expected, actual) = (format!("{expected:?}"), format!("{actual:?}"));
        let common = expected.chars().zip(actual.chars()).take_while(|(a, b)| a == b).count();
        let from =
            if expected.len().max(actual.len()) > SHOWN { common.saturating_sub(80) } else { 0 };
        Self::new(format!("{what}: {}", part(&expected, from)), part(&actual, from))
    }
}

/// How many characters of a value are shown.
const SHOWN: usize = 2_000;

/// The text from a character on, cut.
fn part(text: &str, from: usize) -> String {
    let mut part: String = text.chars().skip(from).take(SHOWN).collect();
    if from > 0 {
        part = format!("(from character {from} on) …{part}");
    }
    if text.chars().nth(from + SHOWN).is_some() {
        part.push('…');
    }
    part
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new("the call succeeds", format!("{error:?}"))
    }
}

/// `must_equal!(actual, expected, "what is compared", …)`
macro_rules! must_equal {
    ($actual:expr, $expected:expr, $($what:tt)+) => {{
        // A match, so that what the arguments borrow from lives until the comparison.
        match (&$actual, &$expected) {
            (actual, expected) => {
                if *actual != *expected {
                    return Err($crate::Failure::values(&format!($($what)+), expected, actual));
                }
            }
        }
    }};
}
pub(crate) use must_equal;

/// `must!(condition, value, "what must hold of the value", …)`, where there is no one right value.
macro_rules! must {
    ($condition:expr, $actual:expr, $($what:tt)+) => {
        if !$condition {
            return Err($crate::Failure::unlike(format!($($what)+), &$actual));
        }
    };
}
pub(crate) use must;

/// `must_refuse!(result, Kind, "what is refused", …)` gives the error.
macro_rules! must_refuse {
    ($result:expr, $kind:ident, $($what:tt)+) => {
        match $result {
            Err(error) if error.kind() == memkeep_core::ErrorKind::$kind => error,
            Err(error) => {
                let expected = format!("{}: {}", format!($($what)+), stringify!($kind));
                return Err($crate::Failure::new(expected, format!("{error:?}")));
            }
            Ok(value) => {
                let expected = format!("{}: {}", format!($($what)+), stringify!($kind));
                return Err($crate::Failure::new(expected, format!("Ok({value:?})")));
            }
        }
    };
}
pub(crate) use must_refuse;

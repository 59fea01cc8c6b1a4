//! A literal substring under case folding.

use super::super::Substring;

#[test]
fn literal_and_case_folded() {
    for (needle, haystack, expected) in [
        ("100%", "processed 100% of it", true),
        ("100%", "processed 1000 items", false),
        ("snake_case", "snakeXcase", false),
        ("a\0b", "xA\0By", true),
        ("after", "\0after", true),
        ("STRASSE", "Die Straße", true),
        ("straße", "STRASSE", true),
        ("ﬁne", "FINE", true),
        ("ς", "ΣΑΣ", true),
        ("ТЕСТ", "тест", true),
        ("部署", "讨论部署方案", true),
        ("aabaaab", "aabaabaaabaa", true),
        ("aabaaab", "aabaabaabaa", false),
        ("", "", true),
        ("x", "", false),
    ] {
        assert_eq!(Substring::new(needle).matches(haystack), expected, "{needle:?} {haystack:?}");
    }
}

#[test]
fn hostile_repetition_takes_linear_time() {
    let needle = "a".repeat(100_000) + "b";
    assert!(!Substring::new(&needle).matches(&"a".repeat(2_000_000)));
}

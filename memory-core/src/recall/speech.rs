//! What [`Scorer::Context`](super::Scorer::Context) can tell about a turn from its form alone.

/// A longer label is a sentence.
const MAX_LABEL_BYTES: usize = 64;
const MAX_LABEL_WORDS: usize = 3;

/// The label of a transcript line: `Anna Smith` in `Anna Smith: good morning`.
///
/// One to three words at the beginning, without sentence punctuation, up to a colon and a space.
pub(super) fn speaker_label(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let begin = &text[..text.floor_char_boundary(MAX_LABEL_BYTES)];
    let (label, after) = begin.split_once(':')?;
    let is_label_char = |c: char| c.is_alphanumeric() || " .-_'’".contains(c);
    let words = label.split_whitespace().count();
    (after.starts_with(char::is_whitespace)
        && (1..=MAX_LABEL_WORDS).contains(&words)
        && label.chars().all(is_label_char))
    .then_some(label)
}

/// Whether one of the parts ends by asking something: its answer is then in a later turn.
pub(super) fn asks(parts: &[&str]) -> bool {
    parts.iter().any(|part| {
        part.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)*_".contains(c))
            .ends_with(['?', '？', '؟', '⁇', '‽'])
    })
}

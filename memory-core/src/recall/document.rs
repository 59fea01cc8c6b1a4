use std::borrow::Cow;

/// How much of each part of a document's text recall reads, in bytes: far more than anybody says in one
/// turn. What a larger text has beyond it is found as a [`Substring`](super::Substring).
pub const MAX_TEXT_BYTES: usize = 4 << 20;

/// One document of the searched workspaces, as the scorers see it.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The parts of its text (problem and summary of an episode; content of a turn). They count
    /// as one text, joined by spaces. Of each, [`MAX_TEXT_BYTES`] are read.
    pub text: &'a [&'a str],
    /// Creation time in microseconds since the Unix epoch; among equal scores the newest is first.
    pub created_at: i64,
    /// Whether it is an open episode, which [`Scorer::Overlap`](super::Scorer::Overlap) prefers.
    pub open: bool,
    /// Session id and index of the turn in it; `None` for anything that is not a turn. Only
    /// [`Scorer::Context`](super::Scorer::Context) looks at it.
    pub session: Option<(&'a str, u64)>,
    /// Whether it passes the caller's filters. A document that does not is never returned, but
    /// counts in the statistics of BM25 and lends to its neighbours under
    /// [`Scorer::Context`](super::Scorer::Context).
    pub eligible: bool,
}

impl Document<'_> {
    /// What is read of its text: at most [`MAX_TEXT_BYTES`] of each part.
    pub(super) fn readable(&self) -> Cow<'_, [&str]> {
        if self.text.iter().all(|part| part.len() <= MAX_TEXT_BYTES) {
            return Cow::Borrowed(self.text);
        }
        let cut = self.text.iter().map(|part| &part[..part.floor_char_boundary(MAX_TEXT_BYTES)]);
        Cow::Owned(cut.collect())
    }
}

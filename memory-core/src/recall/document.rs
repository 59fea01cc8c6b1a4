/// One document of the searched workspaces, as the scorers see it.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The parts of its text (problem and summary of an episode; content of a turn). They count
    /// as one text, joined by spaces.
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

use serde::{Deserialize, Serialize};

/// How a [`Ranker`](super::Ranker) scores documents against a query.
///
/// The [module documentation](super) says what each one computes and when to choose it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scorer {
    /// Number of distinct query tokens in the document, plus a half if it is open.
    Overlap,
    /// Okapi BM25 over analysed terms.
    Bm25,
    /// BM25, re-ranked with evidence from neighbouring turns and the whole session.
    Context,
}

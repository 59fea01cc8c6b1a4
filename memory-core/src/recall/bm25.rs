//! The BM25 formula, shared by every path that scores: scan and index give the same bits.
//!
//! Robertson and Zaragoza, *The Probabilistic Relevance Framework: BM25 and Beyond* (2009), with
//! the idf of Lucene, which is positive for every term.

/// How fast repetitions of a term saturate. Lower than the usual 1.2: in texts of the size of a
/// turn or an episode a repeated word says little more than a single one. On long conversations 0.6
/// found more than 0.9, and 0.9 than 1.2; much below, longer texts lose their count of repetitions.
pub const K1: f64 = 0.6;

/// How much a long document is discounted, from 0 (not at all) to 1 (in proportion). Low, because
/// a long turn or episode says more rather than the same at greater length.
pub const B: f64 = 0.4;

/// Inverse document frequency of a term that occurs in `frequency` of `documents` documents
/// (`frequency` <= `documents`); greater than zero.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub fn idf(documents: u64, frequency: u64) -> f64 {
    let (documents, frequency) = (documents as f64, frequency as f64);
    libm::log(1.0 + (documents - frequency + 0.5) / (frequency + 0.5))
}

/// Mean document length, by which [`weight`] normalises.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub fn average_length(documents: u64, total_length: u64) -> f64 {
    total_length as f64 / documents as f64
}

/// What a term that occurs `count` times in a document of `length` adds to its score.
///
/// The score of a document is the sum over the distinct query terms in byte order.
#[must_use]
pub fn weight(idf: f64, count: u32, length: u64, average_length: f64) -> f64 {
    discounted(idf, count, discount(length, average_length))
}

/// By how much the length of a document discounts its terms.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
pub(super) fn discount(length: u64, average_length: f64) -> f64 {
    1.0 - B + B * (length as f64 / average_length)
}

/// [`weight`] with the discount of the length.
pub(super) fn discounted(idf: f64, count: u32, discount: f64) -> f64 {
    let count = f64::from(count);
    idf * (count * (K1 + 1.0) / (count + K1 * discount))
}

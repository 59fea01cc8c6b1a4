//! Lexical recall: which records answer a query, and in which order.
//!
//! Pure code without I/O. Every backend scores with it, so that the same query over the same records
//! gives the same records in the same order with the same scores, bit for bit, everywhere. Any text
//! is a query: there is no syntax and no error. Matching is by OR: a document needs only one of the
//! query's terms.
//!
//! | [`Scorer`] | a document's score | made for |
//! |---|---|---|
//! | [`Overlap`](Scorer::Overlap) | number of distinct [`overlap_tokens`] it shares with the query, plus ½ if it is open | episodes: few, short, open ones first |
//! | [`Bm25`](Scorer::Bm25) | [`bm25`] over the terms of an [`Analyzer`]: stems, folded case and accents, parts of identifiers, grams | any text |
//! | [`Context`](Scorer::Context) | BM25, with what the neighbouring turns and the session lend | turns of a conversation |
//!
//! - **Order**: score, then creation time, both descending, then insertion. This is total, so the
//!   `k` first are the same for every `k`.
//! - **Statistics** of BM25 (document count, lengths, frequencies) are those of all documents given
//!   to a [`Ranker`]: the searched workspaces, whatever the other filters are.
//! - **Filters** decide what is returned, before the limit. They change no score: under every scorer
//!   the filtered result is the unfiltered one without the documents that do not pass (beyond the
//!   re-ranked of [`Context`](Scorer::Context) too).
//! - **Language**: stems are those of the [`Language`] that a store is opened in.
//! - **Exactness**: scores are f64, summed over terms in byte order, with the logarithm of `libm`;
//!   no hash order, no platform's mathematics library.
//!
//! [`Context`](Scorer::Context) re-ranks the 1,000 best BM25 documents, and the turns within two
//! positions of them in the same session, which may match nothing themselves. A document without a
//! session keeps its BM25 score. Further matches follow in the order of BM25, with scores no higher
//! than the last that was re-ranked.
//!
//! [`Substring`] is the other kind of search: a literal text, found or not. [`fuse`] merges rankings.

mod analyzer;
pub mod bm25;
mod bm25_ranker;
mod context;
mod context_ranker;
mod document;
mod fold;
mod fuse;
mod grams;
pub mod index;
mod irregular;
mod language;
mod overlap;
mod overlap_ranker;
mod ranked;
mod ranker;
mod scorer;
mod speech;
mod statistics;
mod stop_words;
mod substring;
mod tally;
mod term_counter;
mod token;

pub use analyzer::{Analyzer, DocumentTerms};
pub use document::{Document, MAX_TEXT_BYTES};
pub use fuse::fuse;
pub use language::Language;
pub use overlap::overlap_tokens;
pub use ranked::Ranked;
pub use ranker::Ranker;
pub use scorer::Scorer;
pub use substring::Substring;

pub use crate::search::{Ranking, Recallable};

#[cfg(test)]
mod tests;

//! Lexical recall.

mod analyzer;
pub mod bm25;
mod bm25_ranker;
mod document;
mod fold;
mod grams;
mod irregular;
mod language;
mod overlap;
mod overlap_ranker;
mod ranked;
mod ranker;
mod scorer;
mod stop_words;
mod substring;
mod term_counter;
mod token;

pub use analyzer::{Analyzer, DocumentTerms};
pub use document::Document;
pub use language::Language;
pub use overlap::overlap_tokens;
pub use ranked::Ranked;
pub use ranker::Ranker;
pub use scorer::Scorer;
pub use substring::Substring;

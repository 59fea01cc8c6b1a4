use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

/// The language whose inflections [`Analyzer`](super::Analyzer) removes (Snowball stemmers).
///
/// A store has one language: terms stemmed under one and queried under another do not meet.
/// Serialised as its lower-case name. English also brings a stop-word list; in every other
/// language common words are held down by their document frequency alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the name of a language")]
pub enum Language {
    /// Words are kept as they are, apart from case and accents.
    None,
    Arabic,
    Danish,
    Dutch,
    #[default]
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

impl Language {
    pub(super) fn stemmer(self) -> Option<Stemmer> {
        let algorithm = match self {
            Self::None => return None,
            Self::Arabic => Algorithm::Arabic,
            Self::Danish => Algorithm::Danish,
            Self::Dutch => Algorithm::Dutch,
            Self::English => Algorithm::English,
            Self::Finnish => Algorithm::Finnish,
            Self::French => Algorithm::French,
            Self::German => Algorithm::German,
            Self::Greek => Algorithm::Greek,
            Self::Hungarian => Algorithm::Hungarian,
            Self::Italian => Algorithm::Italian,
            Self::Norwegian => Algorithm::Norwegian,
            Self::Portuguese => Algorithm::Portuguese,
            Self::Romanian => Algorithm::Romanian,
            Self::Russian => Algorithm::Russian,
            Self::Spanish => Algorithm::Spanish,
            Self::Swedish => Algorithm::Swedish,
            Self::Tamil => Algorithm::Tamil,
            Self::Turkish => Algorithm::Turkish,
        };
        Some(Stemmer::create(algorithm))
    }
}

use std::str::FromStr;

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// One list of names, for the variants, for texts and for the stemmers.
macro_rules! languages {
    ($(#[$meta:meta])* none $none:literal; $($(#[$default:meta])? $name:ident $text:literal,)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "each variant is the name of a language")]
        pub enum Language {
            /// Words are kept as they are, apart from case and accents.
            #[serde(rename = $none)]
            None,
            $($(#[$default])? #[serde(rename = $text)] $name,)*
        }

        impl Language {
            /// All languages, and none.
            pub const ALL: &'static [Self] = &[Self::None, $(Self::$name,)*];

            /// The language's name in URLs and JSON: `english`, `none`, …
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::None => $none,
                    $(Self::$name => $text,)*
                }
            }

            pub(super) fn stemmer(self) -> Option<Stemmer> {
                let algorithm = match self {
                    Self::None => return None,
                    $(Self::$name => Algorithm::$name,)*
                };
                Some(Stemmer::create(algorithm))
            }
        }
    };
}

languages! {
    /// The language whose inflections [`Analyzer`](super::Analyzer) removes (Snowball stemmers).
    ///
    /// A store is opened in one language, English unless another is asked for, and kept in none: it
    /// decides how questions and records are compared by [`Scorer::Bm25`](super::Scorer::Bm25) and
    /// [`Scorer::Context`](super::Scorer::Context), never what is stored. An index made in one
    /// language answers in no other. A store that has one and is opened in another language makes its
    /// index anew, in the background; answers are exact meanwhile. Of handles that have a store open
    /// in different languages, each makes the index anew after a commit of its own: such a store is
    /// slow.
    ///
    /// In text and serialised it is its lower-case name. English also brings a list of stop words and
    /// irregular forms; in every other language common words are held down by their document
    /// frequency alone.
    none "none";
    Arabic "arabic",
    Danish "danish",
    Dutch "dutch",
    #[default]
    English "english",
    Finnish "finnish",
    French "french",
    German "german",
    Greek "greek",
    Hungarian "hungarian",
    Italian "italian",
    Norwegian "norwegian",
    Portuguese "portuguese",
    Romanian "romanian",
    Russian "russian",
    Spanish "spanish",
    Swedish "swedish",
    Tamil "tamil",
    Turkish "turkish",
}

impl FromStr for Language {
    type Err = Error;

    /// `InvalidArgument`, with all names, for what is none of them.
    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.iter().copied().find(|language| language.as_str() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|language| language.as_str()).collect();
            Error::invalid("language", format_args!("one of {}", names.join(", ")))
        })
    }
}

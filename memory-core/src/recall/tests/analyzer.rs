//! Terms, lengths and languages.

use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error, StrDeserializer};

use super::super::{Analyzer, Language};
use crate::ErrorKind;

#[test]
fn terms_and_length() {
    let analyzer = Analyzer::default();
    for (text, length, terms) in [
        ("Workers crashed", 2, "crash worker"),
        ("atomic_write_json", 3, "atom atomicwritejson json write"),
        ("getShippingMethodId", 4, "get getshippingmethodid id method ship"),
        ("HTTPServer URLs", 3, "http httpserver server url"),
        ("gpt-4o", 2, "4o gpt gpt4o"),
        ("GB/s", 2, "gb gb/s s"),
        ("v1.2.3", 4, "1 2 3 v v1 v1.2.3"),
        ("C++ and c#", 3, "and c c# c++"),
        ("2023-05-08", 3, "05 08 2023 2023-05-08"),
        ("Anna's don't", 2, "anna dont"),
        ("naïve 部署方案", 4, "naiv 方 方案 案 署 署方 部 部署"),
        ("went children", 2, "child go"),
    ] {
        let document = analyzer.document_terms(&[text]);
        let found: Vec<&str> = document.counts.keys().map(String::as_str).collect();
        assert_eq!(found.join(" "), terms, "{text:?}");
        assert_eq!(document.length, length, "{text:?}");
    }
}

#[test]
fn a_query_drops_stop_words_only_if_another_term_remains() {
    let analyzer = Analyzer::default();
    assert_eq!(analyzer.query_terms("What is the CACHE?"), ["cach"]);
    assert_eq!(analyzer.query_terms("to be"), ["be", "to"]);
    assert_eq!(analyzer.query_terms("?"), [""; 0]);
    assert_eq!(analyzer.document_terms(&["the the"]).counts["the"], 2);
}

#[test]
fn speaker_and_question() {
    let analyzer = Analyzer::default();
    for (parts, label, asks) in [
        (&["Anna Smith: hello", "you?"][..], "anna smith", true),
        (&["Well, that is: nice"], "", false),
        (&["http://x.y"], "", false),
        (&["Bob: \"really?\" "], "bob", true),
    ] {
        let terms = analyzer.document_terms(parts);
        assert_eq!(terms.label.into_iter().collect::<Vec<_>>().join(" "), label, "{parts:?}");
        assert_eq!(terms.asks, asks, "{parts:?}");
    }
}

#[test]
fn an_unknown_language_is_told_which_there_are() {
    for name in ["klingon", "German", "de", " german", ""] {
        let error = name.parse::<Language>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{name}");
        for language in Language::ALL {
            assert!(error.to_string().contains(language.as_str()), "{language:?} in {error}");
        }
    }
}

#[test]
fn languages() {
    for (language, name, stored, query) in [
        (Language::None, "none", "Tests", "tests"),
        (Language::German, "german", "die Häuser", "hausern"),
        (Language::Russian, "russian", "новый дом", "дома"),
        (Language::Spanish, "spanish", "la canción", "canciones"),
        (Language::French, "french", "les chevaux", "cheval"),
    ] {
        let named: StrDeserializer<'_, Error> = name.into_deserializer();
        assert_eq!(Language::deserialize(named), Ok(language));
        assert_eq!((language.as_str(), name.parse().ok()), (name, Some(language)));
        let analyzer = Analyzer::new(language);
        let terms = analyzer.document_terms(&[stored]).counts;
        let query = analyzer.query_terms(query);
        assert!(query.iter().any(|t| terms.contains_key(t)), "{query:?} in {terms:?}");
    }
}

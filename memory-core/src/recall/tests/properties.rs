//! Invariants over arbitrary text.

use proptest::prelude::*;

use super::super::{
    Analyzer, Document, Language, Ranked, Ranker, Scorer, Substring, bm25, overlap_tokens,
};
use super::SCORERS;

/// Text that is dense in what the tokenizers treat specially.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-cA-C0-2 '’_./:+#?-]{0,24}",
        "[а-яё ά-ώع-ي அ-ஹ部署がｶéßİıﬁ\u{300}-\u{303}\u{ad}🚀a-z-]{0,16}",
        "(red|fox|hen|Anna:|went|go|\\?| ){0,12}",
    ]
}

#[derive(Clone, Debug)]
struct Stored {
    text: String,
    created_at: i64,
    open: bool,
    session: Option<(String, u64)>,
    eligible: bool,
}

fn stored() -> impl Strategy<Value = Stored> {
    let session = prop::option::of(("[ab]", 0_u64..6));
    (text(), -2_i64..3, any::<bool>(), session, prop::bool::weighted(0.8)).prop_map(
        |(text, created_at, open, session, eligible)| Stored {
            text,
            created_at,
            open,
            session,
            eligible,
        },
    )
}

fn run(documents: &[Stored], query: &str, scorer: Scorer, k: usize) -> Vec<Ranked<usize>> {
    let mut ranker = Ranker::new(query, scorer, k, &Analyzer::default());
    for (at, d) in documents.iter().enumerate() {
        ranker.add(
            at,
            &Document {
                text: &[&d.text],
                created_at: d.created_at,
                open: d.open,
                session: d.session.as_ref().map(|(id, turn)| (id.as_str(), *turn)),
                eligible: d.eligible,
            },
        );
    }
    ranker.finish()
}

proptest! {
    /// Each run hashes with other keys, so that equal scores also show that no order of a hash map
    /// takes part in them.
    #[test]
    fn results_are_ordered_prefixes_and_repeatable(
        documents in prop::collection::vec(stored(), 0..20),
        query in text(),
    ) {
        for scorer in SCORERS {
            let all = run(&documents, &query, scorer, usize::MAX);
            for (at, hit) in all.iter().enumerate() {
                prop_assert!(hit.score.is_finite() && hit.score > 0.0);
                prop_assert!(documents[hit.key].eligible);
                prop_assert!(all[..at].iter().all(|other| other.key != hit.key));
            }
            for pair in all.windows(2) {
                let (a, b) = (pair[0], pair[1]);
                prop_assert!(
                    a.score > b.score
                        || a.score == b.score
                            && (-documents[a.key].created_at, a.key)
                                < (-documents[b.key].created_at, b.key)
                );
            }
            for k in 0..=all.len() {
                prop_assert_eq!(&run(&documents, &query, scorer, k)[..], &all[..k]);
            }
        }
    }

    /// An index that stores the terms of documents scores as a scan does, to the last bit.
    #[test]
    fn bm25_follows_from_stored_terms(
        documents in prop::collection::vec(stored(), 0..20),
        query in text(),
    ) {
        let analyzer = Analyzer::default();
        let terms = analyzer.query_terms(&query);
        let analyzed: Vec<_> =
            documents.iter().map(|d| analyzer.document_terms(&[&d.text])).collect();
        let average =
            bm25::average_length(analyzed.len() as u64, analyzed.iter().map(|d| d.length).sum());
        for hit in run(&documents, &query, Scorer::Bm25, usize::MAX) {
            let mut score = 0.0_f64;
            for term in &terms {
                if let Some(count) = analyzed[hit.key].counts.get(term) {
                    let holders = analyzed.iter().filter(|d| d.counts.contains_key(term)).count();
                    let idf = bm25::idf(analyzed.len() as u64, holders as u64);
                    score += bm25::weight(idf, *count, analyzed[hit.key].length, average);
                }
            }
            prop_assert_eq!(hit.score.to_bits(), score.to_bits());
        }
    }

    #[test]
    fn a_filter_only_removes(
        documents in prop::collection::vec(stored(), 0..20),
        query in text(),
    ) {
        let everyone: Vec<Stored> =
            documents.iter().cloned().map(|d| Stored { eligible: true, ..d }).collect();
        for scorer in SCORERS {
            let mut expected = run(&everyone, &query, scorer, usize::MAX);
            expected.retain(|hit| documents[hit.key].eligible);
            prop_assert_eq!(run(&documents, &query, scorer, usize::MAX), expected);
        }
    }

    #[test]
    fn a_text_finds_itself(text in text(), other in text()) {
        let has_terms = !Analyzer::default().query_terms(&text).is_empty();
        let has_tokens = !overlap_tokens(&text).is_empty();
        for (scorer, found) in
            SCORERS.into_iter().zip([has_tokens, has_terms, has_terms])
        {
            let hits = super::find(scorer, &[&other, &text], &text);
            prop_assert_eq!(hits.contains(&1), found, "{:?}", scorer);
        }
        prop_assert!(Substring::new(&text).matches(&[&*other, &*text, &*other].concat()));
    }

    #[test]
    fn no_language_panics(text in text()) {
        for language in Language::ALL {
            let analyzer = Analyzer::new(*language);
            let document = analyzer.document_terms(&[&text]);
            for term in analyzer.query_terms(&text) {
                prop_assert!(document.counts.contains_key(&term), "{language:?} {term:?}");
                prop_assert!(!term.is_empty() && term.len() <= 128);
            }
        }
    }

    #[test]
    fn substring_agrees_with_folded_contains(
        needle in "[aAbBß%_\0]{0,4}",
        haystack in "[aAbBsSßﬁ%_\0]{0,16}",
    ) {
        let expected = caseless::default_case_fold_str(&haystack)
            .contains(&caseless::default_case_fold_str(&needle));
        prop_assert_eq!(Substring::new(&needle).matches(&haystack), expected);
    }
}

//! Ties, limits, filters and statistics.

use super::super::{Analyzer, Document, Ranker, Scorer, bm25, fuse};
use super::{SCORERS, document};

#[test]
fn ties_are_newest_first_then_in_order_of_insertion() {
    for scorer in SCORERS {
        let mut ranker = Ranker::new("word", scorer, usize::MAX, &Analyzer::default());
        for (key, created_at) in [('a', 5), ('b', 9), ('c', 5), ('d', -1), ('e', 9)] {
            ranker.add(key, &Document { created_at, ..document(&["word"]) });
        }
        let keys: String = ranker.finish().iter().map(|r| r.key).collect();
        assert_eq!(keys, "beacd", "{scorer:?}");
    }
}

#[test]
fn the_limit_comes_after_the_filter() {
    for scorer in SCORERS {
        for (k, expected) in [(0, 0), (1, 1), (5, 2), (usize::MAX, 2)] {
            let mut ranker = Ranker::new("strong word", scorer, k, &Analyzer::default());
            for key in 0..2000 {
                let eligible = key % 1000 == 999;
                let text: &[&str] = if eligible { &["one word of many"] } else { &["strong word"] };
                let session = Some(("s", key * 10));
                ranker.add(key, &Document { session, eligible, ..document(text) });
            }
            assert_eq!(ranker.finish().len(), expected, "{scorer:?} {k}");
        }
    }
}

#[test]
fn bm25_is_the_formula() {
    let texts = ["red fox", "red red hen and dog", "blue"];
    let mut ranker = Ranker::new("fox red", Scorer::Bm25, 9, &Analyzer::default());
    for (at, text) in texts.iter().enumerate() {
        ranker.add(at, &Document { eligible: at != 1, ..document(&[text]) });
    }
    let found = ranker.finish();
    let average = bm25::average_length(3, 2 + 5 + 1);
    let expected =
        bm25::weight(bm25::idf(3, 1), 1, 2, average) + bm25::weight(bm25::idf(3, 2), 1, 2, average);
    assert_eq!(found.len(), 1, "a document that is not eligible counts, but is not returned");
    assert_eq!(found[0].score.to_bits(), expected.to_bits());
}

#[test]
fn idf_is_positive_even_for_a_term_of_every_document() {
    assert!(bm25::idf(10, 10) > 0.0);
    assert!(bm25::idf(10, 1) > bm25::idf(10, 2));
}

#[test]
fn fusion_adds_reciprocal_ranks() {
    let fused = fuse(&[vec!["a", "b", "b"], vec!["c", "b"]], 9);
    let keys: Vec<_> = fused.iter().map(|r| r.key).collect();
    assert_eq!(keys, ["b", "a", "c"]);
    assert_eq!(fused[0].score, 1.0 / 62.0 + 1.0 / 62.0);
    assert_eq!(fuse(&[vec![1, 2], vec![2]], 0), []);
    assert_eq!(fuse::<u8>(&[], usize::MAX), []);
}

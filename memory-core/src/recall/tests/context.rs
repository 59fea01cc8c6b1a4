//! What turns lend each other.

use super::super::{Analyzer, Document, Ranker, Scorer};
use super::document;

/// Keys and scores for turns of (session, index, text).
fn find(turns: &[(&str, u64, &str)], query: &str, k: usize) -> Vec<(usize, f64)> {
    let mut ranker = Ranker::new(query, Scorer::Context, k, &Analyzer::default());
    for (at, (session, index, text)) in turns.iter().enumerate() {
        let session = Some((*session, *index));
        ranker.add(at, &Document { session, ..document(&[text]) });
    }
    ranker.finish().into_iter().map(|r| (r.key, r.score)).collect()
}

fn keys(found: &[(usize, f64)]) -> Vec<usize> {
    found.iter().map(|(key, _)| *key).collect()
}

#[test]
fn an_answer_without_the_words_of_the_question_is_found_within_two_turns() {
    let turns = [
        ("a", 0, "nothing"),
        ("a", 1, "Where did you leave the telescope?"),
        ("a", 2, "In the garage."),
        ("a", 3, "Fine."),
        ("a", 4, "Too far away."),
        ("b", 2, "Another session."),
    ];
    assert_eq!(keys(&find(&turns, "telescope", 10)), [1, 2, 0, 3]);
}

#[test]
fn sessions_may_interleave_and_indexes_may_have_gaps() {
    let turns = [
        ("a", 0, "telescope"),
        ("b", 1, "other"),
        ("a", 3, "beyond the gap"),
        ("b", 0, "other"),
        ("a", 1, "near"),
        ("a", u64::MAX, "far"),
    ];
    assert_eq!(keys(&find(&turns, "telescope", 10)), [0, 4]);
}

#[test]
fn the_speaker_who_is_named_comes_before_who_is_spoken_to() {
    let turns = [
        ("a", 0, "Bob: the boat is ready, Anna"),
        ("b", 0, "Anna: the boat is ready, Bob"),
        ("c", 0, "Carl: something else"),
        ("d", 0, "Carl: once more"),
    ];
    assert_eq!(keys(&find(&turns, "Anna's boat", 2)), [1, 0]);
}

#[test]
fn without_sessions_it_is_bm25() {
    let texts = ["red fox?", "red hen", "Red: fox fox", "blue"];
    let [bm25, context] = [Scorer::Bm25, Scorer::Context].map(|scorer| {
        let mut ranker = Ranker::new("red fox", scorer, 9, &Analyzer::default());
        for (at, text) in texts.iter().enumerate() {
            ranker.add(at, &document(&[text]));
        }
        ranker.finish()
    });
    assert_eq!(bm25, context);
}

#[test]
fn everything_that_matches_is_returned_beyond_the_candidates() {
    let texts: Vec<String> = (0..3000).map(|i| "word ".repeat(i % 7 + 1)).collect();
    let turns: Vec<_> =
        (0_u64..).step_by(5).zip(&texts).map(|(i, t)| ("s", i, t.as_str())).collect();
    let all = find(&turns, "word", usize::MAX);
    assert_eq!(all.len(), 3000);
    assert!(all.is_sorted_by(|a, b| a.1 >= b.1));
    assert_eq!(find(&turns, "word", 1500), all[..1500]);
}

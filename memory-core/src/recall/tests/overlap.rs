//! Overlap is the reference's on ASCII, and loses no language.

use super::super::{Analyzer, Document, Ranker, Scorer, overlap_tokens};

#[test]
fn tokens() {
    for (text, expected) in [
        ("", &[][..]),
        ("CACHE EVICTION POLICY", &["cache", "eviction", "policy"]),
        ("The the-end of THEthe", &["the-end", "thethe"]),
        ("foo-bar- -foo a-- a-1", &["a--", "a-1", "foo", "foo-bar-"]),
        ("x86_64 1abc abc1 C++20 404 go", &["abc", "abc1", "x86"]),
        ("don't can't won't", &["don", "won"]),
        ("snake_case__name", &["case", "name", "snake"]),
        ("Kelvin \u{212a}elvin", &["kelvin"]),
        ("café cafe\u{301}", &["caf", "cafe", "café"]),
        ("straße", &["stra", "strasse"]),
        ("Überschall", &["berschall", "überschall"]),
        ("Σίσυφος ΣΑΣ", &["σίσυφοσ", "σασ"]),
        ("я", &["я"]),
        ("今天讨论", &["今天", "天讨", "讨论"]),
        ("猫 abc", &["abc", "猫"]),
        ("部署Python方案", &["python", "方案", "部署"]),
    ] {
        let mut expected: Vec<&str> = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(overlap_tokens(text).into_iter().collect::<Vec<_>>(), expected, "{text:?}");
    }
}

#[test]
fn distinct_tokens_of_all_parts_and_half_for_open() {
    let mut ranker = Ranker::new("cache eviction lru", Scorer::Overlap, 10, &Analyzer::default());
    let texts: [(&[&str], bool); 5] = [
        (&["cache", "cache cache eviction"], false),
        (&["cache", "eviction"], true),
        (&["cache", "none"], true),
        (&["nothing", "here"], true),
        (&["lru cache", "eviction"], false),
    ];
    for (at, (text, open)) in texts.iter().enumerate() {
        ranker
            .add(at, &Document { text, open: *open, created_at: 0, session: None, eligible: true });
    }
    let found: Vec<_> = ranker.finish().iter().map(|r| (r.key, r.score)).collect();
    assert_eq!(found, [(4, 3.0), (1, 2.5), (0, 2.0), (2, 1.5)]);
}

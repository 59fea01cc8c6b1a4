//! Rows 1 to 9: questions.

use memkeep::{
    FindTurns, ListStates, NewEpisode, NewNote, NewSession, NewTurn, PutState, RecallQuery, Scope,
    recall::Scorer,
};
use serde_json::json;

use crate::fixture::{Fixture, on_every_backend};

const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];

/// Stores each text as an episode, a turn and a note, among ballast.
async fn stored(fixture: &Fixture, texts: &[&str]) {
    let store = &fixture.store;
    store.start_session(NewSession::new().id("s")).await.unwrap();
    let ballast = ["the weather is fine", "unrelated words entirely", "more of the same"];
    for text in ballast.iter().chain(texts) {
        store.add_episode(NewEpisode::new(*text, "").id(*text)).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", *text).id(*text)).await.unwrap();
        store.add_note(NewNote::new(*text).id(*text)).await.unwrap();
    }
}

/// The ids that each kind of record answers, best first.
async fn answers(fixture: &Fixture, question: &str, scorer: Scorer) -> [Vec<String>; 3] {
    let query = RecallQuery::new(question).k(10_usize).scorer(scorer);
    let store = &fixture.store;
    let episodes = store.recall(&query).await.unwrap();
    let turns = store.recall_turns(&query).await.unwrap();
    let notes = store.recall_notes(&query).await.unwrap();
    [
        episodes.into_iter().map(|h| h.record.id.into()).collect(),
        turns.into_iter().map(|h| h.record.id.into()).collect(),
        notes.into_iter().map(|h| h.record.id.into()).collect(),
    ]
}

/// Bm25 and Context answer `question` with `text` first; Overlap does not fail.
async fn hit_first(fixture: &Fixture, question: &str, text: &str) {
    answers(fixture, question, Scorer::Overlap).await;
    for scorer in [Scorer::Bm25, Scorer::Context] {
        for ids in answers(fixture, question, scorer).await {
            assert_eq!(ids.first().map(String::as_str), Some(text), "{question:?} {scorer:?}");
        }
    }
}

on_every_backend! {
    /// 1.
    async fn no_text_is_a_syntax_error(fixture: Fixture) {
        let cases = [
            ("don't", "we don't retry"),
            ("a-b", "split a-b testing"),
            ("GB/s", "reads at 3 GB/s"),
            ("(MoMA)", "a visit to MoMA"),
            ("AND", "salt AND pepper"),
            ("NEAR(", "NEAR the river"),
            ("x:y", "plot x:y plane"),
        ];
        let texts = cases.map(|(_, text)| text);
        stored(&fixture, &texts).await;
        for (question, text) in cases {
            hit_first(&fixture, question, text).await;
        }
        for question in ["\"", "*", "?", "", " ", "\0", "'; DROP TABLE turns; --", "^$[](){}\\"] {
            for scorer in SCORERS {
                answers(&fixture, question, scorer).await;
            }
        }
        let long = "word ".repeat(10_000);
        answers(&fixture, &long, Scorer::Bm25).await;
    }

    /// 2.
    async fn model_names_are_words(fixture: Fixture) {
        stored(&fixture, &["gpt-4o failed", "gpt-4 works"]).await;
        hit_first(&fixture, "gpt-4o", "gpt-4o failed").await;
    }

    /// 3.
    async fn one_word_is_enough(fixture: Fixture) {
        stored(&fixture, &["workers crash after deploy"]).await;
        let question = "why do the workers crash right after a deploy";
        hit_first(&fixture, question, "workers crash after deploy").await;
    }

    /// 4.
    async fn wildcards_are_letters(fixture: Fixture) {
        for key in ["a_b", "axb", "a%", "A_b"] {
            fixture.store.put_state(PutState::new(key, json!(1))).await.unwrap();
        }
        let keys = async |prefix: &str| {
            let list = ListStates::new().prefix(prefix);
            let page = fixture.store.states(&list).await.unwrap();
            page.items.into_iter().map(|s| s.key).collect::<Vec<_>>()
        };
        assert_eq!(keys("a_").await, ["a_b"]);
        assert_eq!(keys("a%").await, ["a%"]);
        assert_eq!(keys("").await, ["A_b", "a%", "a_b", "axb"]);
        stored(&fixture, &["processed 1000 items", "coverage at 100%", "snakeXcase"]).await;
        let found = async |text: &str| {
            let turns = fixture.store.find_turns(&FindTurns::new(text)).await.unwrap();
            turns.into_iter().map(|t| t.content).collect::<Vec<_>>()
        };
        assert_eq!(found("100%").await, ["coverage at 100%"]);
        assert_eq!(found("%").await, ["coverage at 100%"]);
        assert!(found("snake_case").await.is_empty());
    }

    /// 5.
    async fn scripts_without_spaces_match(fixture: Fixture) {
        stored(&fixture, &["今天讨论了部署方案", "ฉันชอบอาหารไทย"]).await;
        hit_first(&fixture, "部署", "今天讨论了部署方案").await;
        hit_first(&fixture, "อาหาร", "ฉันชอบอาหารไทย").await;
        for ids in answers(&fixture, "部署", Scorer::Overlap).await {
            assert_eq!(ids, ["今天讨论了部署方案"]);
        }
    }

    /// 6 and 7.
    async fn identifiers_match_whole_and_in_parts(fixture: Fixture) {
        stored(&fixture, &["atomic_write_json", "getShippingMethodId"]).await;
        hit_first(&fixture, "atomic_write_json", "atomic_write_json").await;
        hit_first(&fixture, "atomic write", "atomic_write_json").await;
        hit_first(&fixture, "shipping method", "getShippingMethodId").await;
        hit_first(&fixture, "getShippingMethodId", "getShippingMethodId").await;
    }

    /// 8, and what recall of the reference cannot find.
    async fn case_and_accents_do_not_matter(fixture: Fixture) {
        let egypt = "Ägypten Тест";
        stored(&fixture, &[egypt, "the café is closed", "write it in C++", "status 404", "a caching layer"])
            .await;
        hit_first(&fixture, "ägypten", egypt).await;
        hit_first(&fixture, "ТЕСТ", egypt).await;
        hit_first(&fixture, "cafe", "the café is closed").await;
        hit_first(&fixture, "C++", "write it in C++").await;
        hit_first(&fixture, "404", "status 404").await;
        hit_first(&fixture, "cache", "a caching layer").await;
        for scorer in SCORERS {
            for question in ["İ", "ı", "İstanbul", "ılık"] {
                answers(&fixture, question, scorer).await;
            }
        }
    }

    /// 9.
    async fn filters_come_before_the_limit(fixture: Fixture) {
        let store = &fixture.store;
        for n in 0..600 {
            let strong = NewEpisode::new("cache eviction cache eviction", format!("{n}"));
            store.add_episode(strong.workspace("b")).await.unwrap();
        }
        for n in 0..2 {
            let weak = NewEpisode::new(format!("about a cache {n}"), "and other things besides");
            store.add_episode(weak.workspace("a")).await.unwrap();
        }
        for scorer in SCORERS {
            let query = RecallQuery::new("cache eviction").scope("a").k(5_usize).scorer(scorer);
            assert_eq!(store.recall(&query).await.unwrap().len(), 2, "{scorer:?}");
        }
    }

    /// What other workspaces hold changes no score of this one.
    async fn scores_are_of_the_workspace_alone(fixture: Fixture) {
        let store = &fixture.store;
        for text in ["cache policy", "cache cache eviction", "policy for eviction of things"] {
            store.add_episode(NewEpisode::new(text, "").workspace("a")).await.unwrap();
        }
        let query = RecallQuery::new("cache eviction").scope("a").k(9_usize);
        let mut before = Vec::new();
        for scorer in SCORERS {
            before.push(store.recall(&query.clone().scorer(scorer)).await.unwrap());
        }
        for n in 0..50 {
            let other = NewEpisode::new("cache", format!("{n}")).workspace("b");
            store.add_episode(other).await.unwrap();
        }
        for (scorer, before) in SCORERS.into_iter().zip(before) {
            let after = store.recall(&query.clone().scorer(scorer)).await.unwrap();
            let bits = |hits: &[memkeep::Hit<memkeep::Episode>]| {
                hits.iter().map(|h| (h.record.id.clone(), h.score.to_bits())).collect::<Vec<_>>()
            };
            assert_eq!(bits(&before), bits(&after), "{scorer:?}");
        }
        assert_eq!(store.stats(&Scope::from("a")).await.unwrap().counts.episodes, 3);
    }
}

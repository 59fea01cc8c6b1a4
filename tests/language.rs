//! The language of recall: asked for where a store is opened, in every backend.

#![cfg(all(feature = "inmem", feature = "redb", feature = "sqlite"))]

use std::{path::Path, sync::Arc};

use memkeep::{
    Batch, ErrorKind, MemoryBackend, NewEpisode, NewNote, NewSession, NewTurn, Op, RecallQuery,
    RecordKind,
    embedded::Writer as _,
    recall::{Language, Scorer, index::Coverage},
    redb::{RedbConfig, RedbEngine},
    verify::Verify,
};
use memkeep_kv::KvEngine;

type Store = Arc<dyn MemoryBackend>;

/// Which questions are answered in a language: by a word of the same stem, and by the word itself.
const ANSWERS: [(Language, [bool; 4]); 3] = [
    // Haus, häuser, run, running
    (Language::German, [true, true, false, true]),
    (Language::English, [false, true, true, true]),
    (Language::None, [false, true, false, true]),
];

/// A text of words that German stems meet, one of words that English stems meet, and another.
const TEXTS: [&str; 3] = ["Zwei alte Häuser", "it was running green", "something else of no use"];

async fn open(url: &str, language: Language) -> Store {
    let joint = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{joint}language={}", language.as_str());
    memkeep::open(&url).await.unwrap()
}

async fn fill(store: &Store) {
    let mut batch = Batch::new();
    batch.push(Op::StartSession(NewSession::new().id("s")));
    for (n, text) in TEXTS.into_iter().enumerate() {
        batch.push(NewEpisode::new(text, "").id(format!("e{n}")));
        batch.push(NewTurn::new("s", "user", text).id(format!("t{n}")));
        batch.push(NewNote::new(text).id(format!("n{n}")));
    }
    store.commit(batch).await.unwrap();
}

/// What is found of every kind of record, with the bits of the scores.
async fn found(store: &Store, text: &str, scorer: Scorer) -> [Vec<(String, u64)>; 3] {
    let query = RecallQuery::new(text).scorer(scorer);
    macro_rules! hits {
        ($recall:ident) => {{
            let hits = store.$recall(&query).await.unwrap();
            hits.iter().map(|hit| (hit.record.id.to_string(), hit.score.to_bits())).collect()
        }};
    }
    [hits!(recall), hits!(recall_turns), hits!(recall_notes)]
}

/// All that recall tells words apart by.
async fn everything(store: &Store) -> Vec<[Vec<(String, u64)>; 3]> {
    let mut answers = Vec::new();
    for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
        for text in ["Haus", "häuser green", "run", "running alt", "use"] {
            answers.push(found(store, text, scorer).await);
        }
    }
    answers
}

/// What a new store in `language` answers from the same records, without `gone`.
async fn expected(language: Language, gone: &[&str]) -> Vec<[Vec<(String, u64)>; 3]> {
    let store = open("inmem:", language).await;
    fill(&store).await;
    for id in gone {
        store.delete_note(&(*id).into()).await.unwrap();
    }
    everything(&store).await
}

async fn answers_in(store: &Store, language: Language, answers: [bool; 4]) {
    assert_eq!(store.info().language, language);
    for scorer in [Scorer::Bm25, Scorer::Context] {
        let asked = [("Haus", "0"), ("häuser", "0"), ("run", "1"), ("running", "1")];
        for ((text, best), is_answered) in asked.into_iter().zip(answers) {
            for hits in found(store, text, scorer).await {
                // The best: a turn's neighbours may follow it.
                let first = hits.first().map(|(id, _)| &id[1..]);
                assert_eq!(first, is_answered.then_some(best), "{text} in {language:?}");
            }
        }
    }
}

async fn is_sound(store: &Store) {
    assert_eq!(store.verify(&Verify::default()).await.unwrap().problems, []);
}

fn url(folder: &Path, scheme: &str) -> String {
    format!("{scheme}:{}", folder.join(scheme).display())
}

/// Whether the file of a closed store has whole indexes, of this language.
fn is_indexed(folder: &Path, scheme: &str, language: Language) -> bool {
    let path = folder.join(scheme);
    if scheme == "sqlite" {
        // What an index covers is under this key, with the language's name.
        let sql = "SELECT count(*) FROM recall WHERE key = x'03' AND instr(value, ?1) > 0";
        let name = language.as_str().as_bytes();
        let file = rusqlite::Connection::open(path).unwrap();
        return file.query_row(sql, [name], |row| row.get::<_, i64>(0)).unwrap() == 3;
    }
    let (_, mut writer) =
        KvEngine::open(RedbEngine::open(RedbConfig::new(path)).unwrap(), 0).unwrap();
    let view = writer.view();
    [RecordKind::Episode, RecordKind::Turn, RecordKind::Note].into_iter().all(|kind| {
        let coverage = Coverage::get(&*view.index(kind).unwrap(), language).unwrap();
        coverage.last == view.last_number(kind).unwrap()
    })
}

#[tokio::test]
async fn words_meet_by_the_stems_of_the_language() {
    let folder = tempfile::tempdir().unwrap();
    for (language, answers) in ANSWERS {
        let here = folder.path().join(language.as_str());
        for url in ["inmem:".to_owned(), url(&here, "redb"), url(&here, "sqlite")] {
            let store = open(&url, language).await;
            fill(&store).await;
            answers_in(&store, language, answers).await;
            store.reindex().await.unwrap();
            answers_in(&store, language, answers).await;
            assert_eq!(everything(&store).await, expected(language, &[]).await, "{url}");
        }
    }
    let store = memkeep::open("inmem:").await.unwrap();
    assert_eq!(store.info().language, Language::English);
}

#[tokio::test]
async fn overlap_knows_no_language() {
    let english = open("inmem:", Language::English).await;
    fill(&english).await;
    for language in Language::ALL {
        let store = open("inmem:", *language).await;
        fill(&store).await;
        for text in ["Haus", "häuser green", "run", "running", "the use of something"] {
            let hits = found(&store, text, Scorer::Overlap).await;
            assert_eq!(hits, found(&english, text, Scorer::Overlap).await, "{language:?}");
        }
    }
}

#[tokio::test]
async fn an_index_of_another_language_is_made_anew_and_answers_nothing_meanwhile() {
    for scheme in ["redb", "sqlite"] {
        let folder = tempfile::tempdir().unwrap();
        let url = url(folder.path(), scheme);
        let store = open(&url, Language::English).await;
        fill(&store).await;
        store.reindex().await.unwrap();
        store.close().await.unwrap();
        drop(store);
        assert!(is_indexed(folder.path(), scheme, Language::English));

        // Who only reads makes no index: this one stays another language's.
        let reader = open(&format!("{url}?read_only=true"), Language::German).await;
        assert_eq!(everything(&reader).await, expected(Language::German, &[]).await, "{scheme}");
        is_sound(&reader).await;
        reader.close().await.unwrap();
        drop(reader);
        assert!(is_indexed(folder.path(), scheme, Language::English));

        for (language, anew) in [(Language::German, false), (Language::None, true)] {
            let store = open(&url, language).await;
            assert_eq!(everything(&store).await, expected(language, &[]).await, "{scheme}");
            is_sound(&store).await;
            // Compacting waits for what would be done in the background.
            if anew { store.reindex().await } else { store.compact().await }.unwrap();
            assert_eq!(everything(&store).await, expected(language, &[]).await, "{scheme}");
            is_sound(&store).await;
            store.close().await.unwrap();
            drop(store);
            assert!(is_indexed(folder.path(), scheme, language), "{scheme} {language:?}");
        }
    }
}

#[tokio::test]
async fn handles_of_different_languages_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "sqlite");
    let english = open(&url, Language::English).await;
    fill(&english).await;
    let german = open(&url, Language::German).await;
    let mut gone = Vec::new();
    for id in ["n0", "n1"] {
        // The one that deletes must take care of the other's index.
        english.reindex().await.unwrap();
        german.reindex().await.unwrap();
        english.delete_note(&id.into()).await.unwrap();
        gone.push(id);
        for (store, language) in [(&german, Language::German), (&english, Language::English)] {
            assert_eq!(everything(store).await, expected(language, &gone).await, "{language:?}");
            is_sound(store).await;
        }
    }
}

#[tokio::test]
async fn handles_of_different_languages_make_the_index_anew_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(folder.path(), "sqlite");
    let english = open(&url, Language::English).await;
    // More than are indexed in one step.
    for _ in 0..8 {
        let notes = (0..500).map(|n| Op::from(NewNote::new(format!("running late {n}"))));
        english.commit(notes.collect()).await.unwrap();
    }
    let german = open(&url, Language::German).await;
    let (first, second) = tokio::join!(english.reindex(), german.reindex());
    first.and(second).unwrap();
    for (store, is_answered) in [(&english, true), (&german, false)] {
        let [_, _, notes] = found(store, "run", Scorer::Bm25).await;
        assert_eq!(!notes.is_empty(), is_answered);
    }
}

#[tokio::test]
async fn an_unknown_language_is_refused() {
    for url in ["inmem:", "redb:a.redb", "sqlite:a.db", "postgres://127.0.0.1:1/a"] {
        if url.starts_with("postgres") && cfg!(not(feature = "postgres")) {
            continue;
        }
        let opened = memkeep::open(&format!("{url}?language=klingon")).await;
        let error = opened.map(|store| store.info()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
        assert!(error.to_string().contains("none, arabic, danish"), "{error}");
    }
}

#[cfg(feature = "postgres")]
memkeep_postgres_testing::server_tests! {
    async fn a_server_answers_each_handle_in_its_language() {
        let url = memkeep_postgres_testing::Server::shared().url("postgres");
        let url = format!("{url}?schema=of_languages");
        fill(&open(&url, Language::English).await).await;
        for (language, answers) in ANSWERS {
            let store = open(&url, language).await;
            answers_in(&store, language, answers).await;
            assert_eq!(everything(&store).await, expected(language, &[]).await);
        }
    }
}

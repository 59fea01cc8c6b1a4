//! Recall: any text is a question, and what people expect it to find.

use memkeep_core::{
    Batch, NewEpisode, NewNote, NewSession, NewTurn, Op, RecallQuery, Record, RecordKind,
    recall::Scorer,
};

use super::{kinds::of_kinds, mirror::hits};
use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal},
};

const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];

fn new(kind: RecordKind, text: &str, id: &str) -> Op {
    match kind {
        RecordKind::Episode => NewEpisode::new(text, "").id(id).into(),
        RecordKind::Turn => NewTurn::new("s", "user", text).id(id).into(),
        _ => NewNote::new(text).id(id).into(),
    }
}

/// Stores each text as a record with the text as its id, among ballast.
async fn stored(case: &Case, kind: RecordKind, texts: &[&str]) -> Verdict {
    let ballast = ["the weather is fine", "unrelated words entirely", "more of the same"];
    let mut batch = Batch::new();
    if kind == RecordKind::Turn {
        batch.push(Op::StartSession(NewSession::new().id("s")));
    }
    for text in ballast.iter().chain(texts) {
        batch.push(new(kind, text, text));
    }
    case.backend().commit(batch).await?;
    Ok(())
}

/// The ids of the answer, best first.
async fn answer(
    case: &Case,
    kind: RecordKind,
    question: &str,
    scorer: Scorer,
) -> Result<Vec<String>, Failure> {
    let query = RecallQuery::new(question).k(10_usize).scorer(scorer);
    Ok(hits(case, kind, &query).await?.iter().map(|(r, _)| r.id().to_owned()).collect())
}

/// Bm25 and Context answer each question with the text beside it first; Overlap does not fail.
async fn hit_first(case: &Case, kind: RecordKind, expected: &[(&str, &str)]) -> Verdict {
    for (question, text) in expected {
        answer(case, kind, question, Scorer::Overlap).await?;
        for scorer in [Scorer::Bm25, Scorer::Context] {
            let ids = answer(case, kind, question, scorer).await?;
            let first = ids.first().map(String::as_str);
            must_equal!(first, Some(*text), "{scorer:?}'s first hit for {question:?}");
        }
    }
    Ok(())
}

/// No scorer refuses a question.
async fn no_error(case: &Case, kind: RecordKind, questions: &[&str]) -> Verdict {
    for question in questions {
        for scorer in SCORERS {
            answer(case, kind, question, scorer).await?;
        }
    }
    Ok(())
}

async fn no_syntax(case: &mut Case, kind: RecordKind) -> Verdict {
    let expected = [
        ("don't", "we don't retry"),
        ("a-b", "split a-b testing"),
        ("GB/s", "reads at 3 GB/s"),
        ("(MoMA)", "a visit to MoMA"),
        ("AND", "salt AND pepper"),
        ("NEAR(", "NEAR the river"),
        ("x:y", "plot x:y plane"),
    ];
    stored(case, kind, &expected.map(|(_, text)| text)).await?;
    hit_first(case, kind, &expected).await?;
    let hostile = [
        "\"",
        "*",
        "?",
        "",
        " ",
        "\0",
        "'; DROP TABLE turns; --",
        "^$[](){}\\",
        "OR",
        "NOT a",
        "a AND (b",
        "text:*",
        "\"open",
        "-x",
        "%",
        "_",
        "\u{202e}",
        "\u{fffd}",
        "🦀",
    ];
    no_error(case, kind, &hostile).await?;
    let long = "word ".repeat(10_000);
    no_error(case, kind, &[&long]).await
}

async fn nothing_asked(case: &mut Case, kind: RecordKind) -> Verdict {
    stored(case, kind, &["a text"]).await?;
    for question in ["", " ", "\n\t", "?!", "zyzzyva"] {
        for scorer in SCORERS {
            let ids = answer(case, kind, question, scorer).await?;
            must_equal!(ids, [""; 0], "{scorer:?}'s answer to {question:?}");
        }
    }
    Ok(())
}

async fn model_names(case: &mut Case, kind: RecordKind) -> Verdict {
    stored(case, kind, &["gpt-4o failed", "gpt-4 works"]).await?;
    hit_first(case, kind, &[("gpt-4o", "gpt-4o failed")]).await
}

async fn one_word_is_enough(case: &mut Case, kind: RecordKind) -> Verdict {
    let text = "workers crash after deploy";
    stored(case, kind, &[text]).await?;
    let question = "why do the workers crash right after a deploy";
    hit_first(case, kind, &[(question, text), ("does it crash", text)]).await?;
    let ids = answer(case, kind, question, Scorer::Overlap).await?;
    must_equal!(ids, [text], "Overlap's answer");
    Ok(())
}

async fn scripts_without_spaces(case: &mut Case, kind: RecordKind) -> Verdict {
    let (chinese, thai, japanese) = ("今天讨论了部署方案", "ฉันชอบอาหารไทย", "東京タワーに行った");
    stored(case, kind, &[chinese, thai, japanese]).await?;
    hit_first(case, kind, &[("部署", chinese), ("อาหาร", thai), ("タワー", japanese)]).await?;
    for (question, text) in [("部署", chinese), ("อาหาร", thai)] {
        let ids = answer(case, kind, question, Scorer::Overlap).await?;
        must_equal!(ids, [text], "Overlap's answer to {question:?}");
    }
    Ok(())
}

async fn identifiers(case: &mut Case, kind: RecordKind) -> Verdict {
    let (snake, camel) = ("atomic_write_json", "getShippingMethodId");
    stored(case, kind, &[snake, camel, "axb"]).await?;
    let expected =
        [(snake, snake), ("atomic write", snake), (camel, camel), ("shipping method", camel)];
    hit_first(case, kind, &expected).await
}

async fn case_and_accents(case: &mut Case, kind: RecordKind) -> Verdict {
    let (egypt, closed) = ("Ägypten Тест", "the café is closed");
    stored(case, kind, &[egypt, closed, "небо над городом"]).await?;
    let expected =
        [("ägypten", egypt), ("ТЕСТ", egypt), ("cafe", closed), ("НЕБО", "небо над городом")];
    hit_first(case, kind, &expected).await?;
    for question in ["ägypten", "ТЕСТ"] {
        let ids = answer(case, kind, question, Scorer::Overlap).await?;
        must_equal!(ids, [egypt], "Overlap's answer to {question:?}");
    }
    no_error(case, kind, &["İ", "ı", "İstanbul", "ılık", "ǅ", "ß", "ﬁ"]).await
}

async fn symbols_and_numbers(case: &mut Case, kind: RecordKind) -> Verdict {
    stored(case, kind, &["write it in C++", "status 404", "a caching layer"]).await?;
    let expected =
        [("C++", "write it in C++"), ("404", "status 404"), ("cache", "a caching layer")];
    hit_first(case, kind, &expected).await
}

async fn behind_a_nul(case: &mut Case, kind: RecordKind) -> Verdict {
    stored(case, kind, &["before\0behind", "\0\0zebra"]).await?;
    let expected =
        [("behind", "before\0behind"), ("before", "before\0behind"), ("zebra", "\0\0zebra")];
    hit_first(case, kind, &expected).await?;
    hit_first(case, kind, &[("nothing\0behind", "before\0behind")]).await
}

/// Fourteen bytes each with the space after it.
const UNIQUE_WORDS: usize = 150_000;

async fn two_megabytes(case: &mut Case, kind: RecordKind) -> Verdict {
    let words: Vec<String> = (0..UNIQUE_WORDS).map(|n| format!("w{n:06}thing ")).collect();
    let text = words.concat();
    stored(case, kind, &["small"]).await?;
    case.backend().commit_one(new(kind, &text, "big")).await?;
    for word in [&words[1], &words[UNIQUE_WORDS - 1]] {
        for scorer in SCORERS {
            let query = RecallQuery::new(word.trim()).scorer(scorer);
            let found = hits(case, kind, &query).await?;
            // Under Context, neighbours follow.
            let first = found.first().map(|(record, _)| record);
            must_equal!(first.map(Record::id), Some("big"), "{scorer:?}'s first hit for {word:?}");
            let whole = match first {
                Some(Record::Episode(r)) => r.problem == text,
                Some(Record::Turn(r)) => r.content == text,
                Some(Record::Note(r)) => r.text == text,
                _ => false,
            };
            must!(whole, first, "the hit is the whole text of {} bytes", text.len());
        }
    }
    Ok(())
}

of_kinds! {
    no_syntax nothing_asked model_names one_word_is_enough scripts_without_spaces identifiers
    case_and_accents symbols_and_numbers behind_a_nul two_megabytes
}

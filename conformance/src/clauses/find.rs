//! Find: a literal text, case-folded.

use memkeep_core::{FindTurns, NewSession, NewTurn, Op, Timestamp};

use crate::{
    Case, Failure, Verdict,
    failure::{must_equal, must_refuse},
};

/// One turn of the session `s` for each text.
async fn say(case: &Case, texts: &[&str]) -> Verdict {
    let store = case.sessions()?;
    store.ensure_session(NewSession::new().id("s")).await?;
    store.commit(texts.iter().map(|text| NewTurn::new("s", "user", *text)).collect()).await?;
    Ok(())
}

async fn found(case: &Case, find: &FindTurns) -> Result<Vec<String>, Failure> {
    let turns = case.sessions()?.find_turns(find).await?;
    Ok(turns.into_iter().map(|turn| turn.content).collect())
}

/// Each text finds exactly the turns beside it, in this order.
async fn finds(case: &Case, expected: &[(&str, &[&str])]) -> Verdict {
    for (text, contents) in expected {
        let find = FindTurns::new(*text).limit(usize::MAX);
        must_equal!(found(case, &find).await?, *contents, "the turns with {text:?} in them");
    }
    Ok(())
}

pub(crate) async fn wildcards_are_letters(case: &mut Case) -> Verdict {
    let texts = ["processed 1000 items", "at 100%", "snakeXcase", "a_b", "[ab]*", "back\\slash?"];
    say(case, &texts).await?;
    finds(
        case,
        &[
            ("100%", &["at 100%"]),
            ("%", &["at 100%"]),
            ("_", &["a_b"]),
            ("snake_case", &[]),
            ("[ab]*", &["[ab]*"]),
            ("*", &["[ab]*"]),
            ("back\\", &["back\\slash?"]),
            ("slash?", &["back\\slash?"]),
            ("1000 ", &["processed 1000 items"]),
            (".*", &[]),
            ("' OR 1=1 --", &[]),
        ],
    )
    .await
}

pub(crate) async fn inside_of_words(case: &mut Case) -> Verdict {
    say(case, &["getShippingMethodId", "one two  three", "今天讨论了部署方案", "aaaaab"]).await?;
    finds(
        case,
        &[
            ("ppingMeth", &["getShippingMethodId"]),
            ("one two  three", &["one two  three"]),
            ("two three", &[]),
            ("three two", &[]),
            ("论了部", &["今天讨论了部署方案"]),
            ("aaab", &["aaaaab"]),
            (" ", &["one two  three"]),
        ],
    )
    .await
}

pub(crate) async fn case_is_folded(case: &mut Case) -> Verdict {
    say(case, &["Ägypten Тест", "Straße", "ΟΔΟΣ", "café", "cafe", "\u{212a}elvin"]).await?;
    finds(
        case,
        &[
            ("ägyPTEN", &["Ägypten Тест"]),
            ("ТЕСТ", &["Ägypten Тест"]),
            ("STRASSE", &["Straße"]),
            ("strasse", &["Straße"]),
            ("οδος", &["ΟΔΟΣ"]),
            ("οδοσ", &["ΟΔΟΣ"]),
            ("kelvin", &["\u{212a}elvin"]),
            // Accents are not case.
            ("CAFÉ", &["café"]),
            ("CAFE", &["cafe"]),
            ("agypten", &[]),
        ],
    )
    .await
}

pub(crate) async fn nul_is_a_letter(case: &mut Case) -> Verdict {
    let texts = ["before\0after", "\0", "before", "\u{1}\u{2}"];
    say(case, &texts).await?;
    finds(
        case,
        &[
            ("after", &["before\0after"]),
            ("e\0a", &["before\0after"]),
            ("\0", &["before\0after", "\0"]),
            ("before", &["before\0after", "before"]),
            ("\u{1}", &["\u{1}\u{2}"]),
            ("\u{2}", &["\u{1}\u{2}"]),
            ("\0\0", &[]),
        ],
    )
    .await
}

/// Ties, a backdated turn, and one recorded last that is not the newest.
async fn in_time(case: &Case) -> Verdict {
    let store = case.sessions()?;
    for session in ["s", "other"] {
        store.start_session(NewSession::new().id(session)).await?;
    }
    let turns = [
        ("s", "user", "x tie 1", 20),
        ("s", "tool", "x oldest", 5),
        ("other", "user", "x tie 2", 20),
        ("s", "tool", "x newest", 30),
        ("s", "user", "no match", 40),
        ("s", "user", "x tie 3", 20),
        ("other", "tool", "x older", 10),
    ];
    for (session, role, text, at) in turns {
        let turn = NewTurn::new(session, role, text).id(text).created_at(Case::at(at));
        store.record_turn(turn).await?;
    }
    Ok(())
}

const IN_TIME: [&str; 6] = ["x newest", "x tie 1", "x tie 2", "x tie 3", "x older", "x oldest"];

pub(crate) async fn newest_first(case: &mut Case) -> Verdict {
    in_time(case).await?;
    finds(case, &[("x", &IN_TIME)]).await?;
    // 1970 is no beginning.
    let mut expected = IN_TIME.to_vec();
    for (text, at) in [("x of 1969", -1), ("x of the year 0", Timestamp::MIN.as_micros())] {
        let at = Timestamp::from_micros(at).unwrap_or_default();
        case.sessions()?.record_turn(NewTurn::new("s", "user", text).created_at(at)).await?;
        expected.push(text);
    }
    finds(case, &[("x", &expected)]).await
}

pub(crate) async fn at_most_limit(case: &mut Case) -> Verdict {
    in_time(case).await?;
    for limit in [0, 1, 3, 6, 7, usize::MAX] {
        let turns = found(case, &FindTurns::new("X").limit(limit)).await?;
        must_equal!(turns, IN_TIME[..limit.min(6)], "the turns found at limit {limit}");
    }
    let more: Vec<String> = (0..11).map(|n| format!("ten by default {n:02}")).collect();
    say(case, &more.iter().map(String::as_str).collect::<Vec<_>>()).await?;
    let turns = found(case, &FindTurns::new("by default")).await?;
    must_equal!(turns, more[..10], "the turns found without a limit");
    Ok(())
}

pub(crate) async fn of_a_role(case: &mut Case) -> Verdict {
    in_time(case).await?;
    let find = FindTurns::new("x").role("tool".to_owned());
    let expected = ["x newest", "x older", "x oldest"];
    must_equal!(found(case, &find).await?, expected, "the turns of a role");
    // The filter comes before the limit.
    let find = FindTurns::new("x").role("user".to_owned()).limit(1_usize);
    must_equal!(found(case, &find).await?, ["x tie 1"], "the first turn of another role");
    let find = FindTurns::new("x").role("Tool".to_owned());
    must_equal!(found(case, &find).await?, [""; 0], "the turns of an unknown role");
    Ok(())
}

pub(crate) async fn what_is_there_now(case: &mut Case) -> Verdict {
    in_time(case).await?;
    let store = case.sessions()?;
    store.commit_one(Op::DeleteTurn { turn: "x tie 1".into() }).await?;
    finds(case, &[("x tie", &["x tie 2", "x tie 3"])]).await?;
    // Put back, it comes after the others of its time.
    let turn = NewTurn::new("s", "user", "x tie 1").id("x tie 1").created_at(Case::at(20));
    store.record_turn(turn).await?;
    finds(case, &[("x tie", &["x tie 2", "x tie 3", "x tie 1"])]).await
}

pub(crate) async fn empty_is_refused(case: &mut Case) -> Verdict {
    say(case, &["text", ""]).await?;
    let store = case.sessions()?;
    for find in [FindTurns::new(""), FindTurns::new("").limit(0_usize)] {
        let error = must_refuse!(store.find_turns(&find).await, InvalidArgument, "an empty text");
        must_equal!(error.get("field"), Some("text"), "the field");
    }
    Ok(())
}

pub(crate) async fn long_texts(case: &mut Case) -> Verdict {
    let long = "ab".repeat(50_000);
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let turn = NewTurn::new("s", "user", format!("{long}c")).id("long");
    store.record_turn(turn).await?;
    for (text, hits) in [(format!("{}C", &long[1..]), 1), (format!("{long}b"), 0)] {
        let turns = store.find_turns(&FindTurns::new(text)).await?;
        must_equal!(turns.len(), hits, "the turns with 100,000 characters in them");
    }
    Ok(())
}

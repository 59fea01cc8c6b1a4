//! Fidelity: what goes in comes out, in every field of every kind of record.

use std::collections::BTreeMap;

use memkeep_core::{
    FindTurns, Json, ListSessions, ListTurns, NewSession, NewTurn, RecallQuery, Record, RecordKind,
    Scan, Scope, Session, Timestamp, Turn,
};
use serde_json::json;

use super::sample::{Sample, read_all};
use crate::{Case, Failure, Verdict, failure::must_equal};

async fn round_trip(case: &Case, samples: Vec<Sample>) -> Verdict {
    for sample in &samples {
        sample.write(case).await?;
    }
    read_all(case, &samples).await
}

pub(crate) async fn fields(case: &mut Case) -> Verdict {
    round_trip(case, (0..3).map(Sample::new).collect()).await
}

pub(crate) async fn numbers(case: &mut Case) -> Verdict {
    round_trip(case, with_numbers(case.seed)).await
}

pub(crate) async fn json(case: &mut Case) -> Verdict {
    round_trip(case, with_shapes()).await
}

pub(crate) async fn times(case: &mut Case) -> Verdict {
    round_trip(case, with_times(case.seed)).await
}

pub(crate) async fn sizes(case: &mut Case) -> Verdict {
    let big = Sample::each(vec![words().join(" ")], |sample, text| {
        sample.json = json!({ "text": text });
        sample.text = text;
    });
    round_trip(case, big).await
}

pub(crate) async fn reopening(case: &mut Case) -> Verdict {
    let mut samples: Vec<Sample> = (0..3).map(Sample::new).collect();
    samples.extend(with_numbers(case.seed));
    samples.extend(with_shapes());
    for (n, sample) in samples.iter_mut().enumerate() {
        sample.renumber(n);
        sample.write(case).await?;
    }
    case.reopen().await?;
    read_all(case, &samples).await
}

/// A session and its two turns, in which every text that may be absent is `text`.
async fn optional(case: &Case, id: &str, text: Option<String>) -> Result<Vec<Record>, Failure> {
    let store = case.sessions()?;
    let mut new = NewSession::new().id(id);
    (new.model, new.mode) = (text.clone(), text.clone());
    store.start_session(new).await?;
    let mut turn = NewTurn::new(id, "user", "zebra").id(id);
    let tags = BTreeMap::from(["", "tag"].map(|name| (name.to_owned(), text.clone())));
    (turn.model, turn.embedding_id) = (text.clone(), text.clone());
    turn.tags = Some(tags.clone());
    let turn = store.record_turn(turn).await?;
    // The same, come to by changes from the opposite.
    let opposite = if text.is_none() { Some(String::new()) } else { None };
    let mut changed = NewTurn::new(id, "user", "zebra").id(format!("{id} changed"));
    changed.embedding_id.clone_from(&opposite);
    let changed = store.record_turn(changed).await?;
    for value in [opposite.clone(), text.clone()] {
        store.tag_turn(&changed.id, "", value.clone()).await?;
        store.tag_turn(&changed.id, "tag", value.clone()).await?;
        store.set_embedding(&changed.id, value).await?;
    }
    store.set_summary(&id.into(), opposite).await?;
    let session = store.set_summary(&id.into(), text.clone()).await?;
    let session = Session {
        model: text.clone(),
        mode: text.clone(),
        summary: text.clone(),
        first_prompt: Some("zebra".to_owned()),
        ..session
    };
    let turn = Turn { model: text.clone(), embedding_id: text.clone(), tags: tags.clone(), ..turn };
    let changed = Turn { embedding_id: text, tags, ..changed };
    Ok(vec![Record::Session(session), Record::Turn(turn), Record::Turn(changed)])
}

/// Every read gives these sessions and turns.
async fn optional_read(case: &Case, written: &[Record]) -> Verdict {
    let store = case.sessions()?;
    let mut turns = Vec::new();
    for record in written {
        let read = match record {
            Record::Session(r) => store.session(&Scope::All, &r.id).await?.map(Record::Session),
            Record::Turn(r) => {
                turns.push(record);
                store.turn(&Scope::All, &r.id).await?.map(Record::Turn)
            }
            _ => None,
        };
        must_equal!(read.as_ref(), Some(record), "the record by its id");
    }
    let mut listed = Vec::new();
    for session in store.sessions(&ListSessions::new()).await?.items {
        let turns = store.turns(&ListTurns::new(&session.id)).await?.items;
        listed.push(Record::Session(session));
        listed.extend(turns.into_iter().map(Record::Turn));
    }
    must_equal!(listed, written, "the records in lists");
    let found = store.find_turns(&FindTurns::new("zebra")).await?;
    let found: Vec<Record> = found.into_iter().map(Record::Turn).collect();
    must_equal!(found.iter().collect::<Vec<_>>(), turns, "the turns found");
    let recalled = store.recall_turns(&RecallQuery::new("zebra").k(99_usize)).await?;
    let mut recalled: Vec<Record> =
        recalled.into_iter().map(|hit| Record::Turn(hit.record)).collect();
    recalled.sort_by_key(|record| turns.iter().position(|turn| turn.id() == record.id()));
    must_equal!(recalled.iter().collect::<Vec<_>>(), turns, "the turns recalled");
    let scanned = store.scan(&Scan::new(RecordKind::Turn)).await?.items;
    must_equal!(scanned.iter().collect::<Vec<_>>(), turns, "the turns scanned");
    Ok(())
}

pub(crate) async fn empty_is_not_absent(case: &mut Case) -> Verdict {
    let mut written = optional(case, "empty", Some(String::new())).await?;
    written.extend(optional(case, "absent", None).await?);
    optional_read(case, &written).await
}

pub(crate) async fn empty_is_not_absent_after_reopening(case: &mut Case) -> Verdict {
    let mut written = optional(case, "empty", Some(String::new())).await?;
    written.extend(optional(case, "absent", None).await?);
    case.reopen().await?;
    optional_read(case, &written).await
}

fn with_numbers(seed: u64) -> Vec<Sample> {
    let mut random = seed;
    let mut random = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random ^ (random >> 29)
    };
    let integers = [0, 1, -1, i64::MIN, i64::MAX, (1 << 53) + 1, 2_512_292_042_121_000_001];
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        0.1 + 0.2,
        1e16,
        1e-7,
        1e300,
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        9_007_199_254_740_993.0,
        123_456_789.123_456_78,
    ];
    let mut numbers: Vec<Json> = integers.map(Json::from).to_vec();
    numbers.extend([Json::from(u64::MAX), Json::from(1_u64 << 63)]);
    numbers.extend(floats.map(Json::from));
    let floats: Vec<f64> =
        (0..200).map(|_| f64::from_bits(random())).filter(|f| f.is_finite()).collect();
    let integers: Vec<u64> = (0..100).map(|_| random()).collect();
    numbers.extend([json!(floats), json!(integers)]);
    Sample::each(numbers, |sample, number| sample.json = number)
}

fn with_shapes() -> Vec<Sample> {
    let nested = |wrap: fn(Json) -> Json| (0..99).fold(Json::Null, |inner, _| wrap(inner));
    let wide: Json = (0..10_000).collect::<Vec<_>>().into();
    let keys =
        ["", " ", "a.b", "$", "A", "a", "é", "e\u{301}", "\u{1}", "\u{10ffff}", "😬", "\u{ffff}"];
    let keyed: Json = keys.iter().map(|key| ((*key).to_owned(), json!(key))).collect();
    let shapes = vec![
        json!(null),
        json!(true),
        json!(false),
        json!(""),
        json!("text"),
        json!([]),
        json!({}),
        json!([[]]),
        json!([{}]),
        json!([null]),
        json!({"": {}}),
        json!({"a": null}),
        json!([1, "1", 1.0, true, null]),
        json!("{\"a\":1}"),
        json!("null"),
        nested(|inner| json!([inner])),
        nested(|inner| json!({"a": inner})),
        wide,
        keyed,
    ];
    Sample::each(shapes, |sample, shape| sample.json = shape)
}

fn with_times(seed: u64) -> Vec<Sample> {
    let (first, last) = (Timestamp::MIN.as_micros(), Timestamp::MAX.as_micros());
    let span = last.abs_diff(first);
    let mut times = vec![
        first,
        first + 1,
        -62_135_596_800_000_000,
        -12_219_292_800_000_001,
        -1_000_001,
        -1,
        0,
        1,
        999_999,
        2_147_483_647_999_999,
        2_147_483_648_000_000,
        1_767_225_599_876_543,
        last - 1,
        last,
    ];
    let random = (1..20).map(|n: u64| seed.wrapping_mul(n) % span);
    times.extend(random.filter_map(|offset| first.checked_add_unsigned(offset)));
    let times = times.into_iter().filter_map(Timestamp::from_micros).collect();
    Sample::each(times, |sample, at| sample.at = at)
}

/// 2 MB of words that do not repeat.
fn words() -> Vec<String> {
    (0..290_000).map(|n| format!("w{n:x}q")).collect()
}

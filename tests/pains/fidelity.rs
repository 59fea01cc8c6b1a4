//! Rows 26 to 31: what goes in comes out.

use std::collections::BTreeMap;

use memkeep::{
    Batch, EpisodeId, ErrorKind, Json, Metadata, NewAudit, NewEpisode, NewNote, NewSession,
    NewStep, NewTurn, Op, PutState, RecallQuery, Record, RecordKind, Scan, Scope, StateSlot,
    Timestamp, Workspace, recall::Scorer,
};
use serde_json::json;

use crate::fixture::{Fixture, START, on_every_backend};

fn hostile() -> Vec<String> {
    vec![
        "a\0b".to_owned(),
        "\0".repeat(10_291),
        String::new(),
        " \t\r\n".to_owned(),
        "\u{feff}bom \u{202e}rtl \u{200d}joiner".to_owned(),
        "e\u{301} is not é".to_owned(),
        "😬 \u{10ffff} \u{fffd} \u{e000}".to_owned(),
        "'; DROP TABLE turns; -- \" \\ % _ ?1 :x $y".to_owned(),
        "\u{1}\u{1b}[31m\u{7f}".to_owned(),
    ]
}

fn numbers() -> Json {
    json!({
        "k": "\u{0}",
        "big": 2_512_292_042_121_000_001_i64,
        "max": u64::MAX,
        "min": i64::MIN,
        "floats": [0.1, -0.0, 1e300, 5e-324, 1.0, 0.1 + 0.2],
        "nested": [[], {}, null, true, ""],
    })
}

on_every_backend! {
    /// 26, 30 and 31: what a write returns is what a read returns, for every kind of record.
    async fn records_come_back_as_they_were(fixture: Fixture) {
        let Json::Object(metadata) = numbers() else { panic!("an object") };
        let micros = Timestamp::from_micros(START - 123_457).unwrap();
        let mut written: Vec<Record> = Vec::new();
        for text in hostile() {
            let name = format!("{}-", text.chars().take(90).collect::<String>());
            let tags = BTreeMap::from([(name.clone(), Some(text.clone())), ("t".into(), None)]);
            let metadata = || metadata.clone();
            let batch = Batch::new()
                .with(Op::StartSession(
                    NewSession::new().id(&name[..]).model(&text[..]).mode(&text[..])
                        .workspace(&name[..]).metadata(metadata()).created_at(micros),
                ))
                .with(Op::SetSummary { session: name[..].into(), summary: Some(text.clone()) })
                .with(NewEpisode::new(&text[..], &text[..]).id(&name[..]).metadata(metadata()))
                .with(NewNote::new(&text[..]).sources(vec![EpisodeId::new(&name[..])]))
                .with(PutState::new(&name[..], numbers()).workspace(&name[..]))
                .with(NewAudit::new(&text[..], &text[..]).detail(numbers()).created_at(micros))
                .with(
                    NewTurn::new(&name[..], &name[..], &text[..]).id(&name[..]).tokens(-5)
                        .model(&text[..]).embedding_id(&name[..]).metadata(metadata()).tags(tags),
                )
                .with(NewStep::new(&name[..], &name[..], &name[..]).payload(numbers()));
            for outcome in fixture.store.commit(batch).await.unwrap().outcomes {
                written.extend(record(outcome));
            }
        }
        for _ in 0..2 {
            for expected in &written {
                let page = fixture.store.scan(&Scan::new(expected.kind())).await.unwrap();
                let same = |r: &&Record| r.id() == expected.id() && r.workspace() == expected.workspace();
                let read = page.items.iter().find(same).unwrap_or_else(|| panic!("{expected:?}"));
                match (expected, read) {
                    // Its turn and step came after it was written.
                    (Record::Session(a), Record::Session(b)) => {
                        assert_eq!((&a.model, &a.mode, &a.metadata), (&b.model, &b.mode, &b.metadata));
                        assert_eq!(a.created_at, b.created_at);
                        assert_eq!(b.summary, b.model);
                    }
                    _ => assert_eq!(expected, read),
                }
            }
            fixture.reopen().await;
        }
        fixture.verify().await;
    }

    /// 28.
    async fn two_megabytes_of_unique_words_are_whole_and_found(fixture: Fixture) {
        let store = &fixture.store;
        let words: Vec<String> = (0..250_000).map(|n| format!("w{n:x}q")).collect();
        let text = words.join(" ");
        assert!(text.len() > 1_700_000);
        store.start_session(NewSession::new().id("s")).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", &text[..]).id("big")).await.unwrap();
        store.record_turn(NewTurn::new("s", "user", "something small")).await.unwrap();
        let read = store.turn(&Scope::All, &"big".into()).await.unwrap().unwrap();
        assert!(read.content == text);
        for word in [&words[7], &words[249_999]] {
            let query = RecallQuery::new(word.as_str()).scorer(Scorer::Bm25);
            let hits = store.recall_turns(&query).await.unwrap();
            assert_eq!(hits[0].record.id.as_str(), "big", "{word}");
        }
    }

    /// 29.
    async fn a_kilobyte_is_a_fine_name_and_no_more(fixture: Fixture) {
        let store = &fixture.store;
        // Incompressible enough for any page of keys.
        let mut state = 1_u64;
        let mut letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + u8::try_from((state >> 40) % 90).unwrap())
        });
        let mut name = || letters.by_ref().take(1_024).collect::<String>();
        let (session, turn, tag, key, workspace) = (name(), name(), name(), name(), name());
        let new = NewSession::new().id(&session[..]).workspace(&workspace[..]);
        store.start_session(new).await.unwrap();
        store.record_turn(NewTurn::new(&session[..], "user", "x").id(&turn[..])).await.unwrap();
        store.tag_turn(&turn[..].into(), &tag, None).await.unwrap();
        let put = PutState::new(&key[..], json!(1)).workspace(&workspace[..]);
        store.put_state(put).await.unwrap();
        let scope = Scope::from(&workspace[..]);
        let read = store.turn(&scope, &turn[..].into()).await.unwrap().unwrap();
        assert!(read.tags.contains_key(&tag));
        let entry = store.state(&Workspace::new(&workspace[..]), &key).await.unwrap();
        assert!(entry.is_some());

        let long = format!("{turn}x");
        let errors = [
            store.record_turn(NewTurn::new(&session[..], "user", "x").id(&long[..])).await.err(),
            store.tag_turn(&turn[..].into(), &long, None).await.err(),
            store.put_state(PutState::new(&long[..], json!(1))).await.err(),
        ];
        for (error, field) in errors.into_iter().zip(["id", "name", "key"]) {
            let error = error.unwrap();
            assert_eq!((error.kind(), error.get("field")), (ErrorKind::InvalidArgument, Some(field)));
        }
    }

    /// A NaN in metadata cannot even be said; an empty object stays one, and null is not absence.
    async fn empty_values_stay_what_they_are(fixture: Fixture) {
        let store = &fixture.store;
        store.put_state(PutState::new("null", Json::Null)).await.unwrap();
        let entry = store.state(&Workspace::default(), "null").await.unwrap().unwrap();
        assert_eq!(entry.value, Json::Null);
        let audit = store.append_audit(NewAudit::new("a", "b").detail(json!([]))).await.unwrap();
        assert_eq!(audit.detail, json!([]));
        let new = NewEpisode::new("", "").metadata(Metadata::new());
        let episode = store.add_episode(new).await.unwrap();
        let read = store.episode(&Scope::All, &episode.id).await.unwrap();
        assert_eq!(read, Some(episode));
        let page = store.scan(&Scan::new(RecordKind::Audit)).await.unwrap();
        assert_eq!(page.items, [Record::Audit(audit)]);
    }
}

fn record(outcome: memkeep::Outcome) -> Option<Record> {
    use memkeep::Outcome;
    Some(match outcome {
        Outcome::Session(r) => Record::Session(r),
        Outcome::Turn(r) => Record::Turn(r),
        Outcome::Step(r) => Record::Step(r),
        Outcome::Episode(r) => Record::Episode(r),
        Outcome::Note(r) => Record::Note(r),
        Outcome::Audit(r) => Record::Audit(r),
        Outcome::State(r) => Record::State(StateSlot {
            workspace: r.workspace,
            key: r.key,
            value: Some(r.value),
            version: r.version,
            created_at: r.created_at,
            updated_at: r.updated_at,
            expires_at: r.expires_at,
        }),
        _ => return None,
    })
}

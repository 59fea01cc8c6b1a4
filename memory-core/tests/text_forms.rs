//! How values are written as text and read back.

use std::collections::BTreeMap;

use memkeep_core::*;
use proptest::prelude::*;
use serde_json::json;

#[test]
fn timestamps_are_rfc_3339_to_the_microsecond() {
    let cases = [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:00.000001Z", 1_767_225_600_000_001),
        ("2026-01-01T01:30:00+01:30", 1_767_225_600_000_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("0000-01-01T00:00:00.000000Z", Timestamp::MIN.as_micros()),
        ("9999-12-31T23:59:59.999999Z", Timestamp::MAX.as_micros()),
    ];
    for (text, micros) in cases {
        assert_eq!(text.parse::<Timestamp>().unwrap().as_micros(), micros, "{text}");
    }
    assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000000Z");
    assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999999Z");
    let wrong = ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"];
    for text in wrong.into_iter().chain(["2026-01-01T00:00:00.0000001Z"]) {
        let error = text.parse::<Timestamp>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
    assert_eq!(Timestamp::from_micros(i64::MIN), None);
    assert_eq!(Timestamp::from_micros(Timestamp::MAX.as_micros() + 1), None);
}

#[test]
fn workspaces_of_paths_are_normalised() {
    let cases = [
        ("/w", "/w"),
        ("/w/", "/w"),
        ("/a//b/./c/../d/", "/a/b/d"),
        ("/..", "/"),
        ("", "."),
        ("./x", "x"),
        ("../x/..", ".."),
        ("../../x", "../../x"),
        ("C:\\Users\\ana\\", "C:/Users/ana"),
    ];
    for (path, workspace) in cases {
        assert_eq!(Workspace::from_path(path).as_str(), workspace, "{path}");
    }
}

#[test]
fn store_urls_have_scheme_path_and_parameters() {
    let url: StoreUrl = "SQLite:/a%20b/c.db?synchronous=normal&x=%26".parse().unwrap();
    assert_eq!((url.scheme(), url.path().unwrap().as_str()), ("sqlite", "/a b/c.db"));
    let parameters: Vec<_> = url.parameters().collect();
    assert_eq!(parameters, [("synchronous", "normal"), ("x", "&")]);
    let path = |text: &str| text.parse::<StoreUrl>().unwrap().path().unwrap();
    assert_eq!(path("sqlite:///a/b"), "/a/b");
    assert_eq!(path("sqlite:a:b.db"), "a:b.db");
    assert_eq!(path("inmem:"), "");
    for text in ["", "agent.db", "C:\\agent.db", ":memory:", "/a/b", "redb:a?x=1&y=2&%78=3"] {
        let error = text.parse::<StoreUrl>().unwrap_err();
        assert_eq!((error.kind(), error.get("field")), (ErrorKind::InvalidArgument, Some("url")));
    }
    for text in ["sqlite:%ff", "sqlite:a%00b", "sqlite://agent.db"] {
        let error = text.parse::<StoreUrl>().unwrap().path().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
    }
    let secret: StoreUrl = "postgres://ana:hunter2@db.example/x?password=hunter2".parse().unwrap();
    assert_eq!(secret.to_string(), "postgres://…@db.example/x");
    assert!(!format!("{secret:?}").contains("hunter2"));
    // A secret that is not percent-encoded as it should be is no less one.
    for text in ["postgres://ana:hunter2?@db.example/x", "postgres://ana:hunter2?a=@db.example"] {
        let secret: StoreUrl = text.parse().unwrap();
        assert_eq!(secret.to_string(), "postgres://…");
    }
}

#[test]
fn ops_are_written_as_documented() {
    let text = r#"{"op":"record_turn","session":"s","role":"user","content":"hi"}"#;
    let op: Op = serde_json::from_str(text).unwrap();
    assert_eq!(op, NewTurn::new("s", "user", "hi").into());
    assert_eq!(serde_json::to_string(&op).unwrap(), text);
    let put: Op = serde_json::from_value(json!({
        "op": "put_state", "key": "k", "value": null, "expected": {"version": 3},
    }))
    .unwrap();
    assert_eq!(put, PutState::new("k", json!(null)).expected(Expected::Version(3)).into());
    for wrong in [
        r#"{"op":"record_turn","session":"s","role":"user"}"#,
        r#"{"op":"record_turn","session":"s","role":"user","content":"hi","contents":""}"#,
        r#"{"op":"end_session","session":"s","when":1}"#,
        r#"{"op":"fly"}"#,
    ] {
        assert!(serde_json::from_str::<Op>(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn json_numbers_are_exact() {
    for text in [
        "2512292042121000001",
        "18446744073709551615",
        "-9223372036854775808",
        "0.1",
        "-0.0",
        "1e300",
    ] {
        let value: Json = serde_json::from_str(text).unwrap();
        let back: Json = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(back, value);
        assert_eq!(json::canonical(&value), value.to_string());
    }
}

#[test]
fn keys_are_sorted_by_their_bytes_however_they_are_escaped() {
    fn sorted(value: &Json) -> String {
        match value {
            Json::Array(items) => {
                format!("[{}]", items.iter().map(sorted).collect::<Vec<_>>().join(","))
            }
            Json::Object(map) => {
                let map: BTreeMap<_, _> = map.iter().collect();
                let entry =
                    |(key, item): (&String, &Json)| format!("{}:{}", json!(key), sorted(item));
                format!("{{{}}}", map.into_iter().map(entry).collect::<Vec<_>>().join(","))
            }
            scalar => scalar.to_string(),
        }
    }
    for value in [
        json!({"a\"": 1, "a": {"\u{1}": [], "": {}, "é": [{"z": null, "b": "\u{7f}"}]}, "a!": -1}),
        json!([{}, [], {"\n": "\n", "A": 2.5, "\\": {"b": {"d": 1, "c": 2}, "a": [{"y": 0, "x": 0}]}}]),
        json!({"": "", "ab": "}", "a": "{", "a,": ",", "a:": "\":\""}),
    ] {
        assert_eq!(json::canonical(&value), sorted(&value));
    }
}

#[test]
fn a_state_slot_tells_null_from_nothing() {
    let slot = |value| StateSlot {
        workspace: Workspace::default(),
        key: String::new(),
        value,
        version: 1,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        expires_at: None,
    };
    for slot in [slot(None), slot(Some(Json::Null)), slot(Some(json!({"k": "\u{0}"})))] {
        let text = serde_json::to_string(&Record::State(slot.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), Record::State(slot));
    }
}

#[test]
fn cursors_are_told_from_those_of_other_listings() {
    let key = |workspace: &str, key: &[u8]| Position::Key(workspace.into(), key.to_vec());
    let (all, one) = (ListStates::new(), ListStates::new().scope("w"));
    let cursor = all.window().unwrap().cursor(key("w", b"k"));
    assert_eq!(all.window().unwrap().state(), None);
    let goes_on = all.clone().after(cursor.clone()).limit(3_usize).window().unwrap();
    assert_eq!((goes_on.state(), goes_on.limit), (Some(("w", "k")), 3));
    let audit = ListAudit::new();
    let after = audit.window().unwrap().cursor(key("w", &7_u64.to_be_bytes()));
    assert_eq!(audit.clone().after(after).window().unwrap().audit(), Some(("w", 7)));

    let places = |list: &ListStates, position| {
        list.clone().after(list.window().unwrap().cursor(position)).window().err()
    };
    let refused = [
        one.clone().after(cursor.clone()).window().err(),
        all.clone().prefix("k").after(cursor.clone()).window().err(),
        audit.after(cursor).window().err(),
        // Of the listing, but at no place that it has.
        places(&one, key("v", b"k")),
        places(&all, key("w", b"\xff")),
        places(&all, Position::Index(3)),
    ];
    for error in refused {
        let error = error.unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert_eq!(error.get("field"), Some("cursor"));
    }
}

/// A cursor is a text that callers keep: the next program must read it.
#[test]
fn cursors_keep_their_text() {
    let list = ListTurns::new("s").scope("w");
    let cursor = list.window().unwrap().cursor(Position::Index(258));
    assert_eq!(cursor.to_string(), "AWBWKRt85TLEbgAAAAAAAAEC");
    let of_no_version = data_encoding::BASE64URL_NOPAD.encode(b"n\0\0\0\0\0\0\0\x01");
    assert!(of_no_version.parse::<Cursor>().is_err());
}

fn position() -> impl Strategy<Value = Position> {
    let time = (Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros(), any::<u64>());
    prop_oneof![
        any::<u64>().prop_map(Position::Insertion),
        any::<u64>().prop_map(Position::Index),
        time.prop_map(|(at, n)| Position::Time(Timestamp::from_micros(at).unwrap(), n)),
        (any::<String>(), any::<Vec<u8>>()).prop_map(|(w, k)| Position::Key(w, k)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cursors_come_back_equal(position in position()) {
        let cursor = ListNotes::new().window().unwrap().cursor(position);
        prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
    }

    #[test]
    fn no_text_makes_a_cursor_panic(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        let _ = text.parse::<Cursor>();
        let encoded = data_encoding::BASE64URL_NOPAD.encode(&bytes);
        if let Ok(cursor) = encoded.parse::<Cursor>() {
            prop_assert_eq!(cursor.to_string(), encoded);
        }
    }

    #[test]
    fn no_text_makes_a_url_panic(text in any::<String>()) {
        if let Ok(url) = text.parse::<StoreUrl>() {
            let _ = url.path();
        }
    }

    #[test]
    fn timestamps_come_back_equal(micros in Timestamp::MIN.as_micros()..=Timestamp::MAX.as_micros()) {
        let at = Timestamp::from_micros(micros).unwrap();
        prop_assert_eq!(at.to_string().parse::<Timestamp>().unwrap(), at);
    }
}

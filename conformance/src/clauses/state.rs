//! State: versions, expectations, expiry, and the order of keys.

use std::{sync::Arc, time::Duration};

use memkeep_core::{
    Counts, DeleteState, Deleted, ErrorKind, Expected, Json, ListStates, Op, Prune, PutState,
    Record, RecordKind, ReflectiveStore, Scan, Scope, StateEntry, Timestamp, Workspace,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Case, Failure, Verdict,
    clauses::support::in_pages,
    failure::{must_equal, must_refuse},
};

const MILLI: i64 = 1_000;

fn put(key: &str, value: impl Into<Json>) -> PutState {
    PutState::new(key, value)
}

/// Puts a value, which must get this version.
async fn put_as(case: &Case, put: PutState, version: u64) -> Verdict {
    let entry = case.reflective()?.put_state(put).await?;
    must_equal!(entry.version, version, "the version that the put gives");
    let read = case.reflective()?.state(&entry.workspace, &entry.key).await?;
    must_equal!(read, Some(entry), "the entry as it is read");
    Ok(())
}

async fn state(case: &Case, key: &str) -> Result<Option<StateEntry>, Failure> {
    Ok(case.reflective()?.state(&Workspace::default(), key).await?)
}

async fn keys(case: &Case, list: ListStates) -> Result<Vec<String>, Failure> {
    let entries = case.reflective()?.states(&list).await?.items;
    Ok(entries.into_iter().map(|entry| entry.key).collect())
}

pub(crate) async fn puts(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let first = store.put_state(put("k", "one")).await?;
    let mut right = StateEntry {
        workspace: "default".into(),
        key: "k".to_owned(),
        value: json!("one"),
        version: 1,
        created_at: case.now(),
        updated_at: case.now(),
        expires_at: None,
    };
    must_equal!(first, right, "the entry of the first put");
    must_equal!(state(case, "k").await?, Some(first), "the entry as it is read");
    case.set_clock(Case::at(7));
    let second = store.put_state(put("k", json!({"two": 2}))).await?;
    right.value = json!({"two": 2});
    right.version = 2;
    right.updated_at = Case::at(7);
    must_equal!(second, right, "the entry of the second put");
    must_equal!(state(case, "k").await?, Some(second), "the entry as it is read");
    must_equal!(state(case, "other").await?, None, "a key that was never put");
    Ok(())
}

pub(crate) async fn null_is_a_value(case: &mut Case) -> Verdict {
    put_as(case, put("k", Json::Null), 1).await?;
    let expected = put("k", 1).expected(Expected::Absent);
    let result = case.reflective()?.put_state(expected).await;
    must_refuse!(result, Conflict, "a put over null that expects no entry");
    must_equal!(keys(case, ListStates::new()).await?, ["k"], "the listed keys");
    must_equal!(scanned(case).await?, [Some(Json::Null)], "the values that a scan gives");
    Ok(())
}

/// The values that a scan gives, in order of insertion.
async fn scanned(case: &Case) -> Result<Vec<Option<Json>>, Failure> {
    let mut values = Vec::new();
    for record in case.backend().scan(&Scan::new(RecordKind::State)).await?.items {
        let Record::State(slot) = record else {
            return Err(Failure::new("a slot", format!("{record:?}")));
        };
        values.push(slot.value);
    }
    Ok(values)
}

pub(crate) async fn deleting(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    put_as(case, put("gone", "secret"), 1).await?;
    put_as(case, put("stays", "kept"), 1).await?;
    let one = Deleted { existed: true, counts: Counts::one(RecordKind::State) };
    must_equal!(store.delete_state(DeleteState::new("gone")).await?, one, "the deletion");
    let again = store.delete_state(DeleteState::new("gone")).await?;
    must_equal!(again, Deleted::default(), "the second deletion");
    must_equal!(state(case, "gone").await?, None, "the deleted entry");
    must_equal!(keys(case, ListStates::new()).await?, ["stays"], "the listed keys");
    let listed = in_pages!(store.states(ListStates::new()), 1);
    must_equal!(listed.len(), 1, "how many entries there are in pages");
    must_equal!(scanned(case).await?, [None, Some(json!("kept"))], "the values that a scan gives");
    case.verify().await
}

pub(crate) async fn versions_only_grow(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    put_as(case, put("k", 0), 1).await?;
    put_as(case, put("k", 0), 2).await?;
    store.delete_state(DeleteState::new("k")).await?;
    put_as(case, put("k", 0), 3).await?;
    put_as(case, put("k", 0).ttl(Duration::from_millis(1)), 4).await?;
    case.set_clock(Case::at(MILLI));
    must_equal!(state(case, "k").await?, None, "the expired entry");
    put_as(case, put("k", 0), 5).await?;
    store.delete_state(DeleteState::new("k")).await?;
    store.delete_state(DeleteState::new("k")).await?;
    put_as(case, put("k", 0), 6).await?;
    put_as(case, put("other", 0), 1).await
}

pub(crate) async fn versions_outlive_prune(case: &mut Case) -> Verdict {
    put_as(case, put("k", 0), 1).await?;
    put_as(case, put("k", 0).ttl(Duration::from_millis(1)), 2).await?;
    put_as(case, put("deleted", 0), 1).await?;
    case.reflective()?.delete_state(DeleteState::new("deleted")).await?;
    case.set_clock(Case::at(9 * MILLI));
    case.backend().prune(&Prune::new(case.now())).await?;
    must_equal!(state(case, "k").await?, None, "the pruned entry");
    let stale = put("k", 0).expected(Expected::Version(2));
    must_refuse!(case.reflective()?.put_state(stale).await, Conflict, "a put of a stale holder");
    put_as(case, put("k", 0), 3).await?;
    put_as(case, put("deleted", 0), 2).await
}

pub(crate) async fn versions_outlive_reopen(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    put_as(case, put("k", 0), 1).await?;
    put_as(case, put("k", 0), 2).await?;
    put_as(case, put("deleted", 0), 1).await?;
    store.delete_state(DeleteState::new("deleted")).await?;
    put_as(case, put("expired", 0).ttl(Duration::from_millis(1)), 1).await?;
    case.set_clock(Case::at(MILLI));
    case.reopen().await?;
    must_equal!(keys(case, ListStates::new()).await?, ["k"], "the listed keys");
    put_as(case, put("k", 0), 3).await?;
    put_as(case, put("deleted", 0), 2).await?;
    put_as(case, put("expired", 0), 2).await
}

/// Neither a put nor a deletion with this expectation happens.
async fn refused(case: &Case, key: &str, expected: Expected) -> Verdict {
    let store = case.reflective()?;
    let before = state(case, key).await?;
    let result = store.put_state(put(key, "refused").expected(expected)).await;
    must_refuse!(result, Conflict, "a put of {key:?} that expects {expected:?}");
    let result = store.delete_state(DeleteState::new(key).expected(expected)).await;
    must_refuse!(result, Conflict, "a deletion of {key:?} that expects {expected:?}");
    must_equal!(state(case, key).await?, before, "the entry after what was refused");
    Ok(())
}

pub(crate) async fn expecting_absence(case: &mut Case) -> Verdict {
    let absent = Expected::Absent;
    let none = case.reflective()?.delete_state(DeleteState::new("k").expected(absent)).await?;
    must_equal!(none, Deleted::default(), "the deletion of nothing that expects nothing");
    put_as(case, put("k", 0).expected(absent), 1).await?;
    refused(case, "k", absent).await?;
    case.reflective()?.delete_state(DeleteState::new("k")).await?;
    put_as(case, put("k", 0).expected(absent), 2).await
}

pub(crate) async fn expecting_a_version(case: &mut Case) -> Verdict {
    let version = Expected::Version;
    for never in [0, 1, u64::MAX] {
        refused(case, "k", version(never)).await?;
    }
    put_as(case, put("k", 0), 1).await?;
    put_as(case, put("k", 0).expected(version(1)), 2).await?;
    for stale in [0, 1, 3, u64::MAX] {
        refused(case, "k", version(stale)).await?;
    }
    let delete = DeleteState::new("k").expected(version(2));
    let deleted = case.reflective()?.delete_state(delete).await?;
    must_equal!(deleted.existed, true, "the deletion that expects the version there is");
    refused(case, "k", version(2)).await?;
    put_as(case, put("k", 0), 3).await?;
    refused(case, "k", version(2)).await
}

pub(crate) async fn expectations_in_a_batch(case: &mut Case) -> Verdict {
    let ops: [Op; 4] = [
        put("k", 0).expected(Expected::Absent).into(),
        put("k", 1).expected(Expected::Version(1)).into(),
        DeleteState::new("k").expected(Expected::Version(2)).into(),
        put("k", 3).expected(Expected::Absent).into(),
    ];
    case.backend().commit(ops.into_iter().collect()).await?;
    let entry = state(case, "k").await?;
    must_equal!(entry.map(|e| (e.version, e.value)), Some((3, json!(3))), "the entry");
    let ops = [put("k", 4), put("other", 0).expected(Expected::Version(1))];
    let result = case.backend().commit(ops.into_iter().collect()).await;
    must_refuse!(result, Conflict, "a batch with an expectation that fails");
    let entry = state(case, "k").await?;
    must_equal!(entry.map(|e| e.version), Some(3), "the version after the refused batch");
    Ok(())
}

pub(crate) async fn expired_to_expectations(case: &mut Case) -> Verdict {
    put_as(case, put("k", 0).expires_at(Case::at(5)), 1).await?;
    refused(case, "k", Expected::Absent).await?;
    case.set_clock(Case::at(5));
    refused(case, "k", Expected::Version(1)).await?;
    put_as(case, put("k", 0).expected(Expected::Absent), 2).await?;
    let created = state(case, "k").await?.map(|entry| entry.created_at);
    must_equal!(created, Some(Case::at(5)), "the creation of the entry after the expiry");
    put_as(case, put("gone", 0).expires_at(Case::at(6)), 1).await?;
    case.set_clock(Case::at(6));
    let deleted = case.reflective()?.delete_state(DeleteState::new("gone")).await?;
    let right = Deleted { existed: false, counts: Counts::one(RecordKind::State) };
    must_equal!(deleted, right, "the deletion of an expired entry");
    Ok(())
}

pub(crate) async fn expiry_to_the_microsecond(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    put_as(case, put("at", 0).expires_at(Case::at(1_500)), 1).await?;
    put_as(case, put("ttl", 0).ttl(Duration::from_millis(2)), 1).await?;
    let expiries = store.states(&ListStates::new()).await?.items;
    let expiries: Vec<_> = expiries.iter().map(|entry| entry.expires_at).collect();
    must_equal!(expiries, [Some(Case::at(1_500)), Some(Case::at(2_000))], "when they expire");
    // There and back again: an instant is before the expiry or it is not.
    for (at, there) in [
        (1_499, &["at", "ttl"][..]),
        (1_500, &["ttl"]),
        (1_501, &["ttl"]),
        (1_999, &["ttl"]),
        (2_000, &[]),
        (1_999, &["ttl"]),
        (1_500, &["ttl"]),
        (1_499, &["at", "ttl"]),
        (-1, &["at", "ttl"]),
    ] {
        case.set_clock(Case::at(at));
        must_equal!(keys(case, ListStates::new()).await?, there, "the listed keys at {at}");
        for key in ["at", "ttl"] {
            let is_there = state(case, key).await?.is_some();
            must_equal!(is_there, there.contains(&key), "whether {key:?} is there at {at}");
        }
    }
    Ok(())
}

pub(crate) async fn expiry_of_any_length(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let forever = store.put_state(put("k", 0).ttl_ms(u64::MAX)).await?;
    must_equal!(forever.expires_at, Some(Timestamp::MAX), "the expiry of the longest time to live");
    let never = store.put_state(put("k", 0).ttl_ms(0_u64)).await?;
    must_equal!(never.expires_at, Some(case.now()), "the expiry of no time to live");
    must_equal!(state(case, "k").await?, None, "an entry without time to live");
    let past = store.put_state(put("k", 0).expires_at(Timestamp::MIN)).await?;
    must_equal!((past.version, past.expires_at), (3, Some(Timestamp::MIN)), "an entry of the past");
    must_equal!(state(case, "k").await?, None, "an entry of the past as it is read");
    let put_over = store.put_state(put("k", 0)).await?;
    must_equal!(put_over.expires_at, None, "the expiry after a put without one");
    let both = put("k", 0).ttl_ms(1_u64).expires_at(Case::at(1));
    let error = must_refuse!(store.put_state(both).await, InvalidArgument, "a put with both");
    must_equal!(error.get("field"), Some("ttl_ms"), "the field that the error names");
    Ok(())
}

pub(crate) async fn expired_is_absent_everywhere(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let mut ops = Vec::new();
    for n in 0..30 {
        let mut put = put(&format!("{n:02}"), n);
        // The last ones expire too: no page may promise what does not come.
        put.expires_at = (n % 3 != 0 || n > 20).then(|| Case::at(10));
        ops.push(put);
    }
    case.backend().commit(ops.into_iter().collect()).await?;
    case.set_clock(Case::at(10));
    let left = ["00", "03", "06", "09", "12", "15", "18"];
    for list in [ListStates::new(), ListStates::new().scope("default")] {
        must_equal!(keys(case, list.clone()).await?, left, "the listed keys");
        for limit in 1..=8 {
            let paged = in_pages!(store.states(list.clone()), limit);
            let paged: Vec<&str> = paged.iter().map(|entry| &entry.key[..]).collect();
            must_equal!(paged, left, "the keys in pages of {limit}");
        }
        let page = store.states(&list.clone().limit(7_usize)).await?;
        must_equal!(page.next, None, "what follows the last entry that has not expired");
        must_equal!(keys(case, list.clone().prefix("1")).await?, ["12", "15", "18"], "by prefix");
        must_equal!(keys(case, list.prefix("2")).await?.len(), 0, "where all have expired");
    }
    must_equal!(state(case, "01").await?, None, "an expired entry by key");
    Ok(())
}

pub(crate) async fn order_is_bytewise(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let sorted = [
        "",
        "\0",
        "\0\0",
        "\0a",
        "\u{1}",
        "\u{1}\u{2}",
        " ",
        "A",
        "B",
        "Z",
        "a",
        "a\0",
        "a\0b",
        "a\u{1}",
        "a b",
        "aa",
        "ab",
        "b",
        "z",
        "é",
        "ÿ",
        "Ā",
        "中",
        "\u{ffff}",
        "\u{10000}",
        "😬",
        "\u{10ffff}",
    ];
    let workspaces = ["", "A", "a", "a\0", "b", "\u{fffd}", "\u{10000}"];
    for workspace in workspaces.iter().rev() {
        // Neither in order nor in reverse.
        let shuffled = (0..sorted.len()).map(|n| sorted[n * 10 % sorted.len()]);
        let puts = shuffled.map(|key| put(key, key).workspace(*workspace));
        case.backend().commit(puts.collect()).await?;
    }
    for workspace in workspaces {
        let list = ListStates::new().scope(workspace);
        must_equal!(keys(case, list).await?, sorted, "the keys of {workspace:?}");
    }
    let right: Vec<(&str, &str)> =
        workspaces.iter().flat_map(|w| sorted.iter().map(|key| (*w, *key))).collect();
    for limit in [1, 7, usize::MAX] {
        let all = in_pages!(store.states(ListStates::new()), limit);
        let all: Vec<(&str, &str)> =
            all.iter().map(|entry| (entry.workspace.as_str(), &entry.key[..])).collect();
        must_equal!(all, right, "all keys in pages of {limit}");
    }
    Ok(())
}

pub(crate) async fn prefix_is_literal(case: &mut Case) -> Verdict {
    let all = [
        "",
        "%",
        "A_b",
        "[a]",
        "a",
        "a%",
        "a%b",
        "a*",
        "a\\",
        "a\\_",
        "a_",
        "a_b",
        "a_b_c",
        "aXb",
        "axb",
        "á",
        "a\0",
        "a\0b",
        "\u{10ffff}",
        "\u{10ffff}a",
    ];
    for workspace in ["default", "other"] {
        let puts = all.map(|key| put(key, 0).workspace(workspace));
        case.backend().commit(puts.into_iter().collect()).await?;
    }
    let store = case.reflective()?;
    let prefixes = [
        "",
        "a",
        "a_",
        "A",
        "a%",
        "%",
        "_",
        "a*",
        "[a",
        "[a]",
        "a\\",
        "a\0",
        "a_b_",
        "\u{10ffff}",
        "no",
    ];
    for prefix in prefixes {
        let mut right: Vec<&str> = all.into_iter().filter(|key| key.starts_with(prefix)).collect();
        right.sort_unstable();
        let list = ListStates::new().scope("default").prefix(prefix);
        must_equal!(keys(case, list.clone()).await?, right, "the keys that start with {prefix:?}");
        let paged = in_pages!(store.states(list), 2);
        let paged: Vec<&str> = paged.iter().map(|entry| &entry.key[..]).collect();
        must_equal!(paged, right, "the keys that start with {prefix:?}, two a page");
        let both = keys(case, ListStates::new().prefix(prefix)).await?;
        must_equal!(both, [&right[..], &right].concat(), "those of both workspaces");
    }
    Ok(())
}

pub(crate) async fn workspaces_are_apart(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    // Run together, some of these are the same text.
    let places = [
        ("", "ab"),
        ("a", "b"),
        ("ab", ""),
        ("a\0", "b"),
        ("a", "\0b"),
        ("acme", "k"),
        ("acme-corp", "k"),
    ];
    for (n, (workspace, key)) in places.into_iter().enumerate() {
        put_as(case, put(key, n).workspace(workspace), 1).await?;
    }
    for (n, (workspace, key)) in places.into_iter().enumerate() {
        let entry = store.state(&workspace.into(), key).await?;
        must_equal!(
            entry.map(|e| e.value),
            Some(json!(n)),
            "the value of {key:?} in {workspace:?}"
        );
    }
    let absent = store.state(&"default".into(), "k").await?;
    must_equal!(absent, None, "a key that only other workspaces have");
    store.delete_state(DeleteState::new("k").workspace("acme")).await?;
    let other = store.state(&"acme-corp".into(), "k").await?;
    must_equal!(other.is_some(), true, "whether the sibling's entry is there after a deletion");
    let of_one = store.states(&ListStates::new().scope("acme-corp")).await?.items;
    must_equal!(of_one.len(), 1, "how many entries the sibling has");
    let scoped = case.backend().scan(&Scan::new(RecordKind::State).scope("a")).await?.items;
    must_equal!(scoped.len(), 2, "how many entries a scan of one workspace gives");
    let all = case.backend().stats(&Scope::All).await?.counts.states;
    must_equal!(all, 6, "how many entries are counted");
    Ok(())
}

async fn count_up(store: Arc<dyn ReflectiveStore>, times: usize) -> Verdict {
    for _ in 0..times {
        loop {
            let entry = store.state(&Workspace::default(), "counter").await?;
            let (expected, count) = match &entry {
                None => (Expected::Absent, 0),
                Some(entry) => {
                    (Expected::Version(entry.version), entry.value.as_u64().unwrap_or(0))
                }
            };
            match store.put_state(put("counter", count + 1).expected(expected)).await {
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

async fn counted(case: &Case, stores: Vec<Arc<dyn ReflectiveStore>>) -> Verdict {
    let mut tasks = JoinSet::new();
    for n in 0..6 {
        tasks.spawn(count_up(stores[n % stores.len()].clone(), 10));
    }
    for verdict in tasks.join_all().await {
        verdict?;
    }
    let entry = state(case, "counter").await?;
    let right = Some((60, json!(60)));
    must_equal!(entry.map(|e| (e.version, e.value)), right, "the counter");
    Ok(())
}

pub(crate) async fn no_lost_update(case: &mut Case) -> Verdict {
    counted(case, vec![case.reflective()?]).await
}

pub(crate) async fn no_lost_update_across_handles(case: &mut Case) -> Verdict {
    let second = case.second_handle("second").await?;
    let other = second
        .reflective
        .clone()
        .ok_or_else(|| Failure::new("the second handle has ReflectiveStore", "it has not"))?;
    counted(case, vec![case.reflective()?, other]).await?;
    second.backend.close().await?;
    Ok(())
}

//! What happens when stored bytes are not what they must be: the row is named, the others stay
//! readable, and what is derived from them can be rebuilt.

use std::sync::Arc;

use memkeep_core::{
    Backend, Batch, DeleteState, EpisodicBackend, ErrorKind, ListEpisodes, ListSessions, ListTurns,
    NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, PutState, RecordKind, Scan,
    Scope, SessionStore, SystemClock, Timestamp,
    embedded::Embedded,
    verify::{Problem, Verify},
};
use memkeep_kv::{KvEngine, SCHEMA_VERSION};

mod support;
use support::{Pairs, Poke};

// The tables of the layout that the tests reach into.
const SCHEMA: u8 = 0x01;
const COUNTER: u8 = 0x02;
const COUNT: u8 = 0x03;
const RECORD: u8 = 0x10;
const RECEIPT: u8 = 0x11;
const SECONDARY: std::ops::Range<u8> = 0x20..0x30;
const PLACE: u8 = 0x24;
const EPISODE: u8 = 4;

type Damage = Box<dyn Fn(&mut Pairs)>;

async fn open(map: &Poke) -> Embedded<KvEngine<Poke>> {
    map.open(Arc::new(SystemClock)).await.unwrap()
}

/// A store with some of everything.
async fn filled(map: &Poke) -> Embedded<KvEngine<Poke>> {
    let store = open(map).await;
    let mut batch = Batch::new().key("retry");
    for workspace in ["acme", "acme-corp", "", "nul\0nul"] {
        let session = format!("ses-{workspace}");
        batch.push(Op::StartSession(NewSession::new().id(&*session).workspace(workspace)));
        for role in ["system", "user", "assistant", "user"] {
            batch.push(NewTurn::new(&*session, role, format!("{role} of {workspace}")).tokens(3));
        }
        batch.push(NewStep::new(&*session, "build", "ok"));
        batch.push(
            NewEpisode::new("a problem", "its end")
                .id(format!("ep-{workspace}"))
                .workspace(workspace),
        );
        batch.push(NewNote::new("a lesson").workspace(workspace));
        batch.push(PutState::new("key", 1).workspace(workspace));
        batch.push(PutState::new("gone", 1).workspace(workspace));
        batch.push(DeleteState::new("gone").workspace(workspace));
        batch.push(NewAudit::new("run", "allow").workspace(workspace));
        batch.push(NewAudit::new("run", "deny").workspace(workspace));
    }
    store.commit(batch).await.unwrap();
    assert_eq!(problems(&store, false).await, []);
    store
}

async fn problems(store: &impl Backend, repair: bool) -> Vec<Problem> {
    store.verify(&Verify::new().repair(repair)).await.unwrap().problems
}

fn in_table(pairs: &Pairs, tables: impl Fn(u8) -> bool) -> Vec<Vec<u8>> {
    pairs.keys().filter(|key| tables(key[0])).cloned().collect()
}

fn difference(sound: &Pairs, damaged: &Pairs) -> String {
    let of = |a: &Pairs, b: &Pairs| -> Pairs {
        a.iter()
            .filter(|(k, v)| b.get(*k) != Some(v))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    };
    format!("sound {:?}, damaged {:?}", of(sound, damaged), of(damaged, sound))
}

#[tokio::test]
async fn a_flipped_bit_anywhere_in_a_record_is_corrupt_and_names_it() {
    let map = Poke::default();
    let store = filled(&map).await;
    let sound = map.pairs();
    let key = [&[RECORD, EPISODE][..], &2_u64.to_be_bytes()].concat();
    for byte in 0..sound[&key].len() {
        map.poke(|pairs| pairs.get_mut(&key).unwrap()[byte] ^= 0x10);
        let error = store.episode(&Scope::All, &"ep-acme-corp".into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert_eq!(error.get("table"), Some("episode"));
        assert_eq!(error.get("row"), Some("ep-acme-corp"));
        map.reset(&sound);
    }
}

#[tokio::test]
async fn an_unreadable_record_is_never_left_out_and_the_others_stay_readable() {
    let map = Poke::default();
    let store = filled(&map).await;
    let key = [&[RECORD, EPISODE][..], &2_u64.to_be_bytes()].concat();
    map.poke(|pairs| pairs.get_mut(&key).unwrap().truncate(20));

    for list in [ListEpisodes::new(), ListEpisodes::new().scope("acme-corp")] {
        assert_eq!(store.episodes(&list).await.unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let error = store.scan(&Scan::new(RecordKind::Episode)).await.unwrap_err();
    assert_eq!((error.kind(), error.get("row")), (ErrorKind::Corrupt, Some("2")));
    let others = store.episodes(&ListEpisodes::new().scope("acme")).await.unwrap();
    assert_eq!(others.items.len(), 1);

    // Repair cannot bring it back, and does not hide it either.
    for repair in [false, true] {
        let found = problems(&store, repair).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].location, "episode 2");
        assert!(!found[0].repaired);
    }
    let id = "ep-acme-corp".into();
    assert_eq!(store.episode(&Scope::All, &id).await.unwrap_err().kind(), ErrorKind::Corrupt);

    // It goes with its workspace, without a trace.
    store.commit(Op::ForgetWorkspace { workspace: "acme-corp".into() }.into()).await.unwrap();
    assert_eq!(store.episode(&Scope::All, &id).await.unwrap(), None);
    assert_eq!(problems(&store, false).await, []);
}

#[tokio::test]
async fn an_unreadable_turn_goes_with_its_session() {
    let map = Poke::default();
    let store = filled(&map).await;
    let turns = in_table(&map.pairs(), |table| table == RECORD);
    let key = turns.iter().find(|key| key[1] == 2).unwrap();
    map.poke(|pairs| pairs.get_mut(key).unwrap()[7] ^= 1);
    let list = ListTurns::new("ses-acme");
    assert_eq!(store.turns(&list).await.unwrap_err().kind(), ErrorKind::Corrupt);

    store.delete_session(&"ses-acme".into()).await.unwrap();
    assert_eq!(problems(&store, false).await, []);
    assert_eq!(store.turns(&list).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_key_that_leads_to_a_stranger_does_not_delete_it() {
    let map = Poke::default();
    let store = filled(&map).await;
    let (turn, session) = (2, b"ses-acme\0\0");
    let place = [&[PLACE, turn][..], session, &0_u64.to_be_bytes()].concat();
    let other = 5_u64.to_be_bytes().to_vec();
    map.poke(|pairs| drop(pairs.insert(place, other).unwrap()));

    store.delete_session(&"ses-acme".into()).await.unwrap();
    let turns = store.turns(&ListTurns::new("ses-acme-corp")).await.unwrap();
    assert_eq!(turns.items.len(), 4);
    // The turn that lost its place is found as one without a session.
    let found = problems(&store, false).await;
    assert!(found.iter().all(|problem| problem.location.starts_with("turn trn-")), "{found:?}");
}

#[tokio::test]
async fn derived_keys_are_rebuilt_exactly() {
    let map = Poke::default();
    let store = filled(&map).await;
    let (sound, lasting) = (map.pairs(), map.lasting());
    let derived = |table| {
        SECONDARY.contains(&table) || matches!(table, COUNTER | COUNT) || table == RECEIPT + 1
    };
    let mut damages: Vec<Damage> = vec![
        // All are lost.
        Box::new(move |pairs| pairs.retain(|key, _| !derived(key[0]))),
    ];
    for key in in_table(&sound, derived) {
        let (lost, altered, added) = (key.clone(), key.clone(), key);
        damages.push(Box::new(move |pairs| drop(pairs.remove(&lost))));
        damages.push(Box::new(move |pairs| {
            let value = pairs.get_mut(&altered).unwrap();
            match value.last_mut() {
                Some(byte) => *byte ^= 1,
                None => value.push(0),
            }
        }));
        if added[0] != COUNTER {
            damages.push(Box::new(move |pairs| {
                let value = pairs[&added].clone();
                pairs.insert([&added[..], &[7]].concat(), value);
            }));
        }
    }
    for damage in damages {
        map.poke(|pairs| damage(pairs));
        let lost_counters = map.pairs().keys().all(|key| key[0] != COUNTER);
        assert_ne!(problems(&store, false).await, [], "{}", difference(&sound, &map.pairs()));
        problems(&store, true).await;
        assert_eq!(problems(&store, false).await, []);
        // What a lost counter had given to deleted records is not known any more.
        assert!(lost_counters || map.lasting() == lasting);
        map.reset(&sound);
    }
}

/// What is set right for one reason is not taken away for another.
#[tokio::test]
async fn a_wrong_key_beside_one_too_many_is_set_right() {
    let map = Poke::default();
    let store = filled(&map).await;
    let sound = map.lasting();
    for key in in_table(&sound, |table| SECONDARY.contains(&table)) {
        map.poke(|pairs| {
            *pairs.get_mut(&key).unwrap() = 1_000_u64.to_be_bytes().to_vec();
            pairs.insert([&key[..], &[7]].concat(), 1_u64.to_be_bytes().to_vec());
        });
        problems(&store, true).await;
        assert_eq!(problems(&store, false).await, []);
        assert!(map.lasting() == sound);
    }
}

/// The value that holds the content of `value`, to stand under `key`.
fn moved(key: &[u8], value: &[u8]) -> Vec<u8> {
    let content = &value[5..];
    let mut sum = crc32fast::Hasher::new();
    sum.update(key);
    sum.update(content);
    [&value[..1], &sum.finalize().to_be_bytes(), content].concat()
}

/// Repairs until nothing more is repaired, which takes one repair.
async fn left_after_repair(store: &impl Backend) -> Vec<Problem> {
    problems(store, true).await;
    let left = problems(store, true).await;
    assert!(left.iter().all(|problem| !problem.repaired), "{left:?}");
    left
}

#[tokio::test]
async fn two_records_of_one_id_are_found_and_neither_takes_the_other_s_place() {
    let map = Poke::default();
    let store = filled(&map).await;
    let key = |number: u64| [&[RECORD, EPISODE][..], &number.to_be_bytes()].concat();
    map.poke(|pairs| {
        let twin = moved(&key(2), &pairs[&key(1)]);
        pairs.insert(key(2), twin);
    });
    let left = left_after_repair(&store).await;
    assert!(left.iter().any(|p| p.message.contains("that of another record too")), "{left:?}");
}

#[tokio::test]
async fn a_receipt_under_another_s_key_is_corrupt() {
    let map = Poke::default();
    let store = filled(&map).await;
    store.commit(Batch::new().key("other")).await.unwrap();
    map.poke(|pairs| {
        let (retry, other) = (b"\x11retry".to_vec(), b"\x11other".to_vec());
        let value = moved(&other, &pairs[&retry]);
        pairs.insert(other, value);
    });
    let again = store.commit(Batch::new().key("other")).await.unwrap_err();
    assert_eq!((again.kind(), again.get("row")), (ErrorKind::Corrupt, Some("other")));
    let left = left_after_repair(&store).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].location, "receipt other");
}

#[tokio::test]
async fn a_key_that_leads_to_another_record_is_corrupt() {
    let map = Poke::default();
    let store = filled(&map).await;
    map.poke(|pairs| {
        for (key, value) in pairs.iter_mut() {
            if SECONDARY.contains(&key[0]) && value.len() == 8 {
                let other = 1 + u64::from_be_bytes(value[..].try_into().unwrap()) % 4;
                *value = other.to_be_bytes().to_vec();
            }
        }
    });
    let corrupt = |error: memkeep_core::Error| assert_eq!(error.kind(), ErrorKind::Corrupt);
    corrupt(store.episode(&Scope::All, &"ep-acme".into()).await.unwrap_err());
    corrupt(store.turns(&ListTurns::new("ses-acme")).await.unwrap_err());
    corrupt(store.sessions(&ListSessions::new()).await.unwrap_err());
    problems(&store, true).await;
    assert_eq!(problems(&store, false).await, []);
    assert_eq!(store.turns(&ListTurns::new("ses-acme")).await.unwrap().items.len(), 4);
}

#[tokio::test]
async fn a_lost_counter_gives_no_number_twice() {
    let map = Poke::default();
    let store = filled(&map).await;
    map.poke(|pairs| pairs.retain(|key, _| key[0] != COUNTER));
    store.add_episode(NewEpisode::new("another", "")).await.unwrap();
    let list = ListEpisodes::new();
    assert_eq!(store.episodes(&list).await.unwrap().items.len(), 5);
}

#[tokio::test]
async fn a_damaged_receipt_is_corrupt() {
    let map = Poke::default();
    let store = filled(&map).await;
    let key = in_table(&map.pairs(), |table| table == RECEIPT).remove(0);
    map.poke(|pairs| pairs.get_mut(&key).unwrap()[9] ^= 1);
    let again = store.commit(Batch::new().key("retry")).await.unwrap_err();
    assert_eq!((again.kind(), again.get("row")), (ErrorKind::Corrupt, Some("retry")));
    assert_eq!(problems(&store, true).await.len(), 1);
    let before = Timestamp::MAX;
    store.commit(Op::ForgetReceipts { before }.into()).await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_and_foreign_content_are_refused_untouched() {
    let map = Poke::default();
    filled(&map).await.close().await.unwrap();
    open(&map).await.close().await.unwrap();

    map.poke(|pairs| {
        *pairs.get_mut(&[SCHEMA][..]).unwrap() = (SCHEMA_VERSION + 1).to_be_bytes().to_vec();
    });
    let newer = map.pairs();
    let refused = map.open(Arc::new(SystemClock)).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::SchemaTooNew);
    assert_eq!(map.pairs(), newer);

    map.poke(|pairs| drop(pairs.remove(&[SCHEMA][..])));
    let foreign = map.pairs();
    let refused = map.open(Arc::new(SystemClock)).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Corrupt);
    assert_eq!(map.pairs(), foreign);
}

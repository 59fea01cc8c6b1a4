//! A store whose pairs were changed behind its back, the checksums being right, reads what it can and says
//! `Corrupt` of the rest; `verify` finds whatever a read stumbles over, and a repair is final.

#![no_main]

#[path = "../../memory-kv/tests/support/mod.rs"]
mod support;

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::{Corpus, fuzz_target};
use memkeep::{
    Backend, Batch, DeleteState, ErrorKind, ManualClock, NewAudit, NewEpisode, NewNote, NewSession,
    NewStep, NewTurn, Op, PutState, Workspace,
    embedded::{Embedded, EmbeddedOptions},
    verify::{Problem, Verify},
};
use memkeep_fuzz::{now, read_everything, run};
use memkeep_kv::{KvEngine, MAX_KEY_BYTES};
use support::{Pairs, Poke};

const SESSION: &str = "ses-acme";
const IDS: [&str; 5] = [SESSION, "trn-acme-0", "stp-acme", "ep-acme", "nte-acme"];
const EDITS: usize = 4;
/// The table of the recall index, whose blobs have another format: they are left as they are.
const INDEX: u8 = 0x30;

/// Those of a store with some of everything.
fn sound() -> &'static Arc<Pairs> {
    static SOUND: OnceLock<Arc<Pairs>> = OnceLock::new();
    SOUND.get_or_init(|| {
        run(async {
            let map = Poke::default();
            let store = open(&map).await.expect("a new store");
            store.commit(filling()).await.expect("the rows are stored");
            store.close().await.expect("it is closed");
            map.pairs()
        })
    })
}

fn filling() -> Batch {
    let mut batch = Batch::new().key("retry");
    for workspace in ["acme", ""] {
        let id = |kind: &str| format!("{kind}-{workspace}");
        let session = id("ses");
        let new = NewSession::new().id(&*session).workspace(workspace);
        batch.push(Op::StartSession(new.model("m")));
        for (n, role) in ["user", "assistant", "user"].into_iter().enumerate() {
            let turn = NewTurn::new(&*session, role, format!("the {role} of {workspace}"));
            batch.push(turn.id(format!("{}-{n}", id("trn"))).tokens(3).embedding_id("e"));
        }
        let turn = format!("{}-0", id("trn")).into();
        batch.push(Op::TagTurn { turn, name: "tag".into(), value: Some("value".into()) });
        batch.push(NewStep::new(&*session, "build", "ok").id(id("stp")));
        let episode = NewEpisode::new("a problem", "its end").id(id("ep")).workspace(workspace);
        batch.push(episode.open(workspace.is_empty()));
        let note = NewNote::new("a lesson").id(id("nte")).workspace(workspace);
        batch.push(note.sources(vec![id("ep").into()]));
        batch.push(PutState::new("key", 1.5).workspace(workspace).ttl_ms(10_u64));
        batch.push(PutState::new("gone", 1).workspace(workspace));
        batch.push(DeleteState::new("gone").workspace(workspace));
        for n in 0..2 {
            let audit = NewAudit::new("run", "allow").id(format!("{}-{n}", id("aud")));
            batch.push(audit.workspace(workspace));
        }
    }
    batch
}

async fn open(map: &Poke) -> memkeep::Result<Embedded<KvEngine<Poke>>> {
    let mut options = EmbeddedOptions::default();
    options.clock = Arc::new(ManualClock::new(now()));
    let engine = map.clone();
    Embedded::open(options, move |_| KvEngine::open(engine, 0)).await
}

/// A value with a sound head, as the codec writes it.
fn sealed(key: &[u8], content: &[u8]) -> Vec<u8> {
    let mut sum = crc32fast::Hasher::new();
    sum.update(key);
    sum.update(content);
    [&[1], &sum.finalize().to_be_bytes()[..], content].concat()
}

/// Makes the changes that `input` holds: for each a byte that says what to do, two that choose a pair,
/// one with a length, and so many bytes. The last one has all bytes that are left.
fn change(pairs: &mut Pairs, mut input: &[u8]) -> Option<()> {
    let keys: Vec<_> = sound().keys().filter(|key| key[0] != INDEX).cloned().collect();
    for edit in 1..=EDITS {
        if input.is_empty() {
            break;
        }
        let ([what, high, low, length], rest) = input.split_first_chunk()?;
        let index = usize::from(u16::from_be_bytes([*high, *low]));
        let length = if edit == EDITS { rest.len() } else { usize::from(*length).min(rest.len()) };
        let (bytes, rest) = rest.split_at(length);
        input = rest;
        let key = keys[index % keys.len()].clone();
        match what % 6 {
            0 => drop(pairs.insert(key.clone(), sealed(&key, bytes))),
            1 => drop(pairs.insert(key, bytes.to_vec())),
            2 => drop(pairs.remove(&key)),
            // A new pair, whose key begins as one that is there.
            n @ 3..5 => {
                let kept = length.min(key.len());
                let key = [&key[..kept], bytes].concat();
                if key.is_empty() || key.len() > MAX_KEY_BYTES || [0xFF, INDEX].contains(&key[0]) {
                    return None;
                }
                let value = if n == 3 {
                    Vec::new()
                } else {
                    pairs.values().nth(index % pairs.len())?.clone()
                };
                pairs.insert(key, value);
            }
            // Content is spliced into a value that is there, which is then sealed anew.
            _ => {
                let value = pairs.get_mut(&key)?;
                let mut content = value.get(5..)?.to_vec();
                let (at, bytes) = bytes.split_first()?;
                let at = usize::from(*at) % (content.len() + 1);
                let end = content.len().min(at + bytes.len());
                content.splice(at..end, bytes.iter().copied());
                *value = sealed(&key, &content);
            }
        }
    }
    Some(())
}

/// Repairs a store in which problems were found, and gives those that are left.
async fn repaired(store: &Embedded<KvEngine<Poke>>) -> Vec<Problem> {
    let repairing = Verify::new().repair(true);
    let told = store.verify(&repairing).await.expect("damage is no failure to repair").problems;
    assert!(!told.is_empty(), "a repair finds less");
    let left = store.verify(&Verify::new()).await.expect("it is verified").problems;
    let kept = told.iter().filter(|problem| !problem.repaired).count();
    assert!(left.len() <= kept, "told {told:?}, left {left:?}");
    let again = store.verify(&repairing).await.expect("it is repaired").problems;
    let twice = again.iter().any(|problem| problem.repaired);
    assert!(!twice, "told {told:?}, left {left:?}, again {again:?}");
    let stumbled = read_everything(store, SESSION, &IDS).await;
    assert!(!stumbled || !left.is_empty(), "verify misses what a read stumbles over");
    left
}

async fn check(map: &Poke) {
    let store = match open(map).await {
        Ok(store) => store,
        Err(error) => {
            let expected = [ErrorKind::Corrupt, ErrorKind::SchemaTooNew];
            assert!(expected.contains(&error.kind()), "{error:?}");
            return;
        }
    };
    let stumbled = read_everything(&store, SESSION, &IDS).await;
    let found =
        store.verify(&Verify::new()).await.expect("damage is no failure to verify").problems;
    assert!(!stumbled || !found.is_empty(), "verify misses what a read stumbles over");

    // What is undamaged, or cannot be told from it, needs no repair.
    let left = if found.is_empty() { found } else { repaired(&store).await };
    for batch in [filling(), filling().key("other"), more()] {
        let committed = store.commit(batch).await;
        if let Err(error) = &committed {
            let expected = [
                ErrorKind::Corrupt,
                ErrorKind::Conflict,
                ErrorKind::NotFound,
                ErrorKind::InvalidArgument,
            ];
            assert!(expected.contains(&error.kind()), "{error:?}");
        }
        if left.is_empty() {
            let found = store.verify(&Verify::new()).await.expect("it is verified").problems;
            assert_eq!(found, [], "after {committed:?}");
        }
    }
    // Whatever was damaged, it can be got rid of.
    if left.is_empty() {
        for workspace in store.workspaces().await.expect("a sound store") {
            let workspace: Workspace = workspace.workspace;
            store.commit(Op::ForgetWorkspace { workspace }.into()).await.expect("it is forgotten");
        }
        assert_eq!(store.verify(&Verify::new()).await.expect("it is verified").problems, []);
    }
}

fn more() -> Batch {
    Batch::new()
        .with(NewTurn::new(SESSION, "user", "one more").id("trn-more"))
        .with(Op::EndSession { session: SESSION.into(), at: None })
        .with(PutState::new("key", 2).workspace("acme"))
        .with(NewAudit::new("run", "deny").id("aud-more").workspace("acme"))
        .with(Op::DeleteSession { session: "ses-".into(), ended_before: None })
}

fuzz_target!(|input: &[u8]| -> Corpus {
    let map = Poke::default();
    map.reset(sound());
    let mut changed = None;
    map.poke(|pairs| changed = change(pairs, input));
    if changed.is_none() {
        return Corpus::Reject;
    }
    run(check(&map));
    Corpus::Keep
});

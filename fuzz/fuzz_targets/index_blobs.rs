//! A recall index whose blobs were changed, the checksums being right, finds what it can or says
//! `Corrupt`: reads, searches and merges end, and take no more memory than the blobs call for.

#![no_main]

use std::{collections::BTreeMap, ops::Range, sync::OnceLock};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use memkeep::{ErrorKind, RecordKind, Result, Timestamp, Workspace};
use memkeep_core::recall::{
    Analyzer, Document, Language, Scorer,
    index::{
        Analysed, Blobs, BlobsMut, Cache, Changes, Coverage, Keeper, Memory, Question, Visit,
        append, documents, search,
    },
};

const KINDS: [RecordKind; 2] = [RecordKind::Episode, RecordKind::Turn];
const WORDS: [&str; 6] = ["cache", "worker", "crash", "deploy", "token", "index"];
/// How much of a merge is done: more than a sound one takes.
const STEPS: usize = 64;
const CHECKSUM: usize = 4;

#[derive(Arbitrary, Debug)]
struct Input {
    is_turns: bool,
    edits: Vec<Edit>,
    word: u8,
    k: u8,
    is_scoped: bool,
}

#[derive(Arbitrary, Debug)]
enum Edit {
    Set { blob: u8, at: u16, byte: u8 },
    Splice { blob: u8, at: u16, length: u8, bytes: Vec<u8> },
    Delete { blob: u8 },
    Move { blob: u8, to: u8 },
}

#[derive(Clone, Default)]
struct Map(BTreeMap<Vec<u8>, Vec<u8>>);

impl Blobs for Map {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.0.get(key).cloned())
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let mut pairs = self.0.range(range.start.to_vec()..range.end.to_vec());
        while let Some((key, value)) = if reverse { pairs.next_back() } else { pairs.next() } {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }
}

impl BlobsMut for Map {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key);
        Ok(())
    }
}

/// An index with segments of both sizes, some of whose documents were removed.
fn sound(kind: RecordKind) -> &'static Map {
    static SOUND: [OnceLock<Map>; 2] = [OnceLock::new(), OnceLock::new()];
    SOUND[usize::from(kind == RecordKind::Turn)].get_or_init(|| {
        let mut map = Map::default();
        let analyzer = Analyzer::default();
        let document = |number: u64| {
            let at = usize::try_from(number).expect("a small number");
            let text = format!("{}: {} {}", WORDS[at % 3], WORDS[at % 6], WORDS[at % 5]);
            let document = Document {
                text: &[&text],
                created_at: number.cast_signed(),
                open: number.is_multiple_of(2),
                session: None,
                eligible: true,
            };
            let turn = (kind == RecordKind::Turn).then(|| ((number % 7, number / 7), "user"));
            let workspace = Workspace::new(if number.is_multiple_of(3) { "acme" } else { "" });
            Analysed::new(kind, number, &workspace, &document, turn, &analyzer)
        };
        for (added, removed) in [(1..400, 0..0), (400..404, 10..13), (404..410, 14..20)] {
            let mut changes = Changes::default();
            removed.for_each(|number| changes.remove(document(number)));
            added.for_each(|number| changes.add(document(number)));
            append(&mut map, kind, &mut changes).expect("a sound index");
        }
        let coverage = Coverage { last: 409, has_words: true };
        coverage.put(&mut map, Language::default()).expect("a sound index");
        map
    })
}

fn edit(map: &mut Map, edit: Edit) {
    let key = |map: &Map, blob: u8| {
        let count = map.0.len().max(1);
        map.0.keys().nth(usize::from(blob) % count).cloned().unwrap_or_default()
    };
    let mut change = |blob: u8, change: &dyn Fn(&mut Vec<u8>)| {
        let key = key(map, blob);
        let Some(value) = map.0.get_mut(&key) else { return };
        value.truncate(value.len().saturating_sub(CHECKSUM));
        change(value);
        seal(&key, value);
    };
    match edit {
        Edit::Set { blob, at, byte } => change(blob, &|value| {
            let count = value.len().max(1);
            if let Some(place) = value.get_mut(usize::from(at) % count) {
                *place = byte;
            }
        }),
        Edit::Splice { blob, at, length, bytes } => change(blob, &|value| {
            let start = usize::from(at) % (value.len() + 1);
            let end = value.len().min(start + usize::from(length));
            value.splice(start..end, bytes.iter().copied());
        }),
        Edit::Delete { blob } => drop(map.0.remove(&key(map, blob))),
        Edit::Move { blob, to } => {
            let (from, to) = (key(map, blob), key(map, to));
            if let Some(mut value) = map.0.remove(&from) {
                value.truncate(value.len().saturating_sub(CHECKSUM));
                seal(&to, &mut value);
                map.0.insert(to, value);
            }
        }
    }
}

fn seal(key: &[u8], value: &mut Vec<u8>) {
    let mut sum = crc32fast::Hasher::new();
    sum.update(key);
    sum.update(value);
    value.extend_from_slice(&sum.finalize().to_le_bytes());
}

/// The answer, unless the index is damaged.
fn sound_or_corrupt<T>(answer: Result<T>) -> Option<T> {
    answer.map_err(|error| assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}")).ok()
}

fuzz_target!(|input: Input| {
    let kind = KINDS[usize::from(input.is_turns)];
    let mut map = sound(kind).clone();
    input.edits.into_iter().take(4).for_each(|change| edit(&mut map, change));

    let analyzer = Analyzer::default();
    sound_or_corrupt(Coverage::get(&map, Language::default()));
    sound_or_corrupt(documents(&map));
    let text = format!("{} cache", WORDS[usize::from(input.word) % WORDS.len()]);
    for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
        if scorer == Scorer::Overlap && kind == RecordKind::Turn {
            continue;
        }
        let question = Question {
            text: &text,
            scorer,
            k: if input.k == u8::MAX { usize::MAX } else { usize::from(input.k) },
            workspace: input.is_scoped.then_some("acme"),
            since: None,
            until: None,
            open: None,
            role: None,
            session: None,
        };
        let cache = Cache::new(1 << 20);
        let newest = Memory::default();
        let found = search(&map, &cache, &newest, kind, &question, &analyzer, None);
        if let Some(found) = sound_or_corrupt(found) {
            assert!(found.iter().all(|hit| !hit.score.is_nan()), "{found:?}");
        }
    }
    let now = Timestamp::from_micros(0).expect("an instant");
    let mut keeper = Keeper::new(kind);
    let mut merged = keeper.begin_all(&mut map);
    for _ in 0..STEPS {
        match merged {
            Ok(true) => {
                let step = keeper.step(&map, now, true);
                merged = step.and_then(|step| step.map_or(Ok(false), |s| s.apply(&mut map, now)));
            }
            _ => break,
        }
    }
    sound_or_corrupt(merged);
});

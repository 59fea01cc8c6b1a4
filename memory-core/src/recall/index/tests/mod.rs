//! The index against a plain scan.

// The numbers here are small.
#![allow(clippy::cast_possible_truncation)]

mod distant;

use std::{cmp::Reverse, collections::BTreeMap};

use proptest::prelude::*;

use self::distant::Distant;
use super::{
    Analysed, Blobs, Cache, Changes, Coverage, Eligible, Keeper, Memory, Question, Sought, Step,
    append, clear, documents, find, search,
};
use crate::{
    RecordKind, Result, Timestamp, Workspace,
    recall::{Analyzer, Document, Language, Ranked, Ranker, Scorer, Substring},
};

/// A record as the plain scan sees it.
#[derive(Clone, Debug)]
struct Record {
    number: u64,
    workspace: usize,
    session: u64,
    index: u64,
    role: usize,
    text: String,
    created_at: i64,
    open: bool,
}

const WORKSPACES: [&str; 3] = ["", "a", "a\u{0}b"];
const ROLES: [&str; 2] = ["user", "assistant"];

struct Store {
    kind: RecordKind,
    analyzer: Analyzer,
    map: Memory,
    cache: Cache,
    keeper: Keeper,
    /// Steps that were worked out but not written.
    held: Vec<Step>,
    records: BTreeMap<u64, Record>,
    changes: Changes,
    numbers: u64,
    indexes: [u64; 6],
}

impl Store {
    fn new(kind: RecordKind) -> Self {
        Self {
            kind,
            analyzer: Analyzer::default(),
            map: Memory::default(),
            // So small that pages are thrown out.
            cache: Cache::new(64 << 10),
            keeper: Keeper::new(kind),
            held: Vec::new(),
            records: BTreeMap::new(),
            changes: Changes::default(),
            numbers: 0,
            indexes: [0; 6],
        }
    }

    fn analysed(&self, record: &Record) -> Analysed {
        let text = [record.text.as_str()];
        let document = Document {
            text: &text,
            created_at: record.created_at,
            open: record.open,
            session: None,
            eligible: true,
        };
        let is_turn = self.kind == RecordKind::Turn;
        let turn = is_turn.then(|| ((record.session, record.index), ROLES[record.role]));
        let workspace = Workspace::from(WORKSPACES[record.workspace]);
        let analysed =
            Analysed::new(self.kind, record.number, &workspace, &document, turn, &self.analyzer);
        if is_turn { analysed.with_words(&document) } else { analysed }
    }

    fn add(&mut self, session: u64, text: String, created_at: i64, open: bool) {
        self.numbers += 1;
        let index = &mut self.indexes[session as usize];
        let record = Record {
            number: self.numbers,
            workspace: (session % 3) as usize,
            session,
            index: *index,
            role: (self.numbers % 2) as usize,
            text,
            created_at,
            open,
        };
        *index += 1;
        self.changes.add(self.analysed(&record));
        self.records.insert(record.number, record);
    }

    fn remove(&mut self, at: usize) {
        if let Some(number) = self.pick(at)
            && let Some(record) = self.records.remove(&number)
        {
            self.changes.remove(self.analysed(&record));
        }
    }

    fn revise(&mut self, at: usize, text: String) {
        if self.kind == RecordKind::Episode
            && let Some(number) = self.pick(at)
        {
            let old = self.records[&number].clone();
            let new = Record { text, open: !old.open, ..old.clone() };
            self.changes.remove(self.analysed(&old));
            self.changes.add(self.analysed(&new));
            self.records.insert(number, new);
        }
    }

    fn pick(&self, at: usize) -> Option<u64> {
        let count = self.records.len().max(1);
        self.records.keys().nth(at % count).copied()
    }

    fn commit(&mut self) {
        append(&mut self.map, self.kind, &mut self.changes).unwrap();
    }

    fn keep(&mut self, steps: usize, is_idle: bool) {
        for _ in 0..steps {
            self.write();
            if !self.hold(is_idle) {
                break;
            }
        }
        self.write();
    }

    /// Works a step out, if that is possible before those that are held are written.
    fn hold(&mut self, is_idle: bool) -> bool {
        if !self.held.last().is_none_or(Step::goes_on) {
            return false;
        }
        let step = self.keeper.step(&self.map, now(), is_idle).unwrap();
        let has_step = step.is_some();
        self.held.extend(step);
        has_step
    }

    fn write(&mut self) {
        for step in std::mem::take(&mut self.held) {
            if !step.apply(&mut self.map, now()).unwrap() {
                self.keeper.reset();
            }
        }
    }

    fn scan(&self, question: &Question<'_>, odd: bool) -> Vec<Ranked<u64>> {
        let mut ranker = Ranker::new(question.text, question.scorer, question.k, &self.analyzer);
        for record in self.records.values() {
            if question.workspace.is_some_and(|w| w != WORKSPACES[record.workspace]) {
                continue;
            }
            let eligible = question.since.is_none_or(|since| record.created_at >= since)
                && question.until.is_none_or(|until| record.created_at < until)
                && question.open.is_none_or(|open| record.open == open)
                && question.role.is_none_or(|role| ROLES[record.role] == role)
                && question.session.is_none_or(|session| record.session == session)
                && (!odd || record.number % 2 == 1);
            let session = record.session.to_string();
            let is_turn = self.kind == RecordKind::Turn;
            ranker.add(
                record.number,
                &Document {
                    text: &[&record.text],
                    created_at: record.created_at,
                    open: record.open,
                    session: is_turn.then_some((session.as_str(), record.index)),
                    eligible,
                },
            );
        }
        ranker.finish()
    }

    fn check(&self, question: &Question<'_>, odd: bool) {
        let found = self.search(&self.map, &self.cache, question, odd).unwrap();
        let expected = self.scan(question, odd);
        let bits = |ranked: &[Ranked<u64>]| -> Vec<(u64, u64)> {
            ranked.iter().map(|r| (r.key, r.score.to_bits())).collect()
        };
        assert_eq!(bits(&found), bits(&expected), "{question:?} odd: {odd}");

        // From far away, with nothing known: one trip was before, and one for the records comes after; if
        // records are to be looked at, another one.
        let (distant, cache) = (Distant::new(&self.map), Cache::new(64 << 20));
        let (mut trips, last) = (1, if odd { 4 } else { 5 });
        let found = loop {
            let found = self.search(&distant, &cache, question, odd);
            trips += 1;
            if !distant.go(trips + 1 >= last) {
                break found.unwrap();
            }
            assert!(trips <= last, "{question:?} odd: {odd}");
        };
        assert_eq!(bits(&found), bits(&expected), "from far away: {question:?} odd: {odd}");
    }

    fn search(
        &self,
        blobs: &dyn Blobs,
        cache: &Cache,
        question: &Question<'_>,
        odd: bool,
    ) -> Result<Vec<Ranked<u64>>> {
        let mut is_odd = |number: u64| Ok(number % 2 == 1);
        let eligible: Option<&mut Eligible<'_>> = if odd { Some(&mut is_odd) } else { None };
        let newest = Memory::default();
        search(blobs, cache, &newest, self.kind, question, &self.analyzer, eligible)
    }
}

impl Store {
    /// What has `text` in it, as the index finds it and as the texts tell.
    fn check_found(&self, text: &str, workspace: Option<usize>, role: Option<usize>, limit: usize) {
        let needle = Substring::new(text);
        let sought = Sought {
            text,
            workspace: workspace.map(|w| WORKSPACES[w]),
            role: role.map(|role| ROLES[role]),
        };
        let mut found = Vec::new();
        let has_words = find(&self.map, &self.cache, &Memory::default(), &sought, &mut |number| {
            found.extend(Some(number).filter(|n| needle.matches(&self.records[n].text)));
            Ok(found.len() < limit)
        })
        .unwrap();
        let mut expected: Vec<_> = self
            .records
            .values()
            .filter(|record| {
                workspace.is_none_or(|w| w == record.workspace)
                    && role.is_none_or(|role| role == record.role)
                    && needle.matches(&record.text)
            })
            .map(|record| (Reverse(record.created_at), record.number))
            .collect();
        expected.sort_unstable();
        expected.truncate(limit);
        let expected: Vec<u64> = expected.into_iter().map(|(_, number)| number).collect();
        if has_words {
            assert_eq!(found, expected, "{text:?}");
        } else {
            assert!(!text.chars().any(char::is_alphanumeric), "{text:?}");
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_micros(0).unwrap()
}

#[derive(Clone, Debug)]
enum Act {
    Add { session: u64, text: String, created_at: i64, open: bool },
    Many { session: u64, count: usize, seed: u64 },
    Remove(usize),
    RemoveMany(usize),
    Revise(usize, String),
    Commit,
    Keep { steps: usize, is_idle: bool },
    Hold { steps: usize, is_idle: bool },
    All,
    Ask { text: String, k: usize, workspace: Option<usize>, filter: u8 },
    Find { text: String, from: usize, length: usize, workspace: Option<usize>, role: Option<usize> },
}

const WORDS: [&str; 16] = [
    "cache",
    "worker",
    "crash",
    "deploy",
    "Anna:",
    "retry?",
    "token",
    "index",
    "café",
    "naïve",
    "atomic_write",
    "the",
    "部署",
    "gpt-4o",
    "Straße",
    LONG,
];

/// Too long for a key.
const LONG: &str = concat!(
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
    "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz",
);

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..7).prop_map(|words| words.join(" "))
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..6_u64, text(), 0..4_i64, any::<bool>())
            .prop_map(|(session, text, created_at, open)| Act::Add { session, text, created_at, open }),
        2 => (0..6_u64, 1..400_usize, any::<u64>())
            .prop_map(|(session, count, seed)| Act::Many { session, count, seed }),
        3 => any::<usize>().prop_map(Act::Remove),
        1 => (0..200_usize).prop_map(Act::RemoveMany),
        3 => (any::<usize>(), text()).prop_map(|(at, text)| Act::Revise(at, text)),
        6 => Just(Act::Commit),
        3 => (1..8_usize, any::<bool>()).prop_map(|(steps, is_idle)| Act::Keep { steps, is_idle }),
        3 => (1..4_usize, any::<bool>()).prop_map(|(steps, is_idle)| Act::Hold { steps, is_idle }),
        1 => Just(Act::All),
        6 => (text(), prop_oneof![0..12_usize, Just(usize::MAX)], prop::option::of(0..3_usize), any::<u8>())
            .prop_map(|(text, k, workspace, filter)| Act::Ask { text, k, workspace, filter }),
        3 => (text(), 0..20_usize, 1..12_usize, prop::option::of(0..3_usize), prop::option::of(0..2_usize))
            .prop_map(|(text, from, length, workspace, role)| {
                Act::Find { text, from, length, workspace, role }
            }),
    ]
}

fn run(kind: RecordKind, acts: Vec<Act>) {
    let mut store = Store::new(kind);
    for act in acts {
        match act {
            Act::Add { session, text, created_at, open } => {
                store.add(session, text, created_at, open);
            }
            Act::Many { session, count, seed } => {
                let mut seed = seed | 1;
                for _ in 0..count {
                    let mut words = Vec::new();
                    for _ in 0..4 {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        words.push(WORDS[(seed >> 33) as usize % WORDS.len()]);
                    }
                    let created_at = (seed >> 40).cast_signed() % 50;
                    store.add(session, words.join(" "), created_at, seed >> 63 == 1);
                }
            }
            Act::Remove(at) => store.remove(at),
            Act::RemoveMany(count) => (0..count).for_each(|at| store.remove(at)),
            Act::Revise(at, text) => store.revise(at, text),
            Act::Commit => store.commit(),
            Act::Keep { steps, is_idle } => store.keep(steps, is_idle),
            Act::Hold { steps, is_idle } => {
                for _ in 0..steps {
                    store.hold(is_idle);
                }
            }
            Act::All => {
                let _ = store.keeper.begin_all(&mut store.map).unwrap();
                // Whatever was held is of a merge that is given up, or deletes what it may.
                store.held.clear();
                store.keep(usize::MAX, false);
            }
            Act::Find { text, from, length, workspace, role } => {
                store.commit();
                let text: String = text.chars().skip(from).take(length).collect();
                if kind == RecordKind::Turn && !text.is_empty() {
                    store.check_found(&text, workspace, role, 3);
                    store.check_found(&text, workspace, role, usize::MAX);
                }
            }
            Act::Ask { text, k, workspace, filter } => {
                store.commit();
                for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
                    if scorer == Scorer::Overlap && kind != RecordKind::Episode {
                        continue;
                    }
                    let on = |bit: u8| filter & 1 << bit != 0;
                    let question = Question {
                        text: &text,
                        scorer,
                        k,
                        workspace: workspace.map(|w| WORKSPACES[w]),
                        since: on(0).then_some(1),
                        until: on(1).then_some(3),
                        open: on(2).then_some(true),
                        role: (kind == RecordKind::Turn && on(3)).then_some("user"),
                        session: (kind == RecordKind::Turn && on(4)).then_some(2),
                    };
                    store.check(&question, on(5));
                    store.check(
                        &Question {
                            since: None,
                            until: None,
                            open: None,
                            role: None,
                            session: None,
                            ..question
                        },
                        false,
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn episodes_are_found_as_by_a_scan(acts in prop::collection::vec(act(), 1..60)) {
        run(RecordKind::Episode, acts);
    }

    #[test]
    fn turns_are_found_as_by_a_scan(acts in prop::collection::vec(act(), 1..60)) {
        run(RecordKind::Turn, acts);
    }
}

/// Far more turns are as good as the last candidate than are candidates: which are, their times and numbers
/// tell. Newer segments remove some, or none.
#[test]
fn candidates_that_are_equally_good_are_told_apart() {
    for removed in [0, 40] {
        let mut store = Store::new(RecordKind::Turn);
        for at in 0..3_000_u64 {
            let text = match at % 7 {
                0 => "cache worker?",
                1 | 2 => "cache crash",
                3 => "deploy index",
                _ => "worker cache",
            };
            let session = (at / 5 + at % 2) % 6;
            store.add(session, text.to_owned(), (at * 7 % 11).cast_signed(), false);
            if at % 1_100 == 0 {
                store.commit();
            }
        }
        store.commit();
        (0..removed).for_each(|at| store.remove(at * 53));
        store.commit();
        for scorer in [Scorer::Bm25, Scorer::Context] {
            for (text, k) in [("cache", 10), ("cache worker", 1_500), ("deploy cache", usize::MAX)]
            {
                let question = Question {
                    text,
                    scorer,
                    k,
                    workspace: None,
                    since: None,
                    until: None,
                    open: None,
                    role: None,
                    session: None,
                };
                store.check(&question, false);
                store.check(&Question { until: Some(9), session: Some(2), ..question }, true);
            }
        }
    }
}

/// Whoever changes a record that is not covered keeps the coverage anew: what was worked out before that
/// would bring back what is gone.
#[test]
fn what_was_worked_out_before_a_change_is_refused() {
    let language = Language::default();
    let mut store = Store::new(RecordKind::Episode);
    let extend = |store: &mut Store, last: u64| {
        let coverage = Coverage { last, has_words: false };
        let is_first = store.numbers == 0;
        store.add(0, "cache".to_owned(), 0, false);
        let kind = store.kind;
        Step::extend(&store.map, kind, language, coverage, is_first, &mut store.changes).unwrap()
    };
    let late = extend(&mut store, 1);
    Coverage::default().put(&mut store.map, language).unwrap();
    assert!(!late.apply(&mut store.map, now()).unwrap());
    assert!(documents(&store.map).unwrap().is_empty());

    // Not even where the index was emptied since: there is nothing as there was nothing before.
    let late = extend(&mut store, 1);
    clear(&mut store.map, language).unwrap();
    assert!(!late.apply(&mut store.map, now()).unwrap());

    let (first, second) = (extend(&mut store, 2), extend(&mut store, 2));
    assert!(first.apply(&mut store.map, now()).unwrap());
    // Another handle had worked out the same.
    assert!(!second.apply(&mut store.map, now()).unwrap());
    assert_eq!(Coverage::get(&store.map, language).unwrap().last, 2);
    assert_eq!(documents(&store.map).unwrap().len(), 1);
}

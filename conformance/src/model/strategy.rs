//! Random programs. Names, texts and times come from small sets, so that ops meet each other; some
//! words are wrong on purpose.

use std::collections::BTreeMap;

use memkeep_core::{
    Batch, Expected, Json, Metadata, RecordKind, Timestamp, Workspace, recall::Scorer,
};
use proptest::{
    collection::vec,
    option,
    prelude::{BoxedStrategy, Just, Strategy, any},
    prop_oneof,
    sample::select,
    strategy::Union,
};
use serde_json::json;

use super::{
    check::Beyond,
    command::{Command, Listing, Of, Program, Read, Recall, Step},
    ops,
};
use crate::Case;

/// Seven days: for so long a key is honoured.
const WEEK: i64 = 7 * 24 * 3_600 * 1_000_000;

/// Programs for a store of these kinds.
pub(super) fn program(kinds: &[RecordKind], beyond: Beyond) -> BoxedStrategy<Program> {
    let second = match beyond {
        Beyond::SecondHandle => any::<bool>().boxed(),
        _ => Just(false).boxed(),
    };
    let step = (second, command(kinds, beyond));
    let step = step.prop_map(|(second, command)| Step { second, command });
    vec(step, 1..50).prop_map(|steps| Program { steps }).boxed()
}

fn command(kinds: &[RecordKind], beyond: Beyond) -> BoxedStrategy<Command> {
    let batch = || {
        let op = || ops::op(kinds);
        let ops = prop_oneof![3 => vec(op(), 1), 2 => vec(op(), 2), 1 => vec(op(), 3..6)];
        (ops, option::weighted(0.2, select(vec!["k", "l"])))
            .prop_map(|(ops, key)| Batch { ops, key: key.map(str::to_owned) })
    };
    let mut commands = vec![
        (12, batch().prop_map(Command::Commit).boxed()),
        (4, ops::op(kinds).prop_map(Command::One).boxed()),
        (2, vec(0_usize..60, 1..4).prop_map(Command::RestoreSeen).boxed()),
        (3, micros().prop_map(Command::Clock).boxed()),
        (6, read(kinds).prop_map(Command::Read).boxed()),
        (2, listing(kinds).prop_map(Command::Begin).boxed()),
        (3, Just(Command::Continue).boxed()),
        (
            1,
            (micros(), scope())
                .prop_map(|(before, scope)| Command::Prune { before, scope })
                .boxed(),
        ),
        (1, Just(Command::Compare).boxed()),
    ];
    if beyond == Beyond::Reopening {
        commands.push((2, Just(Command::Reopen).boxed()));
    }
    Union::new_weighted(commands).boxed()
}

pub(super) fn name() -> impl Strategy<Value = String> + Clone {
    select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

/// An id that an op or a read names.
pub(super) fn known() -> impl Strategy<Value = String> + Clone {
    let there = select(vec!["#0", "#1", "#2", "#3"]).prop_map(str::to_owned);
    prop_oneof![6 => there, 1 => name()]
}

pub(super) fn workspace() -> impl Strategy<Value = Workspace> + Clone {
    select(vec!["default", "w", "W", "w-x", ""]).prop_map(Workspace::from)
}

pub(super) fn scope() -> impl Strategy<Value = Option<Workspace>> {
    option::weighted(0.4, workspace())
}

pub(super) fn micros() -> impl Strategy<Value = i64> {
    let far = select(vec![WEEK - 1, WEEK, WEEK + 1, -WEEK]);
    prop_oneof![8 => -3_i64..6, 3 => 990_i64..2_010, 1 => far]
}

pub(super) fn instant() -> impl Strategy<Value = Timestamp> {
    micros().prop_map(Case::at)
}

pub(super) fn text() -> impl Strategy<Value = String> {
    let texts = vec![
        "",
        "deploy failed at 100%",
        "why did the deploy fail?",
        "atomic_write_json crashed",
        "Straße café",
        "a\0b",
        "%",
        "write write deploys",
    ];
    select(texts).prop_map(str::to_owned)
}

pub(super) fn value() -> impl Strategy<Value = Json> {
    select(vec![
        json!(null),
        json!(u64::MAX),
        json!("x"),
        json!({"b": [1.5], "a": null}),
        json!([]),
    ])
}

pub(super) fn metadata() -> impl Strategy<Value = Metadata> {
    value().prop_map(|value| Metadata::from_iter([("k".to_owned(), value)]))
}

pub(super) fn role() -> impl Strategy<Value = String> {
    select(vec!["user", "user", "assistant", "User"]).prop_map(str::to_owned)
}

pub(super) fn tag() -> impl Strategy<Value = String> {
    select(vec!["x", "X", "x%", ""]).prop_map(str::to_owned)
}

pub(super) fn tags() -> impl Strategy<Value = BTreeMap<String, Option<String>>> {
    proptest::collection::btree_map(tag(), option::of(text()), 0..3)
}

pub(super) fn key() -> impl Strategy<Value = String> {
    select(vec!["", "a", "ab", "a_", "b"]).prop_map(str::to_owned)
}

pub(super) fn expected() -> impl Strategy<Value = Expected> {
    prop_oneof![Just(Expected::Any), Just(Expected::Absent), (0_u64..4).prop_map(Expected::Version)]
}

fn limit() -> impl Strategy<Value = usize> {
    prop_oneof![6 => 1_usize..4, 1 => Just(0), 2 => Just(usize::MAX)]
}

fn listing(kinds: &[RecordKind]) -> BoxedStrategy<Listing> {
    let mut all = vec![select(kinds.to_vec()).prop_map(Of::Scan).boxed()];
    for kind in kinds {
        all.push(match kind {
            RecordKind::Session => {
                any::<bool>().prop_map(|by_activity| Of::Sessions { by_activity }).boxed()
            }
            RecordKind::Turn => (known(), any::<bool>())
                .prop_map(|(session, newest_first)| Of::Turns { session, newest_first })
                .boxed(),
            RecordKind::Step => known().prop_map(|session| Of::Steps { session }).boxed(),
            RecordKind::Episode => {
                option::of(any::<bool>()).prop_map(|open| Of::Episodes { open }).boxed()
            }
            RecordKind::Note => Just(Of::Notes).boxed(),
            RecordKind::State => key().prop_map(|prefix| Of::States { prefix }).boxed(),
            RecordKind::Audit => Just(Of::Audit).boxed(),
        });
    }
    (Union::new(all), scope(), limit())
        .prop_map(|(of, scope, limit)| Listing { of, scope, limit })
        .boxed()
}

fn read(kinds: &[RecordKind]) -> BoxedStrategy<Read> {
    let has = |kind| kinds.contains(&kind);
    let mut reads = vec![
        (4, listing(kinds).prop_map(Read::All).boxed()),
        (1, Just(Read::Workspaces).boxed()),
        (1, scope().prop_map(|scope| Read::Stats { scope }).boxed()),
    ];
    let named = kinds.iter().copied();
    let named: Vec<_> =
        named.filter(|kind| !matches!(kind, RecordKind::State | RecordKind::Audit)).collect();
    if !named.is_empty() {
        let by_id = (select(named), scope(), known());
        let by_id = by_id.prop_map(|(kind, scope, id)| Read::ById { kind, scope, id });
        reads.push((3, by_id.boxed()));
    }
    let searched = [RecordKind::Episode, RecordKind::Turn, RecordKind::Note];
    let searched: Vec<_> = searched.into_iter().filter(|kind| has(*kind)).collect();
    if !searched.is_empty() {
        reads.push((5, recall(searched).prop_map(Read::Recall).boxed()));
    }
    if has(RecordKind::State) {
        let state =
            (workspace(), key()).prop_map(|(workspace, key)| Read::State { workspace, key });
        reads.push((2, state.boxed()));
    }
    if has(RecordKind::Audit) {
        let head = workspace().prop_map(|workspace| Read::AuditHead { workspace });
        reads.push((1, head.boxed()));
    }
    if has(RecordKind::Turn) {
        let sought = select(vec!["DEPLOY", "%", "_", "strasse", "e", "\0", ""]);
        let find = (sought, scope(), option::of(role()), limit());
        let find = find.prop_map(|(text, scope, role, limit)| Read::Find {
            text: text.to_owned(),
            scope,
            role,
            limit,
        });
        reads.push((2, find.boxed()));
    }
    Union::new_weighted(reads).boxed()
}

fn recall(kinds: Vec<RecordKind>) -> impl Strategy<Value = Recall> {
    let scorer = option::of(select(vec![Scorer::Overlap, Scorer::Bm25, Scorer::Context]));
    let seldom = |strategy: BoxedStrategy<String>| option::weighted(0.2, strategy);
    let filters = (
        option::weighted(0.3, any::<bool>()),
        seldom(role().boxed()),
        seldom(tag().boxed()),
        seldom(known().boxed()),
        seldom(known().boxed()),
        option::weighted(0.2, instant()),
        option::weighted(0.2, instant()),
    );
    (select(kinds), text(), limit(), scorer, scope(), filters).prop_map(
        |(kind, text, k, scorer, scope, filters)| {
            let (open, role, tag, session, source, since, until) = filters;
            Recall { kind, text, k, scorer, scope, open, role, tag, session, source, since, until }
        },
    )
}

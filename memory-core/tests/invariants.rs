//! What holds after any sequence of batches, refused ones included.

mod support;

use std::{collections::BTreeMap, time::Duration};

use memkeep_core::{verify::Verify, *};
use proptest::prelude::*;
use serde_json::json;
use support::{PlainStore, START};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn workspace() -> impl Strategy<Value = Workspace> {
    prop::sample::select(vec!["default", "w", ""]).prop_map(Workspace::from)
}

fn maybe_name() -> impl Strategy<Value = Option<String>> {
    prop::option::of(name())
}

fn instant() -> impl Strategy<Value = Timestamp> {
    (-20_i64..20).prop_map(|n| Timestamp::from_micros(START + n).unwrap())
}

fn tokens() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -5_i64..50, 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
}

fn op() -> impl Strategy<Value = Op> {
    let session = || (maybe_name(), workspace(), prop::option::of(instant()));
    let new_session = |(id, workspace, started_at): (Option<String>, Workspace, _)| {
        let mut new = NewSession::new().workspace(workspace);
        new.id = id.map(Into::into);
        new.started_at = started_at;
        new
    };
    prop_oneof![
        1 => session().prop_map(move |s| Op::StartSession(new_session(s))),
        1 => session().prop_map(move |s| Op::EnsureSession(new_session(s))),
        1 => (name(), prop::option::of(instant()))
            .prop_map(|(s, at)| Op::EndSession { session: s.into(), at }),
        1 => name().prop_map(|s| Op::ResumeSession { session: s.into() }),
        1 => (name(), maybe_name()).prop_map(|(s, summary)| Op::SetSummary { session: s.into(), summary }),
        1 => (name(), prop::option::of(instant()))
            .prop_map(|(s, ended_before)| Op::DeleteSession { session: s.into(), ended_before }),
        4 => (name(), maybe_name(), name(), prop::option::of(tokens()), prop::option::of(instant()))
            .prop_map(|(s, id, content, tokens, created_at)| {
                let mut new = NewTurn::new(s, "user", content);
                new.id = id.map(Into::into);
                new.tokens = tokens;
                new.created_at = created_at;
                new.into()
            }),
        2 => (name(), maybe_name()).prop_map(|(s, id)| {
            let mut new = NewStep::new(s, "step", "ok");
            new.id = id.map(Into::into);
            new.into()
        }),
        1 => name().prop_map(|t| Op::DeleteTurn { turn: t.into() }),
        1 => (name(), name()).prop_map(|(t, name)| Op::TagTurn { turn: t.into(), name, value: None }),
        1 => (name(), workspace(), name(), any::<bool>()).prop_map(|(id, workspace, problem, open)| {
            NewEpisode::new(problem, "s").id(id).workspace(workspace).open(open).into()
        }),
        1 => (name(), any::<bool>())
            .prop_map(|(e, open)| Op::SetEpisodeOpen { episode: e.into(), open }),
        1 => name().prop_map(|e| Op::DeleteEpisode { episode: e.into(), closed_before: None }),
        1 => (maybe_name(), prop::collection::vec(name(), 0..2)).prop_map(|(id, sources)| {
            let mut new = NewNote::new("n");
            new.id = id.map(Into::into);
            let sources: Vec<EpisodeId> = sources.into_iter().map(Into::into).collect();
            new.sources(sources).into()
        }),
        1 => name().prop_map(|n| Op::DeleteNote { note: n.into() }),
        2 => (name(), workspace(), prop::option::of(0_u64..30)).prop_map(|(key, workspace, ttl)| {
            let mut put = PutState::new(key, json!(1)).workspace(workspace);
            put.ttl_ms = ttl;
            put.into()
        }),
        1 => (name(), workspace())
            .prop_map(|(key, workspace)| DeleteState::new(key).workspace(workspace).into()),
        2 => (maybe_name(), workspace(), name()).prop_map(|(id, workspace, action)| {
            let mut new = NewAudit::new(action, "allow").workspace(workspace);
            new.id = id.map(Into::into);
            new.into()
        }),
        1 => workspace().prop_map(|workspace| Op::ForgetWorkspace { workspace }),
    ]
}

/// Batches, each with an idempotency key or none, and how far the clock goes before it (it may go
/// back).
fn batches() -> impl Strategy<Value = Vec<(Batch, i64)>> {
    let batch = (prop::collection::vec(op(), 1..6), prop::option::of("[xy]"))
        .prop_map(|(ops, key)| Batch { ops, key });
    prop::collection::vec((batch, -30_000_i64..60_000), 1..25)
}

/// The highest version and index seen so far.
#[derive(Default)]
struct Highest {
    versions: BTreeMap<StateKey, u64>,
    indexes: BTreeMap<SessionId, u64>,
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn records_agree_after_any_batches(batches in batches()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let store = PlainStore::default();
        let mut highest = Highest::default();
        for (batch, move_clock) in batches {
            let now = store.clock.now().as_micros() + move_clock;
            store.clock.set(Timestamp::from_micros(now).unwrap());
            let before = store.tables().clone();
            let forgets = |op: &Op| matches!(op, Op::ForgetWorkspace { .. } | Op::DeleteSession { .. });
            let starts_again = batch.ops.iter().any(forgets);
            match store.apply(batch.clone()) {
                // What counts in such a batch before the deletion does not count after it.
                Ok(_) if starts_again => highest = Highest::default(),
                Ok(receipt) => {
                    prop_assert_eq!(receipt.outcomes.len(), batch.ops.len());
                    for outcome in receipt.outcomes {
                        highest.see(&outcome, batch.key.is_some())?;
                    }
                }
                Err(error) => {
                    prop_assert!(!error.is_retryable());
                    prop_assert_eq!(&*store.tables(), &before);
                }
            }
            let report = runtime.block_on(store.verify(&Verify::new())).unwrap();
            prop_assert!(report.is_clean(), "{:?}", report.problems);
        }
    }

    #[test]
    fn an_op_is_the_same_after_json(op in op()) {
        let text = serde_json::to_string(&op).unwrap();
        prop_assert_eq!(serde_json::from_str::<Op>(&text).unwrap(), op, "{}", text);
    }

    /// One batch of many ops does what as many batches of one op do.
    #[test]
    fn a_batch_is_its_ops_one_after_the_other(ops in prop::collection::vec(op(), 1..30)) {
        // Generated ids differ from store to store.
        let named = |op: &Op| match op {
            Op::StartSession(n) | Op::EnsureSession(n) => n.id.is_some(),
            Op::RecordTurn(n) => n.id.is_some(),
            Op::RecordStep(n) => n.id.is_some(),
            Op::AddNote(n) => n.id.is_some(),
            Op::AppendAudit(n) => n.id.is_some(),
            _ => true,
        };
        let one_by_one = PlainStore::default();
        let mut accepted = Batch::new();
        for op in ops.into_iter().filter(named) {
            if one_by_one.apply(Batch::from(op.clone())).is_ok() {
                accepted.push(op);
            }
        }
        let at_once = PlainStore::default();
        at_once.apply(accepted).unwrap();
        // Equal in order of insertion too.
        for kind in RecordKind::ALL {
            prop_assert_eq!(at_once.tables().records(kind), one_by_one.tables().records(kind));
        }
    }
}

impl Highest {
    /// Versions and indexes only grow, as long as neither session nor workspace was deleted.
    fn see(&mut self, outcome: &Outcome, keyed: bool) -> Result<(), TestCaseError> {
        if keyed {
            return Ok(());
        }
        match outcome {
            Outcome::State(entry) => {
                let key = StateKey { workspace: entry.workspace.clone(), key: entry.key.clone() };
                let last = self.versions.insert(key, entry.version);
                prop_assert!(last.is_none_or(|last| last < entry.version));
            }
            Outcome::Turn(turn) => {
                let highest = self.indexes.entry(turn.session.clone()).or_default();
                *highest = (*highest).max(turn.index);
            }
            _ => {}
        }
        Ok(())
    }
}

#[test]
fn a_ttl_is_rounded_up_to_milliseconds() {
    let put = PutState::new("k", json!(1)).ttl(Duration::from_nanos(1));
    assert_eq!(put.ttl_ms, Some(1));
}

//! Random ops.

use memkeep_core::{
    AuditRecord, DeleteState, Episode, EpisodeId, EpisodeRevision, Hash, Metadata, NewAudit,
    NewEpisode, NewNote, NewSession, NewStep, NewTurn, Note, Op, PutState, Record, RecordKind,
    Session, StateSlot, Step, Turn,
};
use proptest::{
    collection::vec,
    option,
    prelude::{BoxedStrategy, Just, Strategy, any},
    prop_oneof,
    sample::select,
    strategy::Union,
};

use super::strategy::{
    expected, instant, key, known, metadata, micros, name, role, tag, tags, text, value, workspace,
};

/// Ops on records of these kinds.
pub(super) fn op(kinds: &[RecordKind]) -> BoxedStrategy<Op> {
    let mut ops = vec![(1, of_all())];
    for kind in kinds {
        ops.extend(match kind {
            RecordKind::Session => vec![(8, session()), (1, restored_session())],
            RecordKind::Turn => vec![(9, turn()), (2, restored_turn())],
            RecordKind::Step => vec![(3, step()), (1, restored_step())],
            RecordKind::Episode => vec![(7, episode()), (1, restored_episode())],
            RecordKind::Note => vec![(4, note()), (1, restored_note())],
            RecordKind::State => vec![(7, state()), (1, restored_state())],
            RecordKind::Audit => vec![(3, audit()), (1, restored_audit())],
        });
    }
    Union::new_weighted(ops).boxed()
}

/// An id for what is created: mostly none, and now and then one that is not allowed.
fn new_id() -> impl Strategy<Value = Option<String>> {
    let wrong = prop_oneof![Just(String::new()), Just("x".repeat(1_025))];
    prop_oneof![30 => Just(None), 30 => name().prop_map(Some), 1 => wrong.prop_map(Some)]
}

fn of_all() -> BoxedStrategy<Op> {
    prop_oneof![
        workspace().prop_map(|workspace| Op::ForgetWorkspace { workspace }),
        instant().prop_map(|before| Op::ForgetReceipts { before }),
    ]
    .boxed()
}

fn new_session() -> impl Strategy<Value = NewSession> {
    let seldom = || option::weighted(0.1, instant());
    let new = (
        new_id(),
        option::of(workspace()),
        seldom(),
        seldom(),
        option::weighted(0.2, name()),
        option::weighted(0.2, name()),
        option::weighted(0.2, metadata()),
    );
    new.prop_map(|(id, workspace, created_at, started_at, model, mode, metadata)| {
        let mut new = NewSession::new();
        new.id = id.map(Into::into);
        new.workspace = workspace;
        new.created_at = created_at;
        new.started_at = started_at;
        new.model = model;
        new.mode = mode;
        new.metadata = metadata;
        new
    })
}

fn session() -> BoxedStrategy<Op> {
    let maybe = || option::weighted(0.3, instant());
    prop_oneof![
        4 => new_session().prop_map(Op::StartSession),
        2 => new_session().prop_map(Op::EnsureSession),
        2 => (known(), maybe()).prop_map(|(s, at)| Op::EndSession { session: s.into(), at }),
        1 => known().prop_map(|s| Op::ResumeSession { session: s.into() }),
        1 => (known(), option::of(text()))
            .prop_map(|(s, summary)| Op::SetSummary { session: s.into(), summary }),
        1 => (known(), maybe())
            .prop_map(|(s, ended_before)| Op::DeleteSession { session: s.into(), ended_before }),
    ]
    .boxed()
}

fn tokens() -> impl Strategy<Value = Option<i64>> {
    let some = prop_oneof![6 => -5_i64..50, 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    option::of(some)
}

fn turn() -> BoxedStrategy<Op> {
    let rest = (
        option::weighted(0.2, instant()),
        tokens(),
        option::weighted(0.2, metadata()),
        option::weighted(0.3, tags()),
    );
    let new = (new_id(), known(), role(), text(), rest).prop_map(
        |(id, session, role, content, (created_at, tokens, metadata, tags))| {
            let mut new = NewTurn::new(session, role, content);
            new.id = id.map(Into::into);
            new.created_at = created_at;
            new.tokens = tokens;
            new.metadata = metadata;
            new.tags = tags;
            new.into()
        },
    );
    prop_oneof![
        9 => new,
        2 => known().prop_map(|t| Op::DeleteTurn { turn: t.into() }),
        1 => (known(), tag(), option::of(text()))
            .prop_map(|(t, name, value)| Op::TagTurn { turn: t.into(), name, value }),
        1 => (known(), tag()).prop_map(|(t, name)| Op::UntagTurn { turn: t.into(), name }),
        1 => (known(), option::of(name()))
            .prop_map(|(t, embedding_id)| Op::SetEmbedding { turn: t.into(), embedding_id }),
    ]
    .boxed()
}

fn step() -> BoxedStrategy<Op> {
    let new = (new_id(), known(), name(), option::weighted(0.2, instant()), option::of(value()));
    new.prop_map(|(id, session, name, created_at, payload)| {
        let mut new = NewStep::new(session, name, "ok");
        new.id = id.map(Into::into);
        new.created_at = created_at;
        new.payload = payload;
        new.into()
    })
    .boxed()
}

fn episode() -> BoxedStrategy<Op> {
    let rest = (option::weighted(0.2, instant()), option::of(any::<bool>()));
    let new = (new_id(), option::of(workspace()), text(), text(), rest);
    let new = new.prop_map(|(id, workspace, problem, summary, (created_at, open))| {
        let mut new = NewEpisode::new(problem, summary);
        new.id = id.map(Into::into);
        new.workspace = workspace;
        new.created_at = created_at;
        new.open = open;
        new.into()
    });
    let maybe = option::weighted(0.3, instant());
    let revision = (known(), option::of(text()), option::of(text()), option::of(metadata()));
    let revision = revision.prop_map(|(episode, problem, summary, metadata)| {
        let mut revision = EpisodeRevision::new(episode);
        revision.problem = problem;
        revision.summary = summary;
        revision.metadata = metadata;
        Op::ReviseEpisode(revision)
    });
    prop_oneof![
        4 => new,
        1 => revision,
        2 => (known(), any::<bool>())
            .prop_map(|(e, open)| Op::SetEpisodeOpen { episode: e.into(), open }),
        1 => (known(), maybe)
            .prop_map(|(e, closed_before)| Op::DeleteEpisode { episode: e.into(), closed_before }),
    ]
    .boxed()
}

fn sources() -> impl Strategy<Value = Vec<EpisodeId>> {
    vec(known().prop_map(EpisodeId::from), 0..3)
}

fn note() -> BoxedStrategy<Op> {
    let new = (
        new_id(),
        option::weighted(0.3, workspace()),
        text(),
        option::of(sources()),
        option::weighted(0.2, instant()),
    );
    let new = new.prop_map(|(id, workspace, text, sources, created_at)| {
        let mut new = NewNote::new(text);
        new.id = id.map(Into::into);
        new.workspace = workspace;
        new.sources = sources;
        new.created_at = created_at;
        new.into()
    });
    prop_oneof![4 => new, 1 => known().prop_map(|n| Op::DeleteNote { note: n.into() })].boxed()
}

fn state() -> BoxedStrategy<Op> {
    let ttl = prop_oneof![0_u64..3, Just(u64::MAX)];
    let put = (
        key(),
        value(),
        option::of(workspace()),
        option::of(expected()),
        option::weighted(0.2, instant()),
        option::weighted(0.3, ttl),
    );
    let put = put.prop_map(|(key, value, workspace, expected, expires_at, ttl_ms)| {
        let mut put = PutState::new(key, value);
        put.workspace = workspace;
        put.expected = expected;
        put.expires_at = expires_at;
        put.ttl_ms = ttl_ms;
        put.into()
    });
    let maybe = option::weighted(0.2, instant());
    let delete = (key(), option::of(workspace()), option::of(expected()), maybe).prop_map(
        |(key, workspace, expected, expired_before)| {
            let mut delete = DeleteState::new(key);
            delete.workspace = workspace;
            delete.expected = expected;
            delete.expired_before = expired_before;
            delete.into()
        },
    );
    prop_oneof![3 => put, 1 => delete].boxed()
}

fn audit() -> BoxedStrategy<Op> {
    let new = (new_id(), option::of(workspace()), name(), option::of(value()));
    new.prop_map(|(id, workspace, action, detail)| {
        let mut new = NewAudit::new(action, "allow");
        new.id = id.map(Into::into);
        new.workspace = workspace;
        new.detail = detail;
        new.into()
    })
    .boxed()
}

/// A number that a caller may give: small, or at the end of what is allowed.
fn counter() -> impl Strategy<Value = u64> {
    let end = select(vec![i64::MAX as u64 - 1, i64::MAX as u64, u64::MAX]);
    prop_oneof![20 => 0_u64..6, 1 => end]
}

fn restored_session() -> BoxedStrategy<Op> {
    let counters = (counter(), counter(), 0_u64..3, -3_i64..30);
    let times = (instant(), instant(), instant(), option::of(instant()));
    (name(), workspace(), option::of(text()), times, counters)
        .prop_map(|(id, workspace, summary, times, counters)| {
            let (created_at, started_at, last_active, ended_at) = times;
            let (next_turn, next_step, turn_count, total_tokens) = counters;
            Record::Session(Session {
                id: id.into(),
                workspace,
                created_at,
                started_at,
                ended_at,
                model: None,
                mode: None,
                summary,
                metadata: Metadata::default(),
                next_turn,
                next_step,
                turn_count,
                step_count: 0,
                total_tokens,
                last_active,
                first_prompt: None,
            })
            .into()
        })
        .boxed()
}

fn restored_turn() -> BoxedStrategy<Op> {
    (name(), workspace(), instant(), known(), counter(), (role(), text(), tokens(), tags()))
        .prop_map(|(id, workspace, created_at, session, index, rest)| {
            let (role, content, tokens, tags) = rest;
            Record::Turn(Turn {
                id: id.into(),
                workspace,
                created_at,
                session: session.into(),
                index,
                role,
                content,
                model: None,
                tokens,
                embedding_id: None,
                metadata: Metadata::default(),
                tags,
            })
            .into()
        })
        .boxed()
}

fn restored_step() -> BoxedStrategy<Op> {
    (name(), workspace(), instant(), known(), counter(), value())
        .prop_map(|(id, workspace, created_at, session, index, payload)| {
            Record::Step(Step {
                id: id.into(),
                workspace,
                created_at,
                session: session.into(),
                index,
                name: "plan".to_owned(),
                status: "ok".to_owned(),
                payload,
            })
            .into()
        })
        .boxed()
}

fn restored_episode() -> BoxedStrategy<Op> {
    (name(), workspace(), instant(), text(), any::<bool>(), option::weighted(0.3, instant()))
        .prop_map(|(id, workspace, created_at, problem, open, closed_at)| {
            Record::Episode(Episode {
                id: id.into(),
                workspace,
                created_at,
                problem,
                summary: String::new(),
                open,
                closed_at,
                metadata: Metadata::default(),
            })
            .into()
        })
        .boxed()
}

fn restored_note() -> BoxedStrategy<Op> {
    (name(), workspace(), instant(), text(), sources())
        .prop_map(|(id, workspace, created_at, text, sources)| {
            Record::Note(Note { id: id.into(), workspace, created_at, text, sources }).into()
        })
        .boxed()
}

fn restored_state() -> BoxedStrategy<Op> {
    let times = (instant(), instant(), option::of(instant()));
    (workspace(), key(), option::of(value()), counter(), times)
        .prop_map(|(workspace, key, value, version, (created_at, updated_at, expires_at))| {
            let slot =
                StateSlot { workspace, key, value, version, created_at, updated_at, expires_at };
            Record::State(slot).into()
        })
        .boxed()
}

/// Right only if it happens to be the first of its chain; records that were there once are restored
/// by a command of their own.
fn restored_audit() -> BoxedStrategy<Op> {
    (name(), workspace(), micros(), 0_u64..3, value())
        .prop_map(|(id, workspace, micros, seq, detail)| {
            let mut audit = AuditRecord {
                id: id.into(),
                workspace,
                created_at: crate::Case::at(micros),
                seq,
                action: "run".to_owned(),
                decision: "allow".to_owned(),
                detail,
                hash: Hash::default(),
            };
            audit.hash = audit.expected_hash(&Hash::default());
            Record::Audit(audit).into()
        })
        .boxed()
}

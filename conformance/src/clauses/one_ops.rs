//! The calls that do one op: each does what its op does in a batch.

use std::{collections::BTreeMap, time::Duration};

use memkeep_core::{
    Batch, DeleteState, EpisodeRevision, Error, Expected, Metadata, NewAudit, NewEpisode, NewNote,
    NewSession, NewStep, NewTurn, Op, Outcome, PutState, Receipt, Result,
};
use serde_json::json;

use super::bundle::{all_records, bundle, clashes, creations, deletions};
use crate::{Case, Verdict, failure::must_equal, one_op::one_op};

/// An answer as far as it is the same on two stores: of an error, the kind, and what it says about
/// where.
fn shown(answer: Result<Outcome>) -> Result<Outcome, String> {
    answer.map_err(|error: Error| {
        let where_ = ["op", "field"].map(|name| error.get(name).map(str::to_owned));
        format!("{:?}, op and field {where_:?}", error.kind())
    })
}

/// Does the ops one after the other, by `call` on the store and by a batch of one on a twin of it: the
/// answers are the same, and so is what is stored.
async fn same_as_batches(case: &mut Case, ops: Vec<Op>, call: Calls) -> Verdict {
    let (store, clock) = (case.handle(), case.clock.clone());
    let twin = case.other_store("twin", clock).await?;
    for op in ops {
        case.set_clock(case.now().saturating_add(Duration::from_secs(1)));
        let answer = match call {
            Calls::Named => one_op(&store, op.clone()).await,
            Calls::CommitOne => store.backend.commit_one(op.clone()).await,
        };
        let batch = Batch::from(op.clone());
        let expected = twin.backend.commit(batch).await.and_then(Receipt::into_first);
        must_equal!(shown(answer), shown(expected), "the answer of the call for {op:?}");
        let (stored, expected) = (all_records(&store).await?, all_records(&twin).await?);
        must_equal!(stored, expected, "what is stored after the call for {op:?}");
    }
    case.verify().await
}

/// By which calls ops are done.
#[derive(Clone, Copy)]
enum Calls {
    /// The one that the op has for itself.
    Named,
    /// `commit_one`.
    CommitOne,
}

fn metadata() -> Metadata {
    Metadata::from_iter([("k".to_owned(), json!([1, null]))])
}

pub(crate) async fn sessions(case: &mut Case) -> Verdict {
    let at = case.now();
    let new = || NewSession::new().id("s").workspace("w").created_at(at).started_at(at);
    let session = new().model("m").mode("o").metadata(metadata());
    let turn = NewTurn::new("s", "user", "x").id("t").created_at(at).model("m").tokens(3);
    let tags = BTreeMap::from([("tag".to_owned(), Some("value".to_owned()))]);
    let turn = turn.embedding_id("e").metadata(metadata()).tags(tags);
    let step = NewStep::new("s", "look", "ok").id("p").created_at(at).payload(json!({"n": 1}));
    let end = |session: &str| Op::EndSession { session: session.into(), at: None };
    let tag = |turn: &str, value: Option<&str>| Op::TagTurn {
        turn: turn.into(),
        name: " tag".to_owned(),
        value: value.map(str::to_owned),
    };
    let untag = |turn: &str| Op::UntagTurn { turn: turn.into(), name: " tag".to_owned() };
    let embed = |turn: &str, id: Option<&str>| Op::SetEmbedding {
        turn: turn.into(),
        embedding_id: id.map(str::to_owned),
    };
    let summarise = |session: &str, summary: Option<&str>| Op::SetSummary {
        session: session.into(),
        summary: summary.map(str::to_owned),
    };
    let resume = |session: &str| Op::ResumeSession { session: session.into() };
    let delete = || Op::DeleteSession { session: "s".into(), ended_before: None };
    let delete_turn = || Op::DeleteTurn { turn: "t".into() };
    let ops = vec![
        Op::StartSession(session.clone()),
        Op::StartSession(session),
        Op::StartSession(new()),
        Op::StartSession(NewSession::new().id("")),
        Op::EnsureSession(NewSession::new().id("s")),
        Op::EnsureSession(NewSession::new().id("s").model("another")),
        Op::EnsureSession(NewSession::new().id("ensured")),
        turn.clone().into(),
        turn.into(),
        NewTurn::new("s", "assistant", "y").id("u").into(),
        NewTurn::new("s", "user", "another").id("t").into(),
        NewTurn::new("unknown", "user", "x").id("v").into(),
        step.clone().into(),
        step.into(),
        NewStep::new("s", "look again", "").id("q").into(),
        NewStep::new("unknown", "look", "ok").id("r").into(),
        tag("t", None),
        tag("t", Some("another")),
        tag("unknown", None),
        untag("t"),
        untag("t"),
        untag("unknown"),
        embed("t", None),
        embed("t", Some("another")),
        embed("unknown", None),
        summarise("s", Some("what it came to")),
        summarise("s", None),
        summarise("unknown", None),
        end("s"),
        end("s"),
        end("unknown"),
        NewTurn::new("s", "user", "late").id("late").into(),
        resume("s"),
        resume("s"),
        resume("unknown"),
        delete_turn(),
        delete_turn(),
        NewTurn::new("s", "user", "next").id("t").into(),
        delete(),
        delete(),
    ];
    same_as_batches(case, ops, Calls::Named).await
}

pub(crate) async fn episodes(case: &mut Case) -> Verdict {
    let new = NewEpisode::new("problem", "summary").id("e").workspace("w").created_at(case.now());
    let new = new.open(false).metadata(metadata());
    let open = |episode: &str, open| Op::SetEpisodeOpen { episode: episode.into(), open };
    let delete = || Op::DeleteEpisode { episode: "e".into(), closed_before: None };
    let ops = vec![
        new.clone().into(),
        new.into(),
        NewEpisode::new("another", "summary").id("e").into(),
        NewEpisode::new("problem", "summary").id("f").into(),
        NewEpisode::new("problem", "summary").id("").into(),
        open("e", true),
        open("e", true),
        open("e", false),
        open("e", false),
        open("unknown", false),
        EpisodeRevision::new("e").problem("revised").into(),
        EpisodeRevision::new("e").summary("revised").metadata(metadata()).into(),
        EpisodeRevision::new("unknown").problem("revised").into(),
        delete(),
        delete(),
        NewEpisode::new("another", "summary").id("e").into(),
    ];
    same_as_batches(case, ops, Calls::Named).await
}

pub(crate) async fn reflections(case: &mut Case) -> Verdict {
    let at = case.now();
    let note = NewNote::new("lesson").id("n").workspace("w").created_at(at);
    let put = |value: u64| PutState::new("k", value).workspace("w");
    let later = at.saturating_add(Duration::from_hours(1));
    let delete = || DeleteState::new("k").workspace("w");
    let audit = NewAudit::new("act", "allow").id("a").workspace("w").created_at(at);
    let audit = audit.detail(json!({"why": null}));
    let delete_note = || Op::DeleteNote { note: "n".into() };
    let ops = vec![
        note.clone().into(),
        note.into(),
        NewNote::new("another").id("n").into(),
        NewNote::new("drawn").id("o").sources(["unknown".into()]).into(),
        delete_note(),
        delete_note(),
        put(1).expected(Expected::Version(1)).into(),
        put(2).expected(Expected::Absent).into(),
        put(3).expected(Expected::Absent).into(),
        put(4).expected(Expected::Version(2)).into(),
        put(5).expected(Expected::Version(1)).into(),
        put(6).expires_at(later).into(),
        put(7).ttl(Duration::from_mins(1)).into(),
        put(8).ttl(Duration::from_mins(1)).expires_at(later).into(),
        PutState::new("k", 9).into(),
        delete().expected(Expected::Absent).into(),
        delete().expected(Expected::Version(9)).into(),
        delete().expired_before(later).into(),
        delete().expected(Expected::Version(4)).into(),
        delete().into(),
        put(10).into(),
        audit.clone().into(),
        audit.into(),
        NewAudit::new("another", "allow").id("a").into(),
        NewAudit::new("act", "refuse").id("b").workspace("w").into(),
        NewAudit::new("act", "allow").id("c").into(),
    ];
    same_as_batches(case, ops, Calls::Named).await
}

pub(crate) async fn any_op(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut ops = bundle(&store, "x").ops;
    ops.extend(creations(&store, "x").ops);
    ops.extend(clashes(&store, "x"));
    ops.extend(deletions(&store, "x").ops);
    ops.extend(deletions(&store, "x").ops);
    ops.push(Op::ForgetWorkspace { workspace: "default".into() });
    same_as_batches(case, ops, Calls::CommitOne).await
}

//! Refusals: which op refuses what, by which kind of error, and in which order.

use std::collections::BTreeMap;

use memkeep_core::{
    Batch, Deleted, EpisodeRevision, Error, Expected, NewEpisode, NewNote, NewSession, NewStep,
    NewTurn, Op, Outcome, PutState, Scope,
};
use serde_json::json;

use super::bundle::{all_records, bundle, clashes, deletions, ids, read, whole_bundles};
use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// An error that names the record `id` of the kind `what`, and that a repetition does not cure.
fn names(error: &Error, what: &str, id: &str) -> Verdict {
    must_equal!(error.get(what), Some(id), "the error's `{what}`");
    must!(
        !error.is_retryable(),
        error,
        "an error that is not retryable: it does not pass by itself"
    );
    Ok(())
}

pub(crate) async fn unknown_sessions_and_turns(case: &mut Case) -> Verdict {
    let (backend, id) = (case.backend(), "unknown");
    let name = || "name".to_owned();
    let of_session: [Op; 5] = [
        Op::EndSession { session: id.into(), at: None },
        Op::ResumeSession { session: id.into() },
        Op::SetSummary { session: id.into(), summary: None },
        NewTurn::new(id, "user", "x").id("t").into(),
        NewStep::new(id, "step", "ok").id("t").into(),
    ];
    for op in of_session {
        let refused = backend.commit_one(op.clone()).await;
        names(&must_refuse!(refused, NotFound, "{op:?}"), "session", id)?;
    }
    let of_turn = [
        Op::TagTurn { turn: id.into(), name: name(), value: None },
        Op::UntagTurn { turn: id.into(), name: name() },
        Op::SetEmbedding { turn: id.into(), embedding_id: None },
    ];
    for op in of_turn {
        let refused = backend.commit_one(op.clone()).await;
        names(&must_refuse!(refused, NotFound, "{op:?}"), "turn", id)?;
    }
    must_equal!(all_records(&case.handle()).await?, [], "what is stored");
    Ok(())
}

pub(crate) async fn ended_sessions(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    store.end_session(&"s".into()).await?;
    let before = all_records(&case.handle()).await?;
    let turn = || NewTurn::new("s", "user", "late").id("late");
    let step = || NewStep::new("s", "late", "ok").id("late");
    let refused = store.record_turn(turn()).await;
    names(&must_refuse!(refused, Conflict, "a turn after the end"), "session", "s")?;
    let refused = store.record_step(step()).await;
    names(&must_refuse!(refused, Conflict, "a step after the end"), "session", "s")?;
    must_equal!(all_records(&case.handle()).await?, before, "what is stored");
    store.resume_session(&"s".into()).await?;
    must_equal!(store.record_turn(turn()).await?.index, 0, "the index once it is resumed");
    must_equal!(store.record_step(step()).await?.index, 0, "the index once it is resumed");
    Ok(())
}

pub(crate) async fn overflowing_tokens(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let turn = |tokens| NewTurn::new("s", "user", "x").tokens(tokens);
    store.record_turn(turn(i64::MAX)).await?;
    store.record_turn(turn(-1).id("less")).await?;
    let before = all_records(&case.handle()).await?;
    let error = must_refuse!(store.record_turn(turn(2)).await, InvalidArgument, "the total");
    must_equal!(error.get("field"), Some("tokens"), "the error's `field`");
    must_equal!(all_records(&case.handle()).await?, before, "what is stored");
    store.record_turn(turn(1)).await?;
    let before = all_records(&case.handle()).await?;
    let error = must_refuse!(
        store.delete_turn(&"less".into()).await,
        InvalidArgument,
        "deleting the turn that keeps the total within bounds"
    );
    must_equal!(error.get("field"), Some("tokens"), "the error's `field`");
    must_equal!(all_records(&case.handle()).await?, before, "what is stored");
    let session = store.session(&Scope::All, &"s".into()).await?;
    let totals = session.map(|s| (s.total_tokens, s.turn_count));
    must_equal!(totals, Some((i64::MAX, 3)), "tokens and turns");
    case.verify().await
}

pub(crate) async fn another_body(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let before = all_records(&store).await?;
    for clash in clashes(&store, "x") {
        let refused = store.backend.commit_one(clash.clone()).await;
        let error = must_refuse!(refused, Conflict, "{clash:?}");
        must!(
            error.context().iter().any(|(_, v)| v == "x"),
            error,
            "the error's context has the id x"
        );
        must!(
            !error.is_retryable(),
            error,
            "an error that is not retryable: it does not pass by itself"
        );
    }
    must_equal!(all_records(&store).await?, before, "what is stored");
    Ok(())
}

pub(crate) async fn words_before_stored_state(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let before = all_records(&store).await?;
    let long = "l".repeat(1_025);
    for clash in clashes(&store, "x") {
        // The first op is refused by what is stored, the second by its words.
        let mut batch = Batch::from(clash);
        batch.ops.extend(bundle(&store, &long).ops.into_iter().take(1));
        let error = must_refuse!(store.backend.commit(batch).await, InvalidArgument, "the batch");
        must_equal!(error.get("op"), Some("1"), "the error's `op`");
        must_equal!(error.get("field").is_some(), true, "whether the error names a field");
    }
    must_equal!(all_records(&store).await?, before, "what is stored");
    Ok(())
}

pub(crate) async fn order_of_refusals(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let long = "l".repeat(1_025);
    let unknown = store.record_turn(NewTurn::new("unknown", &long[..], "x")).await;
    must_refuse!(unknown, InvalidArgument, "a role too long, in an unknown session");
    store.start_session(NewSession::new().id("s")).await?;
    store.record_turn(NewTurn::new("s", "user", "x").tokens(i64::MAX)).await?;
    let unknown = store.record_turn(NewTurn::new("unknown", "user", "x").tokens(1)).await;
    must_refuse!(unknown, NotFound, "tokens in an unknown session");
    store.end_session(&"s".into()).await?;
    let ended = store.record_turn(NewTurn::new("s", "user", "x").tokens(1)).await;
    must_refuse!(ended, InvalidArgument, "too many tokens, in an ended session");
    let ended = store.record_step(NewStep::new("s", &long[..], "ok")).await;
    must_refuse!(ended, InvalidArgument, "a name too long, in an ended session");
    Ok(())
}

pub(crate) async fn first_refusal_tells(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let mut batch = bundle(&store, "y");
    let first = batch.ops.len();
    for clash in clashes(&store, "x").into_iter().chain(clashes(&store, "x")) {
        batch.push(clash);
    }
    let error = must_refuse!(store.backend.commit(batch).await, Conflict, "the batch");
    must_equal!(error.get("op"), Some(first.to_string().as_str()), "the error's `op`");
    Ok(())
}

pub(crate) async fn deleting_nothing(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = deletions(&store, "nothing");
    batch.push(Op::ForgetWorkspace { workspace: "nothing".into() });
    for outcome in store.backend.commit(batch.clone()).await?.outcomes {
        must_equal!(outcome, Outcome::Deleted(Deleted::default()), "the outcome of a deletion");
    }
    store.backend.commit(bundle(&store, "nothing")).await?;
    batch.ops.pop();
    let existed = store.backend.commit(batch.clone()).await?.outcomes;
    must!(
        existed.iter().all(|o| matches!(o, Outcome::Deleted(d) if d.existed)),
        existed,
        "what is there is said to have existed"
    );
    for outcome in store.backend.commit(batch).await?.outcomes {
        must_equal!(outcome, Outcome::Deleted(Deleted::default()), "the outcome the second time");
    }
    must_equal!(read(&store, "nothing").await?, [], "what is left to be read");
    Ok(())
}

pub(crate) async fn errors_hold_no_content(case: &mut Case) -> Verdict {
    const SECRET: &str = "sk-0123456789";
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let mut ops = Vec::new();
    let long = |text: &str| text.repeat(200);
    if store.sessions.is_some() {
        let tags = BTreeMap::from([(long(SECRET), None)]);
        ops.push(NewTurn::new("x", "user", SECRET).id("x").into());
        ops.push(NewTurn::new("x", long(SECRET), SECRET).into());
        ops.push(NewTurn::new("x", "user", SECRET).tags(tags).into());
        ops.push(NewTurn::new("unknown", "user", SECRET).into());
        ops.push(NewStep::new("x", "n", long(SECRET)).payload(json!(SECRET)).into());
        ops.push(NewStep::new("x", "n", "ok").id("x").payload(json!(SECRET)).into());
        ops.push(Op::StartSession(NewSession::new().id("x").model(SECRET)));
    }
    if store.episodic.is_some() {
        ops.push(NewEpisode::new(SECRET, SECRET).id("x").into());
        ops.push(EpisodeRevision::new("unknown").problem(SECRET).into());
    }
    if store.reflective.is_some() {
        ops.push(NewNote::new(SECRET).id("x").into());
        ops.push(PutState::new("x", json!(SECRET)).expected(Expected::Absent).into());
    }
    for op in ops {
        match store.backend.commit_one(op.clone()).await {
            Ok(outcome) => return Err(Failure::values("a refusal", &op, &outcome)),
            Err(error) => {
                let text = format!("{error} {error:?}");
                must!(!text.contains(SECRET), text, "the error is without content: {SECRET:?}");
            }
        }
    }
    must_equal!(whole_bundles(&store).await?, ids(["x"]), "what is stored");
    Ok(())
}

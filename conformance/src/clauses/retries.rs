//! Retries: by idempotency key, and by the ids of what is created.

use std::time::Duration;

use memkeep_core::{
    Batch, EpisodeRevision, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, Outcome, Prune,
    PutState, RECEIPT_RETENTION, Scope,
};
use serde_json::json;

use super::{
    bundle::{
        all_records, anonymous, bundle, changes, clashes, creations, deletions, ids, ids_of, kinds,
        read, record_of, repeated, whole_bundles,
    },
    sample::Sample,
};
use crate::{
    Case, Failure, Handle, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// A batch with generated ids: what would be stored twice if it were committed twice.
fn keyed(store: &Handle) -> Batch {
    let mut batch = anonymous(store, "named");
    if store.reflective.is_some() {
        batch.push(PutState::new("k", json!("v")));
    }
    batch.key("key")
}

pub(crate) async fn same_batch_again(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(keyed(&store)).await?;
    let stored = all_records(&store).await?;
    case.set_clock(Case::at(60_000_000));
    for _ in 0..2 {
        let again = store.backend.commit(keyed(&store)).await?;
        must_equal!(again, first, "the receipt of the batch committed again");
    }
    must_equal!(all_records(&store).await?, stored, "what is stored");
    // Every field comes again, and a batch of any size is known.
    let full = Sample::new(0).batch(case).key("full");
    let large = repeated(&anonymous(&store, "named"), 1_500).key("large");
    for mut batch in [full, large] {
        // What these change or find is answered as it is now.
        batch.ops.retain(|op| {
            !matches!(op, Op::SetSummary { .. } | Op::EndSession { .. } | Op::EnsureSession(_))
        });
        let first = store.backend.commit(batch.clone()).await?;
        let stored = all_records(&store).await?;
        let key = batch.key.clone().unwrap_or_default();
        let again = store.backend.commit(batch).await?;
        must_equal!(again, first, "the receipt of the batch {key:?} committed again");
        must_equal!(all_records(&store).await?, stored, "what is stored after {key:?}");
    }
    case.verify().await
}

pub(crate) async fn prepared_before(case: &mut Case) -> Verdict {
    let store = case.handle();
    let prepared = keyed(&store).prepare()?;
    case.set_clock(Case::at(60_000_000));
    let first = store.backend.commit_prepared(prepared.clone()).await?;
    must_equal!(first.at, case.now(), "the receipt's time");
    let stored = all_records(&store).await?;
    must!(!stored.is_empty(), stored, "what is stored");
    let again = store.backend.commit_prepared(prepared).await?;
    must_equal!(again, first, "the receipt of the batch committed again");
    let again = store.backend.commit(keyed(&store)).await?;
    must_equal!(again, first, "the receipt of the same batch");
    must_equal!(all_records(&store).await?, stored, "what is stored");
    // Ids that preparing generates are none of the caller's.
    let batch = anonymous(&store, "other").key("anonymous");
    let first = store.backend.commit(batch.clone()).await?;
    let again = store.backend.commit_prepared(batch.prepare()?).await?;
    must_equal!(again, first, "the receipt of a batch without ids");
    case.verify().await
}

pub(crate) async fn another_batch(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(keyed(&store)).await?;
    let stored = all_records(&store).await?;
    let longer = keyed(&store).with(keyed(&store).ops.remove(0));
    let mut shorter = keyed(&store);
    shorter.ops.pop();
    let mut turned = keyed(&store);
    turned.ops.reverse();
    for other in [bundle(&store, "x").key("key"), longer, shorter, Batch::new().key("key")] {
        let error = must_refuse!(store.backend.commit(other).await, Conflict, "another batch");
        must_equal!(error.get("key"), Some("key"), "the error's `key`");
    }
    if turned != keyed(&store) {
        must_refuse!(store.backend.commit(turned).await, Conflict, "the ops in another order");
    }
    must_equal!(all_records(&store).await?, stored, "what is stored");
    store.backend.commit(bundle(&store, "x").key("Key")).await?;
    store.backend.commit(bundle(&store, "y").key("key ")).await?;
    Ok(())
}

pub(crate) async fn again_after_reopening(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(keyed(&store)).await?;
    let stored = all_records(&store).await?;
    case.reopen().await?;
    let store = case.handle();
    must_equal!(store.backend.commit(keyed(&store)).await?, first, "the receipt");
    must_refuse!(
        store.backend.commit(bundle(&store, "x").key("key")).await,
        Conflict,
        "another batch under the key"
    );
    must_equal!(all_records(&store).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn again_on_another_handle(case: &mut Case) -> Verdict {
    let store = case.handle();
    let other = case.second_handle("other").await?;
    let first = store.backend.commit(keyed(&store)).await?;
    let stored = all_records(&store).await?;
    must_equal!(other.backend.commit(keyed(&other)).await?, first, "the receipt");
    must_refuse!(
        other.backend.commit(bundle(&store, "x").key("key")).await,
        Conflict,
        "another batch under the key"
    );
    must_equal!(all_records(&store).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn again_after_changes(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(bundle(&store, "x").key("key")).await?;
    store.backend.commit(changes(&store, "x")).await?;
    let stored = all_records(&store).await?;
    let again = store.backend.commit(bundle(&store, "x").key("key")).await?;
    must_equal!(again, first, "the receipt after changes");
    must_equal!(all_records(&store).await?, stored, "what is stored after it");
    case.verify().await
}

pub(crate) async fn again_after_deletion(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(bundle(&store, "x").key("key")).await?;
    store.backend.commit(deletions(&store, "x")).await?;
    let stored = all_records(&store).await?;
    let again = store.backend.commit(bundle(&store, "x").key("key")).await?;
    must_equal!(again, first, "the receipt after deletion");
    must_equal!(all_records(&store).await?, stored, "what is stored after it");
    must_equal!(read(&store, "x").await?, [], "what is read: the deleted stays deleted");
    case.verify().await
}

pub(crate) async fn changes_again(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    store.record_turn(NewTurn::new("s", "user", "x").id("t")).await?;
    store.record_turn(NewTurn::new("s", "user", "x").id("gone")).await?;
    let tag = |turn: &str, name: &str| Op::TagTurn {
        turn: turn.into(),
        name: name.to_owned(),
        value: None,
    };
    let batch = || {
        Batch::new()
            .with(tag("t", "one"))
            .with(tag("gone", "one"))
            .with(Op::DeleteTurn { turn: "t2".into() })
            .key("key")
    };
    let first = store.commit(batch()).await?;
    let now = store.tag_turn(&"t".into(), "two", None).await?;
    store.delete_turn(&"gone".into()).await?;
    store.record_turn(NewTurn::new("s", "user", "x").id("t2")).await?;
    let stored = all_records(&case.handle()).await?;
    let again = store.commit(batch()).await?;
    let expected = [Outcome::Turn(now), Outcome::Gone, first.outcomes[2].clone()];
    must_equal!(again.outcomes, expected, "the outcomes of the batch committed again");
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored after it");
    Ok(())
}

pub(crate) async fn seven_days(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(keyed(&store)).await?;
    let end = case.now().saturating_add(RECEIPT_RETENTION);
    case.set_clock(end.saturating_sub(Duration::from_micros(1)));
    // Not even upkeep makes it forget earlier.
    store.backend.prune(&Prune::new(memkeep_core::Timestamp::MAX)).await?;
    store.backend.commit_one(Op::ForgetReceipts { before: memkeep_core::Timestamp::MAX }).await?;
    must_equal!(store.backend.commit(keyed(&store)).await?, first, "the receipt until then");
    case.set_clock(end);
    let before = all_records(&store).await?.len();
    let second = store.backend.commit(keyed(&store)).await?;
    must_equal!(second.at, end, "the time of the batch that is done anew after 7 days");
    let records = all_records(&store).await?;
    must!(records.len() > before, records, "the batch is stored anew after 7 days");
    must_equal!(store.backend.commit(keyed(&store)).await?.at, end, "the time told from then on");
    must_equal!(all_records(&store).await?, records, "what is stored from then on");
    case.verify().await
}

pub(crate) async fn pruned_receipts(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(keyed(&store)).await?;
    let start = case.now();
    case.set_clock(start.saturating_add(RECEIPT_RETENTION * 2));
    store.backend.commit(bundle(&store, "young").key("young")).await?;
    let young = all_records(&store).await?;
    store.backend.prune(&Prune::new(case.now())).await?;
    must_equal!(all_records(&store).await?, young, "the records, of which none is to go");
    store.backend.commit(bundle(&store, "young").key("young")).await?;
    must_equal!(all_records(&store).await?, young, "the records after a young key was used again");
    // Only by the clock stepping back can it be seen whether the receipt is still kept.
    case.set_clock(start);
    let again = store.backend.commit(keyed(&store)).await?;
    must!(again != first, again, "another receipt than the first: the old one is forgotten");
    Ok(())
}

pub(crate) async fn refused_leaves_key_free(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "there")).await?;
    for clash in clashes(&store, "there") {
        let batch = bundle(&store, "x").with(clash).key("key");
        must_refuse!(store.backend.commit(batch).await, Conflict, "a batch with a refused op");
    }
    store.backend.commit(bundle(&store, "x").key("key")).await?;
    must_equal!(whole_bundles(&store).await?, ids(["there", "x"]), "what is stored");
    Ok(())
}

pub(crate) async fn words_before_key(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(keyed(&store)).await?;
    let wrong = bundle(&store, &"x".repeat(1_025)).key("key");
    must_refuse!(store.backend.commit(wrong).await, InvalidArgument, "bad words, under a used key");
    Ok(())
}

pub(crate) async fn same_ids_again(case: &mut Case) -> Verdict {
    let store = case.handle();
    let first = store.backend.commit(creations(&store, "x")).await?;
    let stored = all_records(&store).await?;
    case.set_clock(Case::at(60_000_000));
    let again = store.backend.commit(creations(&store, "x")).await?;
    for (first, again) in first.outcomes.iter().zip(&again.outcomes) {
        let (Some(first), Some(again)) = (record_of(first), record_of(again)) else { continue };
        must_equal!((again.kind(), again.id()), (first.kind(), "x"), "what is answered");
        must!(stored.contains(&again), again, "one of the records that are stored: {stored:?}");
    }
    must_equal!(all_records(&store).await?, stored, "what is stored");
    // Each alone, and twice in one batch.
    for op in creations(&store, "x").ops {
        store.backend.commit(Batch::from(op.clone()).with(op)).await?;
    }
    must_equal!(all_records(&store).await?, stored, "what is stored");
    case.verify().await
}

pub(crate) async fn same_ids_in_one_batch(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = creations(&store, "x");
    batch.ops.extend(creations(&store, "x").ops);
    store.backend.commit(batch).await?;
    for kind in kinds(&store) {
        let expected = usize::from(kind != memkeep_core::RecordKind::State);
        must_equal!(ids_of(&store, kind).await?.len(), expected, "{} records", kind.as_str());
    }
    case.verify().await
}

/// Changes everything about a session, and gives what would have made it.
async fn changed_session(case: &Case) -> Result<(NewSession, NewTurn, NewStep), Failure> {
    let store = case.sessions()?;
    let session = NewSession::new().id("s").model("m").started_at(Case::at(-5));
    let turn = NewTurn::new("s", "user", "x").id("t").tokens(3);
    let step = NewStep::new("s", "step", "ok").id("p");
    store.start_session(session.clone()).await?;
    store.record_turn(turn.clone()).await?;
    store.record_step(step.clone()).await?;
    store.tag_turn(&"t".into(), "tag", Some("v".to_owned())).await?;
    store.set_embedding(&"t".into(), Some("e".to_owned())).await?;
    store.record_turn(NewTurn::new("s", "user", "y")).await?;
    store.set_summary(&"s".into(), Some("sum".to_owned())).await?;
    store.end_session(&"s".into()).await?;
    case.set_clock(Case::at(60_000_000));
    Ok((session, turn, step))
}

async fn session_retries(case: &Case, made: (NewSession, NewTurn, NewStep)) -> Verdict {
    let store = case.sessions()?;
    let stored = all_records(&case.handle()).await?;
    let (new_session, new_turn, new_step) = made;
    let session = store.start_session(new_session.clone()).await?;
    let seen = (session.summary.as_deref(), session.turn_count, session.ended_at.is_some());
    must_equal!(seen, (Some("sum"), 2, true), "the session as it is now");
    let turn = store.record_turn(new_turn.clone()).await?;
    must_equal!(store.turn(&Scope::All, &turn.id).await?, Some(turn), "the turn as it is now");
    let step = store.record_step(new_step.clone()).await?;
    must_equal!(store.step(&Scope::All, &step.id).await?, Some(step), "the step as it is");
    must_refuse!(
        store.start_session(new_session.model("another")).await,
        Conflict,
        "a session with another model"
    );
    must_refuse!(store.record_turn(new_turn.tokens(4)).await, Conflict, "a turn of other tokens");
    must_refuse!(
        store.record_step(new_step.payload(json!(1))).await,
        Conflict,
        "a step with another payload"
    );
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn changed_session_again(case: &mut Case) -> Verdict {
    let made = changed_session(case).await?;
    session_retries(case, made).await
}

pub(crate) async fn changed_session_after_reopening(case: &mut Case) -> Verdict {
    let made = changed_session(case).await?;
    case.reopen().await?;
    session_retries(case, made).await
}

async fn changed_episode(case: &Case) -> Result<NewEpisode, Failure> {
    let store = case.episodic()?;
    let new = NewEpisode::new("p", "s").id("e");
    store.add_episode(new.clone()).await?;
    store.revise_episode(EpisodeRevision::new("e").problem("changed").summary("too")).await?;
    store.set_episode_open(&"e".into(), false).await?;
    case.set_clock(Case::at(60_000_000));
    Ok(new)
}

async fn episode_retries(case: &Case, new: NewEpisode) -> Verdict {
    let store = case.episodic()?;
    let stored = all_records(&case.handle()).await?;
    let episode = store.add_episode(new.clone()).await?;
    let seen = (episode.problem.as_str(), episode.open);
    must_equal!(seen, ("changed", false), "the episode as it is now");
    let other = NewEpisode::new(new.problem, "other").id("e");
    must_refuse!(store.add_episode(other).await, Conflict, "an episode with another summary");
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn changed_episode_again(case: &mut Case) -> Verdict {
    let new = changed_episode(case).await?;
    episode_retries(case, new).await
}

pub(crate) async fn changed_episode_after_reopening(case: &mut Case) -> Verdict {
    let new = changed_episode(case).await?;
    case.reopen().await?;
    episode_retries(case, new).await
}

pub(crate) async fn note_without_its_source_again(case: &mut Case) -> Verdict {
    let (episodic, reflective) = (case.episodic()?, case.reflective()?);
    episodic.add_episode(NewEpisode::new("p", "s").id("e")).await?;
    let new = NewNote::new("n").id("n").sources(vec!["e".into()]);
    let note = reflective.add_note(new.clone()).await?;
    episodic.delete_episode(&"e".into()).await?;
    must_equal!(reflective.add_note(new).await?, note, "the note");
    let refused = reflective.add_note(NewNote::new("n").sources(vec!["e".into()])).await;
    must_refuse!(refused, NotFound, "another note of the deleted source");
    Ok(())
}

pub(crate) async fn deleted_ids_are_free(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    store.backend.commit(deletions(&store, "x")).await?;
    let mut batch: Batch = clashes(&store, "x").into_iter().collect();
    batch.ops.retain(|op| !matches!(op, Op::AppendAudit(_)));
    store.backend.commit(batch.clone()).await?;
    let read = read(&store, "x").await?;
    must_equal!(read.len(), batch.ops.len(), "how many of the new records are read");
    for op in &creations(&store, "x").ops {
        if !matches!(op, Op::AppendAudit(_)) {
            let refused = store.backend.commit_one(op.clone()).await;
            must_refuse!(refused, Conflict, "what the deleted record was made from, {op:?}");
        }
    }
    case.verify().await
}

pub(crate) async fn ensure_makes(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let new = NewSession::new().id("s").workspace("w").model("m").mode("x");
    let made = store.ensure_session(new).await?;
    let seen = (made.id.as_str(), made.workspace.as_str(), made.model.as_deref());
    must_equal!(seen, ("s", "w", Some("m")), "the session made");
    let times = (made.created_at, made.started_at, made.ended_at);
    must_equal!(times, (case.now(), case.now(), None), "its times");
    must_equal!(store.session(&"w".into(), &made.id).await?, Some(made), "the session read");
    Ok(())
}

pub(crate) async fn ensure_finds(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let new = NewSession::new().id("s").workspace("w").model("m");
    store.start_session(new.clone()).await?;
    store.record_turn(NewTurn::new("s", "user", "x")).await?;
    store.set_summary(&"s".into(), Some("sum".to_owned())).await?;
    let ended = store.end_session(&"s".into()).await?;
    let stored = all_records(&case.handle()).await?;
    case.set_clock(Case::at(60_000_000));
    let asked = [
        NewSession::new().id("s"),
        NewSession::new().id("s").workspace("w"),
        NewSession::new().id("s").model("m"),
        NewSession::new().id("s").started_at(Case::at(0)),
        new,
    ];
    for new in asked {
        must_equal!(store.ensure_session(new).await?, ended, "the session that is there");
    }
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn ensure_refuses(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s").workspace("w").model("m")).await?;
    let stored = all_records(&case.handle()).await?;
    let s = || NewSession::new().id("s");
    let metadata = || memkeep_core::Metadata::from_iter([("k".to_owned(), json!(1))]);
    let asked = [
        s().workspace("v"),
        s().model("n"),
        s().mode("x"),
        s().created_at(Case::at(1)),
        s().started_at(Case::at(1)),
        s().metadata(metadata()),
    ];
    for new in asked {
        let refused = store.ensure_session(new.clone()).await;
        must_refuse!(refused, Conflict, "{new:?}");
        let refused = store.start_session(new.clone()).await;
        must_refuse!(refused, Conflict, "the same by StartSession, {new:?}");
    }
    // Starting compares what is left out too.
    must_refuse!(store.start_session(s()).await, Conflict, "a session started without its model");
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    Ok(())
}

//! Batches: atomic, in order, visible, durable.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use memkeep_core::{
    Batch, Clock, Counts, DeleteState, EpisodeRevision, Expected, NewAudit, NewEpisode, NewNote,
    NewSession, NewStep, NewTurn, Op, Outcome, PutState, Record, RecordKind, Scope, Timestamp,
    Workspace, WorkspaceCounts,
};
use serde_json::json;

use super::bundle::{
    all_records, anonymous, bundle, bundle_in, clashes, deletions, ids, ids_of, kinds, read,
    record_of, repeated, whole_bundles,
};
use crate::{
    Case, Failure, Handle, Verdict,
    failure::{must, must_equal, must_refuse},
};

pub(crate) async fn refused_leaves_nothing(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "there")).await?;
    let before = all_records(&store).await?;
    for clash in clashes(&store, "there") {
        let batch = bundle(&store, "new");
        let refused = store.backend.commit(batch.with(clash)).await;
        must_refuse!(refused, Conflict, "a batch whose last op is refused");
        must_equal!(all_records(&store).await?, before, "what is stored after it");
    }
    // Neither is a batch too large to be written at once, whose last op is refused.
    for clash in clashes(&store, "there").into_iter().take(1) {
        let large = repeated(&anonymous(&store, "there"), 2_000).with(clash);
        let position = (large.ops.len() - 1).to_string();
        let refused = store.backend.commit(large).await;
        let error = must_refuse!(refused, Conflict, "a large batch whose last op is refused");
        must_equal!(error.get("op"), Some(&position[..]), "the error's `op`");
        must_equal!(all_records(&store).await?, before, "what is stored after it");
    }
    store.backend.commit(bundle(&store, "new")).await?;
    must_equal!(whole_bundles(&store).await?, ids(["new", "there"]), "the batches in the end");
    case.verify().await
}

pub(crate) async fn error_names_position(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "there")).await?;
    for clash in clashes(&store, "there") {
        for position in 0..=bundle(&store, "new").ops.len() {
            let mut batch = bundle(&store, "new");
            batch.ops.insert(position, clash.clone());
            let error = must_refuse!(store.backend.commit(batch).await, Conflict, "the batch");
            let expected = position.to_string();
            must_equal!(error.get("op"), Some(expected.as_str()), "the error's `op`");
        }
    }
    must_equal!(whole_bundles(&store).await?, ids(["there"]), "what is stored");
    Ok(())
}

pub(crate) async fn sessions_see_earlier_ops(case: &mut Case) -> Verdict {
    let backend = case.backend();
    let batch = Batch::new()
        .with(Op::StartSession(NewSession::new().id("s")))
        .with(NewTurn::new("s", "user", "a").id("a").tokens(3))
        .with(NewTurn::new("s", "user", "b").id("b").tokens(4))
        .with(Op::TagTurn { turn: "a".into(), name: "x".to_owned(), value: None })
        .with(Op::DeleteTurn { turn: "b".into() })
        .with(NewTurn::new("s", "user", "c").id("c"))
        .with(NewStep::new("s", "step", "ok"))
        .with(Op::EndSession { session: "s".into(), at: None })
        .with(Op::ResumeSession { session: "s".into() })
        .with(NewTurn::new("s", "user", "d").id("d"))
        .with(Op::EndSession { session: "s".into(), at: None });
    let outcomes = backend.commit(batch).await?.outcomes;
    let indexes: Vec<u64> =
        outcomes.iter().filter_map(|o| o.clone().into_turn().ok()).map(|t| t.index).collect();
    must_equal!(indexes, [0, 1, 0, 2, 3], "the indexes of the turns, as each op left them");
    let last = outcomes.last().cloned().unwrap_or(Outcome::Gone).into_session()?;
    let totals = (last.turn_count, last.step_count, last.next_turn, last.total_tokens);
    must_equal!(totals, (3, 1, 4, 3), "counts, next index and tokens of the session");
    must_equal!(last.ended_at, Some(case.now()), "its end");

    let into_ended = Batch::new()
        .with(Op::StartSession(NewSession::new().id("ended")))
        .with(Op::EndSession { session: "ended".into(), at: None })
        .with(NewTurn::new("ended", "user", "x"));
    let error = must_refuse!(backend.commit(into_ended).await, Conflict, "a turn after the end");
    must_equal!(error.get("op"), Some("2"), "the error's `op`");
    let into_deleted = Batch::new()
        .with(Op::DeleteSession { session: "s".into(), ended_before: None })
        .with(NewTurn::new("s", "user", "x"));
    let error = must_refuse!(backend.commit(into_deleted).await, NotFound, "a turn of no session");
    must_equal!(error.get("op"), Some("1"), "the error's `op`");
    let turn = Batch::new()
        .with(Op::DeleteSession { session: "s".into(), ended_before: None })
        .with(Op::UntagTurn { turn: "a".into(), name: "x".to_owned() });
    must_refuse!(backend.commit(turn).await, NotFound, "a turn that went with its session");
    must_equal!(ids_of(&case.handle(), RecordKind::Session).await?, ["s"], "the sessions");
    case.verify().await
}

pub(crate) async fn episodes_see_earlier_ops(case: &mut Case) -> Verdict {
    let backend = case.backend();
    let batch = Batch::new()
        .with(NewEpisode::new("first", "").id("e"))
        .with(EpisodeRevision::new("e").summary("second"))
        .with(Op::SetEpisodeOpen { episode: "e".into(), open: false })
        .with(EpisodeRevision::new("e").problem("third"));
    let outcomes = backend.commit(batch).await?.outcomes;
    let mut seen = Vec::new();
    for outcome in outcomes {
        let episode = outcome.into_episode()?;
        seen.push((episode.problem, episode.summary, episode.open));
    }
    let row = |problem: &str, summary: &str, open| (problem.to_owned(), summary.to_owned(), open);
    let expected = [
        row("first", "", true),
        row("first", "second", true),
        row("first", "second", false),
        row("third", "second", false),
    ];
    must_equal!(seen, expected, "the episode as each op left it");
    let read = case.episodic()?.episode(&Scope::All, &"e".into()).await?;
    let read = read.map(|e| (e.problem, e.summary, e.open));
    must_equal!(read, Some(expected[3].clone()), "the episode as it is read");
    let deleted = Batch::new()
        .with(Op::DeleteEpisode { episode: "e".into(), closed_before: None })
        .with(EpisodeRevision::new("e").summary("x"));
    let error = must_refuse!(backend.commit(deleted).await, NotFound, "revising what was deleted");
    must_equal!(error.get("op"), Some("1"), "the error's `op`");
    Ok(())
}

pub(crate) async fn reflections_see_earlier_ops(case: &mut Case) -> Verdict {
    let backend = case.backend();
    let put = |expected| PutState::new("k", json!(1)).expected(expected);
    let batch = Batch::new()
        .with(put(Expected::Absent))
        .with(put(Expected::Version(1)))
        .with(DeleteState::new("k").expected(Expected::Version(2)))
        .with(put(Expected::Absent))
        .with(NewNote::new("n").id("n"))
        .with(Op::DeleteNote { note: "n".into() })
        .with(NewAudit::new("a", "allow"))
        .with(NewAudit::new("b", "allow"));
    let outcomes = backend.commit(batch).await?.outcomes;
    let versions: Vec<u64> =
        outcomes.iter().filter_map(|o| o.clone().into_state().ok()).map(|s| s.version).collect();
    must_equal!(versions, [1, 2, 3], "the versions of the puts");
    let existed: Vec<bool> =
        outcomes.iter().filter_map(|o| o.clone().into_deleted().ok()).map(|d| d.existed).collect();
    must_equal!(existed, [true, true], "whether there was something to delete");
    let seqs: Vec<u64> =
        outcomes.iter().filter_map(|o| o.clone().into_audit().ok()).map(|a| a.seq).collect();
    must_equal!(seqs, [1, 2], "the places in the chain");
    let stale = Batch::new().with(put(Expected::Version(3))).with(put(Expected::Version(3)));
    let error = must_refuse!(backend.commit(stale).await, Conflict, "a version put meanwhile");
    must_equal!(error.get("op"), Some("1"), "the error's `op`");
    let entry = case.reflective()?.state(&Workspace::default(), "k").await?;
    must_equal!(entry.map(|e| e.version), Some(3), "the version that is read");
    case.verify().await
}

pub(crate) async fn session_made_anew_in_a_batch(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s").model("old")).await?;
    for id in ["t0", "t1", "t2"] {
        store.record_turn(NewTurn::new("s", "user", "old").id(id)).await?;
        store.tag_turn(&id.into(), "old", None).await?;
        store.record_step(NewStep::new("s", "old", "ok").id(id)).await?;
    }
    store.start_session(NewSession::new().id("other")).await?;
    let batch = Batch::new()
        .with(Op::DeleteSession { session: "s".into(), ended_before: None })
        .with(Op::StartSession(NewSession::new().id("s").model("new")))
        .with(NewTurn::new("s", "user", "new").id("t1"))
        .with(NewStep::new("s", "new", "ok").id("t2"));
    store.commit(batch).await?;
    let handle = case.handle();
    must_equal!(ids_of(&handle, RecordKind::Session).await?, ["other", "s"], "the sessions");
    must_equal!(ids_of(&handle, RecordKind::Turn).await?, ["t1"], "the turns");
    must_equal!(ids_of(&handle, RecordKind::Step).await?, ["t2"], "the steps");
    let turn = store.turn(&Scope::All, &"t1".into()).await?;
    let turn = turn.map(|t| (t.index, t.content, t.tags.len()));
    must_equal!(turn, Some((0, "new".to_owned(), 0)), "index, content and tags of the new turn");
    let step = store.step(&Scope::All, &"t2".into()).await?;
    must_equal!(step.map(|s| (s.index, s.name)), Some((0, "new".to_owned())), "the new step");
    let session = store.session(&Scope::All, &"s".into()).await?;
    let session = session.map(|s| (s.model, s.turn_count, s.next_turn, s.step_count));
    must_equal!(session, Some((Some("new".to_owned()), 1, 1, 1)), "the new session");
    case.verify().await
}

pub(crate) async fn made_anew_is_last(case: &mut Case) -> Verdict {
    let store = case.handle();
    for id in ["a", "b", "c"] {
        store.backend.commit(bundle(&store, id)).await?;
    }
    let mut batch = deletions(&store, "a");
    batch.ops.extend(creations_without_audit(&store, "a"));
    store.backend.commit(batch).await?;
    for kind in kinds(&store) {
        // A state slot outlives its value, and an audit record cannot be deleted.
        let stays = matches!(kind, RecordKind::State | RecordKind::Audit);
        let expected = if stays { ["a", "b", "c"] } else { ["b", "c", "a"] };
        must_equal!(ids_of(&store, kind).await?, expected, "the {} records", kind.as_str());
    }
    must_equal!(whole_bundles(&store).await?, ids(["a", "b", "c"]), "the batches");
    case.verify().await
}

fn creations_without_audit(store: &Handle, id: &str) -> Vec<Op> {
    let mut ops = bundle(store, id).ops;
    ops.retain(|op| !matches!(op, Op::AppendAudit(_)));
    ops
}

pub(crate) async fn made_and_deleted_in_a_batch(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = bundle(&store, "x");
    batch.ops.extend(deletions(&store, "x").ops);
    store.backend.commit(batch).await?;
    must_equal!(read(&store, "x").await?, [], "what is read");
    let audits = u64::from(store.reflective.is_some());
    let counts = store.backend.stats(&Scope::All).await?.counts;
    must_equal!(counts, Counts { audits, ..Counts::default() }, "the counts");
    case.verify().await
}

pub(crate) async fn insertion_follows_the_ops(case: &mut Case) -> Verdict {
    let store = case.handle();
    let order = ["m", "z", "a", "B", "0", "y"];
    let mut batch = Batch::new();
    for id in &order[..4] {
        batch.ops.extend(bundle(&store, id).ops);
    }
    store.backend.commit(batch).await?;
    for id in &order[4..] {
        store.backend.commit(bundle(&store, id)).await?;
    }
    for kind in kinds(&store) {
        must_equal!(ids_of(&store, kind).await?, order, "the {} records", kind.as_str());
    }
    Ok(())
}

pub(crate) async fn empty_batch(case: &mut Case) -> Verdict {
    let receipt = case.backend().commit(Batch::new()).await?;
    must_equal!(receipt.outcomes, [], "its outcomes");
    must_equal!(receipt.at, case.now(), "its time");
    Ok(())
}

pub(crate) async fn one_outcome_an_op(case: &mut Case) -> Verdict {
    let store = case.handle();
    let batch = bundle(&store, "x");
    let ops = batch.ops.len();
    let receipt = store.backend.commit(batch).await?;
    must_equal!(receipt.outcomes.len(), ops, "the number of outcomes");
    let told: Vec<Record> = receipt.outcomes.iter().filter_map(record_of).collect();
    let stored = all_records(&store).await?;
    for (told, stored) in told.iter().zip(&stored) {
        must_equal!((told.kind(), told.id()), (stored.kind(), "x"), "the record of an outcome");
        // The session's totals went on with the ops that followed.
        if told.kind() != RecordKind::Session {
            must_equal!(*told, *stored, "an outcome, and what is stored");
        }
    }
    must_equal!(told.len(), stored.len(), "the number of records");
    Ok(())
}

/// A clock that has moved on at every look.
struct Ticking(AtomicI64);

impl Clock for Ticking {
    fn now(&self) -> Timestamp {
        Case::at(self.0.fetch_add(1_000_000, Ordering::SeqCst))
    }
}

pub(crate) async fn one_clock_reading(case: &mut Case) -> Verdict {
    let clock = Arc::new(Ticking(AtomicI64::new(0)));
    let store = case.other_store("ticking", clock).await?;
    let mut batch = Batch::new();
    for id in ["a", "b", "c"] {
        batch.ops.extend(bundle(&store, id).ops);
    }
    let receipt = store.backend.commit(batch).await?;
    for record in all_records(&store).await? {
        let json = serde_json::to_value(&record).unwrap_or_default();
        let created_at = json["created_at"].as_str().map(str::to_owned);
        must_equal!(created_at, Some(receipt.at.to_string()), "created_at of {record:?}");
    }
    Ok(())
}

/// Everything that reads sees the bundle `x`, which is all there is.
async fn seen(store: &Handle) -> Verdict {
    let stored = all_records(store).await?;
    must_equal!(whole_bundles(store).await?, ids(["x"]), "what a scan sees");
    let by_id = read(store, "x").await?;
    for record in &by_id {
        // Reads of sessions look up the first prompt, scans do not.
        let same = matches!(record, Record::Session(_)) || stored.contains(record);
        must!(same, stored, "the scan has what is read by id: {record:?}");
    }
    let audits = usize::from(store.reflective.is_some());
    must_equal!(by_id.len(), stored.len() - audits, "how many records are read by id");
    let mut counts = Counts::default();
    for kind in kinds(store) {
        counts += Counts::one(kind);
    }
    must_equal!(store.backend.stats(&Scope::All).await?.counts, counts, "the counts");
    let row = WorkspaceCounts { workspace: Workspace::default(), counts };
    must_equal!(store.backend.workspaces().await?, [row], "the workspaces");
    Ok(())
}

pub(crate) async fn later_reads_see_it(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    seen(&store).await
}

pub(crate) async fn other_handles_see_it(case: &mut Case) -> Verdict {
    let other = case.second_handle("other").await?;
    // The other handle has read before, and must not stay with what it saw.
    must_equal!(all_records(&other).await?, [], "what is there at first");
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    seen(&other).await?;
    other.backend.commit(deletions(&other, "x")).await?;
    must_equal!(read(&store, "x").await?, [], "what the first handle reads after a deletion");
    Ok(())
}

pub(crate) async fn reopening_keeps_it(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let before = all_records(&store).await?;
    case.reopen().await?;
    let store = case.handle();
    must_equal!(all_records(&store).await?, before, "what is stored after reopening");
    seen(&store).await?;
    case.verify().await
}

pub(crate) async fn generated_ids(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut seen: BTreeSet<(RecordKind, String)> = BTreeSet::new();
    let mut made = 0;
    for round in 0..20 {
        let mut batch = Batch::new();
        for _ in 0..20 {
            batch.ops.extend(anonymous(&store, "named").ops);
        }
        for outcome in store.backend.commit(batch).await?.outcomes {
            let Some(record) = record_of(&outcome) else { continue };
            if record.id() == "named" {
                continue;
            }
            generated(&record)?;
            made += 1;
            seen.insert((record.kind(), record.id().to_owned()));
        }
        must_equal!(seen.len(), made, "different ids after batch {round}");
    }
    Ok(())
}

fn generated(record: &Record) -> Verdict {
    let prefix = match record.kind() {
        RecordKind::Session => "ses-",
        RecordKind::Turn => "trn-",
        RecordKind::Step => "stp-",
        RecordKind::Episode => "ep-",
        RecordKind::Note => "nte-",
        RecordKind::Audit => "aud-",
        RecordKind::State => "",
    };
    let id = record.id();
    let uuid = id.strip_prefix(prefix).unwrap_or_default().as_bytes();
    let shaped = uuid.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        14 => *byte == b'7',
        19 => b"89ab".contains(byte),
        _ => b"0123456789abcdef".contains(byte),
    });
    if uuid.len() == 36 && shaped {
        return Ok(());
    }
    Err(Failure::new(format!("{prefix} and a UUIDv7 in lower case"), id))
}

pub(crate) async fn ids_are_the_stores(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    for op in bundle_in(&store, "x", "elsewhere").ops {
        // A state key is its workspace's; turns and steps go where their session is.
        if matches!(op, Op::PutState(_) | Op::RecordTurn(_) | Op::RecordStep(_)) {
            continue;
        }
        let refused = store.backend.commit(op.clone().into()).await;
        must_refuse!(refused, Conflict, "the id in another workspace, {op:?}");
    }
    must_equal!(whole_bundles(&store).await?, ids(["x"]), "what is stored");
    Ok(())
}

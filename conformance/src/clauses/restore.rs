//! Restoring: records stored as they are.

use std::collections::BTreeMap;

use memkeep_core::{
    AuditHead, AuditRecord, Batch, EpisodeRevision, Hash, NewAudit, NewEpisode, NewNote,
    NewSession, NewStep, NewTurn, Note, Op, Outcome, PutState, Record, RecordKind, Scope, Session,
    StateSlot, Timestamp, Turn, Workspace,
};
use serde_json::json;

use super::bundle::{all_records, bundle, bundle_in, deletions, ids_of, kinds};
use crate::{
    Case, Failure, Handle, Verdict,
    failure::{must_equal, must_refuse},
};

/// What a record of a kind looks like, so that its fields can be set; stored in another store.
async fn samples(case: &mut Case) -> Result<Vec<Record>, Failure> {
    let clock = case.clock.clone();
    let model = case.other_store("model", clock).await?;
    model.backend.commit(bundle(&model, "x")).await?;
    all_records(&model).await
}

/// The sample of a kind, unlike anything that a commit would have made here.
fn odd(record: Record) -> Record {
    match record {
        Record::Session(r) => Record::Session(Session {
            created_at: Case::at(-9),
            started_at: Case::at(-7),
            ended_at: Some(Case::at(-8)),
            summary: Some("sum".to_owned()),
            next_turn: 41,
            next_step: 7,
            last_active: Case::at(-2),
            ..r
        }),
        Record::Turn(r) => Record::Turn(Turn {
            created_at: Case::at(-6),
            index: 40,
            tokens: Some(-3),
            tags: BTreeMap::from([("t".to_owned(), Some("v".to_owned()))]),
            ..r
        }),
        Record::Step(mut r) => {
            (r.index, r.created_at, r.payload) = (6, Case::at(-5), json!({"k": [null]}));
            Record::Step(r)
        }
        Record::Episode(mut r) => {
            (r.open, r.closed_at, r.created_at) = (false, Some(Case::at(-4)), Case::at(-40));
            Record::Episode(r)
        }
        Record::Note(mut r) => {
            (r.sources, r.created_at) = (vec!["b".into(), "a".into()], Case::at(-3));
            Record::Note(r)
        }
        Record::State(r) => Record::State(StateSlot {
            version: 9,
            created_at: Case::at(-90),
            updated_at: Case::at(-80),
            expires_at: Some(Case::at(1_000_000)),
            ..r
        }),
        Record::Audit(mut r) => {
            r.created_at = Timestamp::MIN;
            r.hash = r.expected_hash(&Hash::default());
            Record::Audit(r)
        }
    }
}

fn restoring(records: &[Record]) -> Batch {
    records.iter().cloned().collect()
}

/// What a session record is once the turns and steps that follow have added themselves.
fn with_totals(records: &[Record]) -> Vec<Record> {
    let total = |record: &Record| match record.clone() {
        Record::Session(r) => {
            Record::Session(Session { turn_count: 1, step_count: 1, total_tokens: -3, ..r })
        }
        other => other,
    };
    records.iter().map(total).collect()
}

pub(crate) async fn verbatim(case: &mut Case) -> Verdict {
    let records: Vec<Record> = samples(case).await?.into_iter().map(odd).collect();
    let store = case.handle();
    let receipt = store.backend.commit(restoring(&records)).await?;
    let stored = all_records(&store).await?;
    must_equal!(stored, with_totals(&records), "what is stored");
    for (outcome, record) in receipt.outcomes.iter().zip(&records) {
        if record.kind() != RecordKind::Session {
            let expected = Outcome::Restored { record: record.clone(), created: true };
            must_equal!(*outcome, expected, "the outcome");
        }
    }
    case.verify().await
}

pub(crate) async fn repeatable(case: &mut Case) -> Verdict {
    let records: Vec<Record> = samples(case).await?.into_iter().map(odd).collect();
    let store = case.handle();
    store.backend.commit(restoring(&records)).await?;
    let stored = all_records(&store).await?;
    store.backend.commit(restoring(&records)).await?;
    must_equal!(all_records(&store).await?, stored, "what is stored after a repetition");
    for record in records {
        let op = Op::from(record);
        store.backend.commit(Batch::from(op.clone()).with(op)).await?;
    }
    must_equal!(all_records(&store).await?, stored, "what is stored after each alone, twice");
    case.verify().await
}

/// Restores the records, each of which `created` is told of.
async fn told(case: &Case, batch: Batch, created: bool) -> Verdict {
    for outcome in case.backend().commit(batch).await?.outcomes {
        let told = match &outcome {
            Outcome::Restored { created, .. } => Some(*created),
            _ => None,
        };
        must_equal!(told, Some(created), "whether it is new: {outcome:?}");
    }
    Ok(())
}

pub(crate) async fn told_apart(case: &mut Case) -> Verdict {
    let records: Vec<Record> = samples(case).await?.into_iter().map(odd).collect();
    let store = case.handle();
    let keyed = |key: &str| restoring(&records).key(key);
    told(case, keyed("first"), true).await?;
    told(case, restoring(&records), false).await?;
    told(case, keyed("second"), false).await?;
    // A receipt that is given again tells what was true then.
    told(case, keyed("first"), true).await?;
    if store.sessions.is_some() {
        store.backend.commit_one(Op::ResumeSession { session: "x".into() }).await?;
    }
    if store.episodic.is_some() {
        store.backend.commit_one(EpisodeRevision::new("x").problem("changed").into()).await?;
    }
    told(case, restoring(&records), false).await?;
    let again = |record: &Record| Batch::from(Op::from(record.clone())).with(record.clone());
    store.backend.commit_one(Op::ForgetWorkspace { workspace: Workspace::default() }).await?;
    for record in &records {
        let outcomes = store.backend.commit(again(record)).await?.outcomes;
        let created: Vec<bool> = outcomes
            .iter()
            .map(|outcome| matches!(outcome, Outcome::Restored { created: true, .. }))
            .collect();
        must_equal!(created, [true, false], "whether one restored twice in a batch is new");
    }
    Ok(())
}

pub(crate) async fn changed_since(case: &mut Case) -> Verdict {
    let records: Vec<Record> = samples(case).await?.into_iter().map(odd).collect();
    let store = case.handle();
    store.backend.commit(restoring(&records)).await?;
    let mut changes = Batch::new();
    if store.sessions.is_some() {
        changes.push(Op::ResumeSession { session: "x".into() });
        changes.push(Op::UntagTurn { turn: "x".into(), name: "t".to_owned() });
        changes.push(NewTurn::new("x", "user", "later"));
    }
    if store.episodic.is_some() {
        changes.push(EpisodeRevision::new("x").problem("changed"));
        changes.push(Op::SetEpisodeOpen { episode: "x".into(), open: true });
    }
    store.backend.commit(changes).await?;
    let stored = all_records(&store).await?;
    store.backend.commit(restoring(&records)).await?;
    must_equal!(all_records(&store).await?, stored, "what is stored: the changes stay");
    Ok(())
}

pub(crate) async fn another_body(case: &mut Case) -> Verdict {
    let samples = samples(case).await?;
    let store = case.handle();
    store.backend.commit(restoring(&samples)).await?;
    let stored = all_records(&store).await?;
    for record in samples.into_iter().map(odd) {
        let kind = record.kind();
        let refused = store.backend.commit_one(record.into()).await;
        must_refuse!(refused, Conflict, "another {} of the id", kind.as_str());
    }
    must_equal!(all_records(&store).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn turns_and_steps_fit(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let turn = store.record_turn(NewTurn::new("s", "user", "x").id("t")).await?;
    let step = store.record_step(NewStep::new("s", "x", "ok").id("p")).await?;
    let stored = all_records(&case.handle()).await?;
    let refused = store.commit_one(Record::Turn(Turn { id: "u".into(), ..turn.clone() }).into());
    must_refuse!(refused.await, Conflict, "a turn whose index is taken");
    let mut other = step.clone();
    other.id = "q".into();
    let refused = store.commit_one(Record::Step(other.clone()).into()).await;
    must_refuse!(refused, Conflict, "a step whose index is taken");
    let elsewhere = Turn { id: "u".into(), index: 5, workspace: "w".into(), ..turn.clone() };
    let refused = store.commit_one(Record::Turn(elsewhere).into()).await;
    must_refuse!(refused, Conflict, "a turn of another workspace than its session");
    let lost = Turn { id: "u".into(), session: "unknown".into(), ..turn.clone() };
    let refused = store.commit_one(Record::Turn(lost).into()).await;
    must_refuse!(refused, NotFound, "a turn of an unknown session");
    other.session = "unknown".into();
    let refused = store.commit_one(Record::Step(other).into()).await;
    must_refuse!(refused, NotFound, "a step of an unknown session");
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    Ok(())
}

pub(crate) async fn next_indexes_never_go_back(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let turn = store.record_turn(NewTurn::new("s", "user", "x")).await?;
    let session = store.session(&Scope::All, &"s".into()).await?;
    let Some(session) = session else { return Err(Failure::new("the session", "none")) };
    store
        .commit_one(Record::Turn(Turn { id: "high".into(), index: 9, ..turn.clone() }).into())
        .await?;
    let at_nine = store.record_turn(NewTurn::new("s", "user", "y")).await?.index;
    must_equal!(at_nine, 10, "the index after a restored turn of index 9");
    store.commit_one(Record::Turn(Turn { id: "low".into(), index: 4, ..turn }).into()).await?;
    store.delete_turn(&"high".into()).await?;
    let restored = |next_turn, next_step| {
        Record::Session(Session { next_turn, next_step, ..session.clone() }).into()
    };
    store.commit_one(restored(1, 0)).await?;
    let index = store.record_turn(NewTurn::new("s", "user", "z")).await?.index;
    must_equal!(index, 11, "the index after the session was restored with a lower next index");
    store.commit_one(restored(20, 30)).await?;
    let index = store.record_turn(NewTurn::new("s", "user", "z")).await?.index;
    must_equal!(index, 20, "the index after the session was restored with a higher next index");
    let index = store.record_step(NewStep::new("s", "z", "ok")).await?.index;
    must_equal!(index, 30, "the index of the next step");
    case.verify().await
}

pub(crate) async fn versions_go_on(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let slot = StateSlot {
        workspace: Workspace::default(),
        key: "live".to_owned(),
        value: Some(json!(1)),
        version: 9,
        created_at: Case::at(-5),
        updated_at: Case::at(-5),
        expires_at: None,
    };
    let bare = StateSlot { key: "bare".to_owned(), value: None, version: 5, ..slot.clone() };
    store.commit(Batch::new().with(Record::State(slot)).with(Record::State(bare))).await?;
    must_equal!(store.state(&Workspace::default(), "bare").await?, None, "a slot without value");
    let live = store.put_state(PutState::new("live", json!(2))).await?;
    must_equal!(live.version, 10, "the version after a restored one");
    let bare = store.put_state(PutState::new("bare", json!(2))).await?;
    must_equal!(bare.version, 6, "the version after a restored deletion");
    Ok(())
}

async fn not_next(case: &Case, record: &Record, what: &str) -> Verdict {
    let refused = case.backend().commit_one(record.clone().into()).await;
    must_refuse!(refused, Conflict, "{what}");
    Ok(())
}

pub(crate) async fn audit_only_next(case: &mut Case) -> Verdict {
    let clock = case.clock.clone();
    let model = case.other_store("model", clock).await?;
    for n in 0..3 {
        let audit = NewAudit::new("act", "allow").id(n.to_string()).detail(json!({"n": n}));
        model.backend.commit_one(audit.into()).await?;
    }
    let records = all_records(&model).await?;
    let [first, second, third] = [&records[0], &records[1], &records[2]];
    let store = case.reflective()?;
    not_next(case, second, "the second record, in an empty chain").await?;
    store.commit_one(first.clone().into()).await?;
    not_next(case, third, "the third record, after the first").await?;
    if let Record::Audit(audit) = second {
        let changed = AuditRecord { decision: "deny".to_owned(), ..audit.clone() };
        not_next(case, &Record::Audit(changed), "a record whose hash is not its own").await?;
        let mut renamed = AuditRecord { workspace: "w".into(), ..audit.clone() };
        renamed.hash = renamed.expected_hash(&Hash::default());
        not_next(case, &Record::Audit(renamed), "the second record, in the empty chain of another")
            .await?;
    }
    store.commit_one(second.clone().into()).await?;
    store.commit_one(third.clone().into()).await?;
    must_equal!(all_records(&case.handle()).await?, records, "the chain");
    let appended = store.append_audit(NewAudit::new("act", "allow")).await?;
    must_equal!(appended.seq, 4, "the place of the next record");
    let head: AuditHead = store.audit_head(&Workspace::default()).await?;
    must_equal!(head, appended.head(), "the head");
    case.verify().await
}

pub(crate) async fn missing_sources(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let note = Note {
        id: "n".into(),
        workspace: "w".into(),
        created_at: Case::at(-1),
        text: "lesson".to_owned(),
        sources: vec!["z".into(), "gone".into()],
    };
    store.commit_one(Record::Note(note.clone()).into()).await?;
    must_equal!(store.note(&Scope::All, &"n".into()).await?, Some(note), "the note");
    Ok(())
}

/// Fills a store with everything that leaves something behind.
pub(super) async fn furnish(store: &Handle) -> Verdict {
    for (n, workspace) in ["a", "", "default", "a"].into_iter().enumerate() {
        let id = format!("{}", 9 - n);
        store.backend.commit(bundle_in(store, &id, workspace)).await?;
    }
    store.backend.commit(bundle(store, "gone")).await?;
    store.backend.commit(deletions(store, "gone")).await?;
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        for n in 0..5 {
            batch.push(NewTurn::new("9", "user", "x").id(format!("t{n}")).tokens(n));
            batch.push(NewStep::new("9", "step", "ok").payload(json!({"n": n})));
        }
        batch.push(Op::DeleteTurn { turn: "t1".into() });
        batch.push(Op::DeleteTurn { turn: "t4".into() });
        batch.push(Op::TagTurn { turn: "t2".into(), name: "t".to_owned(), value: None });
        batch.push(Op::SetSummary { session: "9".into(), summary: Some("sum".to_owned()) });
        batch.push(Op::EndSession { session: "9".into(), at: Some(Case::at(5)) });
    }
    if store.episodic.is_some() {
        batch.push(NewEpisode::new("closed", "").open(false).created_at(Case::at(-50)));
        batch.push(Op::SetEpisodeOpen { episode: "9".into(), open: false });
    }
    if store.reflective.is_some() {
        batch.push(PutState::new("9", json!(2)).workspace("a"));
        batch.push(PutState::new("old", json!(null)).expires_at(Case::at(-1)));
        batch.push(NewNote::new("old").created_at(Case::at(-50)));
    }
    store.backend.commit(batch).await?;
    Ok(())
}

/// A furnished store goes on where it stood, whatever has happened to it since.
pub(super) async fn goes_on(store: &Handle) -> Verdict {
    if let Some(sessions) = &store.sessions {
        sessions.resume_session(&"9".into()).await?;
        let turn = sessions.record_turn(NewTurn::new("9", "user", "next")).await?;
        must_equal!(turn.index, 6, "the index of the next turn");
    }
    if let Some(reflective) = &store.reflective {
        let entry = reflective.put_state(PutState::new("gone", json!(1))).await?;
        must_equal!(entry.version, 2, "the version of a key that was deleted");
    }
    Ok(())
}

pub(crate) async fn forgotten_in_the_same_batch(case: &mut Case) -> Verdict {
    let store = case.handle();
    furnish(&store).await?;
    let records = all_records(&store).await?;
    let (here, others): (Vec<Record>, Vec<Record>) =
        records.into_iter().partition(|record| record.workspace().as_str() == "a");
    let mut batch = Batch::from(Op::ForgetWorkspace { workspace: "a".into() });
    batch.ops.extend(restoring(&here).ops);
    store.backend.commit(batch).await?;
    let (restored, beside): (Vec<Record>, Vec<Record>) =
        all_records(&store).await?.into_iter().partition(|r| r.workspace().as_str() == "a");
    must_equal!(restored, here, "what the workspace has");
    must_equal!(beside, others, "what others have");
    case.verify().await
}

pub(crate) async fn copies_are_equal(case: &mut Case) -> Verdict {
    let store = case.handle();
    furnish(&store).await?;
    let records = all_records(&store).await?;
    let clock = case.clock.clone();
    case.set_clock(Case::at(3_600_000_000));
    let copy = case.other_store("copy", clock).await?;
    for page in records.chunks(7) {
        copy.backend.commit(restoring(page)).await?;
    }
    must_equal!(all_records(&copy).await?, records, "what the copy has");
    must_equal!(
        copy.backend.workspaces().await?,
        store.backend.workspaces().await?,
        "what the copy counts"
    );
    // Both go on alike.
    for store in [&store, &copy] {
        goes_on(store).await?;
    }
    let sequence = ids_of(&copy, kinds(&copy)[0]).await?;
    let first: Vec<&str> = sequence.iter().take(2).map(String::as_str).collect();
    must_equal!(first, ["9", "8"], "the first ids of the copy in order of insertion");
    let report = copy.backend.verify(&memkeep_core::verify::Verify::new()).await?;
    must_equal!(report.problems, [], "what verify finds in the copy");
    Ok(())
}

//! What restoring does and refuses.

use memkeep_core::*;
use serde_json::json;

use super::{at, furnished, refusal, support::PlainStore};

#[test]
fn restoring_keeps_records_as_they_are_and_is_repeatable() {
    let from = furnished();
    from.done(NewTurn::new("s", "assistant", "gone").id("gone").tokens(7));
    from.done(Op::DeleteTurn { turn: "gone".into() });
    from.done(NewTurn::new("s", "assistant", "later").tokens(-2));
    from.done(Op::TagTurn { turn: "t".into(), name: "x".into(), value: None });
    from.done(DeleteState::new("k"));
    from.done(Op::SetEpisodeOpen { episode: "x".into(), open: false });
    from.done(Op::DeleteEpisode { episode: "x".into(), closed_before: None });
    let records = RecordKind::ALL.map(|kind| from.tables().records(kind)).concat();
    let to = PlainStore::default();
    to.clock.set(at(99_000_000));
    for round in 0..2 {
        for record in &records {
            to.done(record.clone());
        }
        let copied = RecordKind::ALL.map(|kind| to.tables().records(kind)).concat();
        assert_eq!(copied, records, "round {round}");
    }
    // The copy goes on where the original would.
    let turn = to.done(NewTurn::new("s", "user", "next")).into_turn().unwrap();
    assert_eq!(turn.index, 3);
    // What changed since is not overwritten, and not an error either.
    to.done(Op::TagTurn { turn: "t".into(), name: "y".into(), value: None });
    for record in &records {
        to.done(record.clone());
    }
    assert!(to.tables().turns["t"].record.tags.contains_key("y"));
}

#[test]
fn restoring_refuses_what_does_not_fit() {
    let turn = |id: &str, session: &str, index: u64| {
        let mut record = furnished().tables().turns["t"].record.clone();
        record.id = id.into();
        record.session = session.into();
        record.index = index;
        record
    };
    let audit = |seq: u64| {
        let mut record = furnished().tables().audits["a"].clone();
        record.id = "b".into();
        record.seq = seq;
        record
    };
    let elsewhere = |mut turn: Turn| {
        turn.workspace = "w".into();
        turn
    };
    let cases: Vec<(Record, ErrorKind)> = vec![
        (Record::Turn(turn("u", "none", 0)), ErrorKind::NotFound),
        (Record::Turn(turn("u", "s", 0)), ErrorKind::Conflict),
        (Record::Turn(turn("t", "s", 1)), ErrorKind::Conflict),
        (Record::Turn(elsewhere(turn("u", "s", 1))), ErrorKind::Conflict),
        (Record::Turn(turn("u", "s", u64::MAX)), ErrorKind::InvalidArgument),
        (Record::Audit(audit(1)), ErrorKind::Conflict),
        (Record::Audit(audit(2)), ErrorKind::Conflict),
    ];
    for (record, kind) in cases {
        let error = refusal(&furnished(), record.clone().into());
        assert_eq!(error.kind(), kind, "{record:?}");
    }
    // Ended sessions and free indexes are fine: a restored record was there before.
    let store = furnished();
    store.done(Record::Turn(turn("u", "e", 4)));
    assert_eq!(store.tables().sessions["e"].record.next_turn, 5);
}

/// What a wide deletion took, its indexes included, can be put back in the same batch.
#[test]
fn what_was_forgotten_can_be_restored_in_one_batch() {
    let store = furnished();
    let records = RecordKind::ALL.map(|kind| store.tables().records(kind)).concat();
    let wide = [
        Op::ForgetWorkspace { workspace: Workspace::default() },
        Op::DeleteSession { session: "s".into(), ended_before: None },
    ];
    for op in wide {
        let batch = records.iter().cloned().fold(Batch::new().with(op), Batch::with);
        store.apply(batch).unwrap();
        let again = RecordKind::ALL.map(|kind| store.tables().records(kind)).concat();
        assert_eq!(again.len(), records.len());
        assert!(records.iter().all(|record| again.contains(record)));
    }
}

#[test]
fn a_replayed_restore_answers_as_the_first() {
    let mut session = furnished().tables().sessions["s"].record.clone();
    session.first_prompt = Some("not stored".to_owned());
    let mut episode = furnished().tables().episodes["x"].record.clone();
    (episode.open, episode.closed_at) = (false, None);
    let batch = Batch::new()
        .with(Record::Session(session))
        .with(Record::Episode(episode.clone()))
        .with(Record::Episode(episode))
        .key("k");
    let store = PlainStore::default();
    let first = store.apply(batch.clone()).unwrap();
    assert_eq!(store.apply(batch.clone()).unwrap(), first);
    store.done(Op::DeleteEpisode { episode: "x".into(), closed_before: None });
    let again = store.apply(batch).unwrap();
    assert_eq!(again.outcomes[..2], first.outcomes[..2]);
    assert_eq!(again.outcomes[2], Outcome::Gone);
}

/// What a store can hold, its copy can.
#[test]
fn the_last_numbers_can_be_copied() {
    let from = furnished();
    let mut turn = from.tables().turns["t"].record.clone();
    turn.id = "last".into();
    turn.index = i64::MAX as u64 - 1;
    from.done(Record::Turn(turn));
    let mut slot = from.tables().states[0].clone();
    slot.key = "last".to_owned();
    slot.version = i64::MAX as u64 - 1;
    from.done(Record::State(slot));
    from.done(PutState::new("last", json!(2)));
    let full = from.apply(Batch::from(NewTurn::new("s", "user", "x"))).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::InvalidArgument);
    let to = PlainStore::default();
    for kind in RecordKind::ALL {
        for record in from.tables().records(kind) {
            to.done(record);
        }
        assert_eq!(to.tables().records(kind).len(), from.tables().records(kind).len());
    }
}

use std::time::Duration;

use super::{
    Loaded, Prepared,
    build::{self, Given},
    restore::as_new,
};
use crate::{Mark, Op, Outcome, PutState, Receipt, Record, StateEntry, StoredReceipt, Timestamp};

/// The receipt of a batch that was committed before: created records as they were created, changed
/// ones as they are now.
pub(super) fn receipt(prepared: &Prepared, stored: &StoredReceipt, loaded: &Loaded) -> Receipt {
    let outcomes = prepared
        .ops()
        .iter()
        .zip(&stored.marks)
        .map(|(prepared, mark)| {
            outcome(&prepared.op, mark, stored.at, loaded).unwrap_or(Outcome::Gone)
        })
        .collect();
    Receipt { at: stored.at, outcomes }
}

fn outcome(op: &Op, mark: &Mark, at: Timestamp, loaded: &Loaded) -> Option<Outcome> {
    match mark {
        Mark::Created { .. } => created(op, mark, at),
        Mark::Changed { id } => as_it_is(op, id, loaded),
        Mark::Deleted(deleted) => Some(Outcome::Deleted(*deleted)),
        Mark::Restored => match op {
            Op::Restore { record } => {
                Some(Outcome::Restored { record: as_new(record), created: true })
            }
            _ => None,
        },
    }
}

fn created(op: &Op, mark: &Mark, at: Timestamp) -> Option<Outcome> {
    let Mark::Created { id, workspace, index, created_at, hash } = mark else {
        return None;
    };
    macro_rules! given {
        () => {
            Given {
                id: id.as_str().into(),
                workspace: workspace.clone(),
                created_at: *created_at,
                index: *index,
            }
        };
    }
    Some(match op {
        Op::StartSession(new) | Op::EnsureSession(new) => {
            Outcome::Session(build::session(new, given!()))
        }
        Op::RecordTurn(new) => Outcome::Turn(build::turn(new, given!())),
        Op::RecordStep(new) => Outcome::Step(build::step(new, given!())),
        Op::AddEpisode(new) => Outcome::Episode(build::episode(new, given!())),
        Op::AddNote(new) => Outcome::Note(build::note(new, given!())),
        Op::AppendAudit(new) => {
            let mut record = build::audit(new, given!());
            record.hash = (*hash)?;
            Outcome::Audit(record)
        }
        Op::PutState(put) => Outcome::State(StateEntry {
            workspace: workspace.clone(),
            key: put.key.clone(),
            value: put.value.clone(),
            version: *index,
            created_at: *created_at,
            updated_at: at,
            expires_at: expires_at(put, at),
        }),
        _ => return None,
    })
}

/// When an entry that is put at `at` expires.
pub(super) fn expires_at(put: &PutState, at: Timestamp) -> Option<Timestamp> {
    let ttl = put.ttl_ms.map(Duration::from_millis);
    ttl.map(|ttl| at.saturating_add(ttl)).or(put.expires_at)
}

fn as_it_is(op: &Op, id: &str, loaded: &Loaded) -> Option<Outcome> {
    match op {
        Op::StartSession(_)
        | Op::EnsureSession(_)
        | Op::EndSession { .. }
        | Op::ResumeSession { .. }
        | Op::SetSummary { .. } => {
            loaded.sessions.get(id).map(|s| Outcome::Session(s.record.clone()))
        }
        Op::RecordTurn(_) | Op::TagTurn { .. } | Op::UntagTurn { .. } | Op::SetEmbedding { .. } => {
            loaded.turns.get(id).map(|t| Outcome::Turn(t.record.clone()))
        }
        Op::RecordStep(_) => loaded.steps.get(id).cloned().map(Outcome::Step),
        Op::AddEpisode(_) | Op::ReviseEpisode(_) | Op::SetEpisodeOpen { .. } => {
            loaded.episodes.get(id).map(|e| Outcome::Episode(e.record.clone()))
        }
        Op::Restore { record } => {
            there(record, loaded).map(|record| Outcome::Restored { record, created: false })
        }
        Op::AddNote(_) => loaded.notes.get(id).cloned().map(Outcome::Note),
        Op::AppendAudit(_) => loaded.audits.get(id).cloned().map(Outcome::Audit),
        _ => None,
    }
}

/// The record with the id of `record`, as it is now.
fn there(record: &Record, loaded: &Loaded) -> Option<Record> {
    Some(match record {
        Record::Session(r) => Record::Session(loaded.sessions.get(&r.id)?.record.clone()),
        Record::Turn(r) => Record::Turn(loaded.turns.get(&r.id)?.record.clone()),
        Record::Step(r) => Record::Step(loaded.steps.get(&r.id)?.clone()),
        Record::Episode(r) => Record::Episode(loaded.episodes.get(&r.id)?.record.clone()),
        Record::Note(r) => Record::Note(loaded.notes.get(&r.id)?.clone()),
        Record::State(r) => Record::State(loaded.states.get(&r.state_key())?.clone()),
        Record::Audit(r) => Record::Audit(loaded.audits.get(&r.id)?.clone()),
    })
}

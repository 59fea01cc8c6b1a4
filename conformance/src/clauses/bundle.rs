//! Records of every kind that the store under test keeps, under one id: what holds of any backend,
//! whatever its parts, is shown with them.

use std::collections::BTreeSet;

use memkeep_core::{
    Batch, DeleteState, EpisodeRevision, Error, Expected, NewAudit, NewEpisode, NewNote,
    NewSession, NewStep, NewTurn, Op, Outcome, PutState, Record, RecordKind, Scan, Scope,
    StateSlot, Workspace,
};
use serde_json::json;

use crate::{Failure, Handle};

/// One record of each kind, all under `id`, in the default workspace.
pub(crate) fn bundle(store: &Handle, id: &str) -> Batch {
    bundle_in(store, id, "default")
}

/// One record of each kind, all under `id`, in `workspace`.
pub(crate) fn bundle_in(store: &Handle, id: &str, workspace: &str) -> Batch {
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(Op::StartSession(NewSession::new().id(id).workspace(workspace)));
        batch.push(NewTurn::new(id, "user", id).id(id).tokens(7));
        batch.push(NewStep::new(id, "step", "ok").id(id));
    }
    if store.episodic.is_some() {
        batch.push(NewEpisode::new(id, "summary").id(id).workspace(workspace));
    }
    if store.reflective.is_some() {
        batch.push(NewNote::new(id).id(id).workspace(workspace));
        batch.push(PutState::new(id, json!(id)).workspace(workspace));
        batch.push(NewAudit::new(id, "allow").id(id).workspace(workspace));
    }
    batch
}

/// The bundle `id` without its state entry: all that may be committed twice without a key.
pub(crate) fn creations(store: &Handle, id: &str) -> Batch {
    let mut batch = bundle(store, id);
    batch.ops.retain(|op| !matches!(op, Op::PutState(_)));
    batch
}

/// The bundle without ids, which are generated, and without a state entry.
pub(crate) fn anonymous(store: &Handle, session: &str) -> Batch {
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(Op::EnsureSession(NewSession::new().id(session)));
        batch.push(Op::StartSession(NewSession::new()));
        batch.push(NewTurn::new(session, "user", "text"));
        batch.push(NewStep::new(session, "step", "ok"));
    }
    if store.episodic.is_some() {
        batch.push(NewEpisode::new("problem", "summary"));
    }
    if store.reflective.is_some() {
        batch.push(NewNote::new("text"));
        batch.push(NewAudit::new("act", "allow"));
    }
    batch
}

/// At least `ops` ops: those of `batch` again and again.
pub(crate) fn repeated(batch: &Batch, ops: usize) -> Batch {
    let times = ops.div_ceil(batch.ops.len().max(1));
    std::iter::repeat_n(&batch.ops, times).flatten().cloned().collect()
}

/// For each kind, an op that the bundle `id` refuses: its id with another body.
pub(crate) fn clashes(store: &Handle, id: &str) -> Vec<Op> {
    let mut ops: Vec<Op> = Vec::new();
    if store.sessions.is_some() {
        ops.push(Op::StartSession(NewSession::new().id(id).model("another")));
        ops.push(NewTurn::new(id, "user", "another").id(id).into());
        ops.push(NewStep::new(id, "another", "ok").id(id).into());
    }
    if store.episodic.is_some() {
        ops.push(NewEpisode::new("another", "summary").id(id).into());
    }
    if store.reflective.is_some() {
        ops.push(NewNote::new("another").id(id).into());
        ops.push(PutState::new(id, json!("another")).expected(Expected::Absent).into());
        ops.push(NewAudit::new("another", "allow").id(id).into());
    }
    ops
}

/// Changes of the bundle `id` what can be changed.
pub(crate) fn changes(store: &Handle, id: &str) -> Batch {
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(NewTurn::new(id, "user", "later"));
        batch.push(Op::TagTurn { turn: id.into(), name: "tag".to_owned(), value: None });
        batch.push(Op::EndSession { session: id.into(), at: None });
    }
    if store.episodic.is_some() {
        batch.push(EpisodeRevision::new(id).problem("changed"));
    }
    if store.reflective.is_some() {
        batch.push(PutState::new(id, json!("changed")));
    }
    batch
}

/// Deletes of the bundle `id` what can be deleted by name: all but its audit record.
pub(crate) fn deletions(store: &Handle, id: &str) -> Batch {
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(Op::DeleteTurn { turn: id.into() });
        batch.push(Op::DeleteSession { session: id.into(), ended_before: None });
    }
    if store.episodic.is_some() {
        batch.push(Op::DeleteEpisode { episode: id.into(), closed_before: None });
    }
    if store.reflective.is_some() {
        batch.push(Op::DeleteNote { note: id.into() });
        batch.push(DeleteState::new(id));
    }
    batch
}

/// The kinds of records that the store's parts keep.
pub(crate) fn kinds(store: &Handle) -> Vec<RecordKind> {
    let kept = |kind: &RecordKind| match kind {
        RecordKind::Session | RecordKind::Turn | RecordKind::Step => store.sessions.is_some(),
        RecordKind::Episode => store.episodic.is_some(),
        RecordKind::Note | RecordKind::State | RecordKind::Audit => store.reflective.is_some(),
    };
    RecordKind::ALL.into_iter().filter(kept).collect()
}

/// Everything in the store, kind by kind in order of insertion.
pub(crate) async fn all_records(store: &Handle) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    for kind in kinds(store) {
        records.extend(store.backend.scan(&Scan::new(kind)).await?.items);
    }
    Ok(records)
}

/// The ids of the records of a kind, in order of insertion.
pub(crate) async fn ids_of(store: &Handle, kind: RecordKind) -> Result<Vec<String>, Failure> {
    let records = store.backend.scan(&Scan::new(kind)).await?.items;
    Ok(records.iter().map(|record| record.id().to_owned()).collect())
}

/// The ids of the bundles in the store, each of which must be whole.
pub(crate) async fn whole_bundles(store: &Handle) -> Result<BTreeSet<String>, Failure> {
    let mut whole: Option<BTreeSet<String>> = None;
    for kind in kinds(store) {
        let listed = ids_of(store, kind).await?;
        let ids: BTreeSet<String> = listed.iter().cloned().collect();
        if ids.len() != listed.len() {
            return Err(Failure::values("each id once", &ids, &listed));
        }
        if let Some(others) = whole.as_ref().filter(|others| **others != ids) {
            let what =
                format!("the batches of which there is a {}, all being whole", kind.as_str());
            return Err(Failure::values(&what, others, &ids));
        }
        whole = Some(ids);
    }
    Ok(whole.unwrap_or_default())
}

/// Ids as [`whole_bundles`] gives them.
pub(crate) fn ids<'a>(ids: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    ids.into_iter().map(str::to_owned).collect()
}

/// The records of the bundle `id` of the default workspace, read one by one.
pub(crate) async fn read(store: &Handle, id: &str) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    for kind in kinds(store) {
        records.extend(read_one(store, kind, &Workspace::default(), id).await?);
    }
    Ok(records)
}

/// The record of a kind under `id` of a workspace. There is no read of one audit record.
pub(crate) async fn read_one(
    store: &Handle,
    kind: RecordKind,
    workspace: &Workspace,
    id: &str,
) -> Result<Option<Record>, Error> {
    let scope = Scope::from(workspace);
    macro_rules! read {
        ($part:ident.$read:ident(), $variant:ident) => {
            match &store.$part {
                Some(part) => part.$read(&scope, &id.into()).await?.map(Record::$variant),
                None => None,
            }
        };
    }
    Ok(match kind {
        RecordKind::Session => read!(sessions.session(), Session),
        RecordKind::Turn => read!(sessions.turn(), Turn),
        RecordKind::Step => read!(sessions.step(), Step),
        RecordKind::Episode => read!(episodic.episode(), Episode),
        RecordKind::Note => read!(reflective.note(), Note),
        RecordKind::State => match &store.reflective {
            Some(part) => part.state(workspace, id).await?.map(|entry| Record::State(slot(entry))),
            None => None,
        },
        RecordKind::Audit => None,
    })
}

fn slot(entry: memkeep_core::StateEntry) -> StateSlot {
    StateSlot {
        workspace: entry.workspace,
        key: entry.key,
        value: Some(entry.value),
        version: entry.version,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        expires_at: entry.expires_at,
    }
}

/// The record that an outcome holds.
pub(crate) fn record_of(outcome: &Outcome) -> Option<Record> {
    Some(match outcome.clone() {
        Outcome::Session(record) => Record::Session(record),
        Outcome::Turn(record) => Record::Turn(record),
        Outcome::Step(record) => Record::Step(record),
        Outcome::Episode(record) => Record::Episode(record),
        Outcome::Note(record) => Record::Note(record),
        Outcome::State(entry) => Record::State(slot(entry)),
        Outcome::Audit(record) => Record::Audit(record),
        Outcome::Restored { record, .. } => record,
        Outcome::Deleted(_) | Outcome::Gone => return None,
    })
}

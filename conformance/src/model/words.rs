//! What the words of a batch alone show to be wrong.

use memkeep_core::{Batch, ErrorKind, Json, Metadata, Op, Record};

use super::memory::Refused;

const NAME_BYTES: usize = 1_024;
const DEPTH: usize = 100;
/// Numbers are signed ones of 64 bits in engines.
const LAST: u64 = i64::MAX as u64;

/// Refuses a batch before anything of it is done, whatever is stored.
pub(super) fn check(batch: &Batch) -> Result<(), Refused> {
    let kind = ErrorKind::InvalidArgument;
    if let Some(op) = batch.ops.iter().position(|op| !is_right(op)) {
        return Err(Refused { kind, op: Some(op) });
    }
    if batch.key.as_ref().is_some_and(|key| !id(key)) {
        return Err(Refused { kind, op: None });
    }
    Ok(())
}

fn name<T: AsRef<str> + ?Sized>(text: &T) -> bool {
    text.as_ref().len() <= NAME_BYTES
}

fn id<T: AsRef<str> + ?Sized>(text: &T) -> bool {
    !text.as_ref().is_empty() && name(text)
}

fn unset_or<T>(value: Option<&T>, is_right: impl Fn(&T) -> bool) -> bool {
    value.is_none_or(is_right)
}

/// How deep arrays and objects nest.
fn depth(value: &Json) -> usize {
    match value {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(map) => object_depth(map),
        _ => 0,
    }
}

fn object_depth(map: &Metadata) -> usize {
    1 + map.values().map(depth).max().unwrap_or(0)
}

fn json(value: &Json) -> bool {
    depth(value) <= DEPTH
}

fn metadata(map: &Metadata) -> bool {
    object_depth(map) <= DEPTH
}

fn workspace(workspace: &memkeep_core::Workspace) -> bool {
    name(workspace.as_str())
}

fn is_right(op: &Op) -> bool {
    match op {
        Op::StartSession(new) | Op::EnsureSession(new) => {
            unset_or(new.id.as_ref(), id)
                && unset_or(new.workspace.as_ref(), workspace)
                && unset_or(new.metadata.as_ref(), metadata)
        }
        Op::EndSession { session, .. }
        | Op::ResumeSession { session }
        | Op::SetSummary { session, .. }
        | Op::DeleteSession { session, .. } => id(session),
        Op::RecordTurn(new) => {
            unset_or(new.id.as_ref(), id)
                && id(&new.session)
                && name(&new.role)
                && unset_or(new.embedding_id.as_ref(), name)
                && unset_or(new.metadata.as_ref(), metadata)
                && new.tags.iter().flatten().all(|(tag, _)| name(tag))
        }
        Op::RecordStep(new) => {
            unset_or(new.id.as_ref(), id)
                && id(&new.session)
                && name(&new.name)
                && name(&new.status)
                && unset_or(new.payload.as_ref(), json)
        }
        Op::DeleteTurn { turn } => id(turn),
        Op::TagTurn { turn, name: tag, .. } | Op::UntagTurn { turn, name: tag } => {
            id(turn) && name(tag)
        }
        Op::SetEmbedding { turn, embedding_id } => {
            id(turn) && unset_or(embedding_id.as_ref(), name)
        }
        Op::AddEpisode(new) => {
            unset_or(new.id.as_ref(), id)
                && unset_or(new.workspace.as_ref(), workspace)
                && unset_or(new.metadata.as_ref(), metadata)
        }
        Op::ReviseEpisode(revision) => {
            id(&revision.episode) && unset_or(revision.metadata.as_ref(), metadata)
        }
        Op::SetEpisodeOpen { episode, .. } | Op::DeleteEpisode { episode, .. } => id(episode),
        Op::AddNote(new) => {
            unset_or(new.id.as_ref(), id)
                && unset_or(new.workspace.as_ref(), workspace)
                && new.sources.iter().flatten().all(id)
        }
        Op::DeleteNote { note } => id(note),
        Op::PutState(put) => {
            unset_or(put.workspace.as_ref(), workspace)
                && name(&put.key)
                && json(&put.value)
                && (put.expires_at.is_none() || put.ttl_ms.is_none())
        }
        Op::DeleteState(delete) => {
            unset_or(delete.workspace.as_ref(), workspace) && name(&delete.key)
        }
        Op::AppendAudit(new) => {
            unset_or(new.id.as_ref(), id)
                && unset_or(new.workspace.as_ref(), workspace)
                && unset_or(new.detail.as_ref(), json)
        }
        Op::ForgetWorkspace { workspace: forgotten } => workspace(forgotten),
        Op::Restore { record } => is_right_record(record),
        _ => true,
    }
}

fn is_right_record(record: &Record) -> bool {
    let named = match record {
        Record::State(slot) => name(&slot.key),
        other => id(other.id()),
    };
    named
        && workspace(record.workspace())
        && match record {
            Record::Session(r) => {
                metadata(&r.metadata) && r.next_turn <= LAST && r.next_step <= LAST
            }
            Record::Turn(r) => {
                id(&r.session)
                    && name(&r.role)
                    && unset_or(r.embedding_id.as_ref(), name)
                    && metadata(&r.metadata)
                    && r.tags.keys().all(name)
                    && r.index < LAST
            }
            Record::Step(r) => {
                id(&r.session)
                    && name(&r.name)
                    && name(&r.status)
                    && json(&r.payload)
                    && r.index < LAST
            }
            Record::Episode(r) => metadata(&r.metadata) && !(r.open && r.closed_at.is_some()),
            Record::Note(r) => r.sources.iter().all(id),
            Record::State(r) => (1..=LAST).contains(&r.version) && unset_or(r.value.as_ref(), json),
            Record::Audit(r) => json(&r.detail) && r.seq < LAST,
        }
}

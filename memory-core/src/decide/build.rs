//! How a request becomes a record, and whether a record is what a request made. A commit and the
//! replay of its receipt build records by the same functions.

use super::Stored;
use crate::{
    AuditId, AuditRecord, Episode, EpisodeId, Hash, NewAudit, NewEpisode, NewNote, NewSession,
    NewStep, NewTurn, Note, NoteId, Session, SessionId, Step, StepId, Timestamp, Turn, TurnId,
    Workspace,
};

/// What a commit gives to a new record.
pub(super) struct Given<Id> {
    pub(super) id: Id,
    pub(super) workspace: Workspace,
    pub(super) created_at: Timestamp,
    pub(super) index: u64,
}

pub(super) fn session(new: &NewSession, given: Given<SessionId>) -> Session {
    let started_at = new.started_at.unwrap_or(given.created_at);
    Session {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        started_at,
        ended_at: None,
        model: new.model.clone(),
        mode: new.mode.clone(),
        summary: None,
        metadata: new.metadata.clone().unwrap_or_default(),
        next_turn: 0,
        next_step: 0,
        turn_count: 0,
        step_count: 0,
        total_tokens: 0,
        last_active: started_at,
        first_prompt: None,
    }
}

pub(super) fn turn(new: &NewTurn, given: Given<TurnId>) -> Turn {
    Turn {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        session: new.session.clone(),
        index: given.index,
        role: new.role.clone(),
        content: new.content.clone(),
        model: new.model.clone(),
        tokens: new.tokens,
        embedding_id: new.embedding_id.clone(),
        metadata: new.metadata.clone().unwrap_or_default(),
        tags: new.tags.clone().unwrap_or_default(),
    }
}

pub(super) fn step(new: &NewStep, given: Given<StepId>) -> Step {
    Step {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        session: new.session.clone(),
        index: given.index,
        name: new.name.clone(),
        status: new.status.clone(),
        payload: new.payload.clone().unwrap_or_default(),
    }
}

pub(super) fn episode(new: &NewEpisode, given: Given<EpisodeId>) -> Episode {
    let open = new.open.unwrap_or(true);
    Episode {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        problem: new.problem.clone(),
        summary: new.summary.clone(),
        open,
        closed_at: (!open).then_some(given.created_at),
        metadata: new.metadata.clone().unwrap_or_default(),
    }
}

pub(super) fn note(new: &NewNote, given: Given<NoteId>) -> Note {
    Note {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        text: new.text.clone(),
        sources: new.sources.clone().unwrap_or_default(),
    }
}

/// The record without its hash, which depends on the one before it.
pub(super) fn audit(new: &NewAudit, given: Given<AuditId>) -> AuditRecord {
    AuditRecord {
        id: given.id,
        workspace: given.workspace,
        created_at: given.created_at,
        seq: given.index,
        action: new.action.clone(),
        decision: new.decision.clone(),
        detail: new.detail.clone().unwrap_or_default(),
        hash: Hash::default(),
    }
}

fn is_or_unset<T: PartialEq>(set: Option<&T>, stored: &T) -> bool {
    set.is_none_or(|value| value == stored)
}

/// Whether `new` could have made the session that is there: what it sets is so, and what it leaves
/// out has its default.
pub(super) fn made_session(new: &NewSession, there: &Session) -> bool {
    ensures_session(new, there)
        && new.workspace.clone().unwrap_or_default() == there.workspace
        && new.model == there.model
        && new.mode == there.mode
        && new.metadata.clone().unwrap_or_default() == there.metadata
}

/// Whether nothing that `new` sets is otherwise in the session that is there.
pub(super) fn ensures_session(new: &NewSession, there: &Session) -> bool {
    is_or_unset(new.workspace.as_ref(), &there.workspace)
        && is_or_unset(new.created_at.as_ref(), &there.created_at)
        && is_or_unset(new.started_at.as_ref(), &there.started_at)
        && (new.model.is_none() || new.model == there.model)
        && (new.mode.is_none() || new.mode == there.mode)
        && is_or_unset(new.metadata.as_ref(), &there.metadata)
}

pub(super) fn made_turn(new: &NewTurn, there: &Stored<Turn>) -> bool {
    let there = &there.record;
    let rebuilt =
        turn(new, same_given(there.id.clone(), &there.workspace, there.created_at, there.index));
    is_or_unset(new.created_at.as_ref(), &there.created_at) && rebuilt == *there
}

pub(super) fn made_step(new: &NewStep, there: &Step) -> bool {
    let rebuilt =
        step(new, same_given(there.id.clone(), &there.workspace, there.created_at, there.index));
    is_or_unset(new.created_at.as_ref(), &there.created_at) && rebuilt == *there
}

pub(super) fn made_episode(new: &NewEpisode, there: &Episode) -> bool {
    let mut rebuilt =
        episode(new, same_given(there.id.clone(), &there.workspace, there.created_at, 0));
    rebuilt.closed_at = there.closed_at;
    is_or_unset(new.created_at.as_ref(), &there.created_at)
        && new.workspace.clone().unwrap_or_default() == there.workspace
        && rebuilt == *there
}

pub(super) fn made_note(new: &NewNote, there: &Note) -> bool {
    let rebuilt = note(new, same_given(there.id.clone(), &there.workspace, there.created_at, 0));
    is_or_unset(new.created_at.as_ref(), &there.created_at)
        && is_or_unset(new.workspace.as_ref(), &there.workspace)
        && rebuilt == *there
}

pub(super) fn made_audit(new: &NewAudit, there: &AuditRecord) -> bool {
    let given = same_given(there.id.clone(), &there.workspace, there.created_at, there.seq);
    let mut rebuilt = audit(new, given);
    rebuilt.hash = there.hash;
    is_or_unset(new.created_at.as_ref(), &there.created_at)
        && new.workspace.clone().unwrap_or_default() == there.workspace
        && rebuilt == *there
}

fn same_given<Id>(id: Id, workspace: &Workspace, created_at: Timestamp, index: u64) -> Given<Id> {
    Given { id, workspace: workspace.clone(), created_at, index }
}

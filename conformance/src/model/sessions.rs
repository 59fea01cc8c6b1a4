//! What the ops on sessions, turns and steps do.

use memkeep_core::{
    Counts, ErrorKind, NewSession, NewStep, NewTurn, Outcome, Session, SessionId, Step, Timestamp,
    Turn, TurnId,
};

use super::{
    memory::{Done, Memory, Moment, deleted},
    row::{find, find_mut, origin},
};

/// The greatest index there can be.
const LAST_INDEX: u64 = i64::MAX as u64 - 1;

impl Memory {
    pub(super) fn start_session(
        &mut self,
        new: &NewSession,
        ensure: bool,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.sessions, id)) {
            let there = &row.record;
            let not_against = unset_or(new.workspace.as_ref(), &there.workspace)
                && unset_or(new.created_at.as_ref(), &there.created_at)
                && unset_or(new.started_at.as_ref(), &there.started_at)
                && (new.model.is_none() || new.model == there.model)
                && (new.mode.is_none() || new.mode == there.mode)
                && unset_or(new.metadata.as_ref(), &there.metadata);
            // What the caller left out has its default.
            let whole = new.workspace.clone().unwrap_or_default() == there.workspace
                && new.model == there.model
                && new.mode == there.mode
                && new.metadata.clone().unwrap_or_default() == there.metadata;
            if row.origin == origin(new) || (not_against && (ensure || whole)) {
                return Ok(Done::Now(Outcome::Session(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let created_at = new.created_at.unwrap_or(now);
        let started_at = new.started_at.unwrap_or(created_at);
        let session = Session {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace: new.workspace.clone().unwrap_or_default(),
            created_at,
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
        };
        let from = new.id.as_ref().and_then(|_| origin(new));
        let row = self.row(session.clone(), from);
        self.sessions.push(row);
        Ok(Done::Once(Outcome::Session(session)))
    }

    pub(super) fn change_session(
        &mut self,
        id: &SessionId,
        change: impl FnOnce(&mut Session),
    ) -> Result<Done, ErrorKind> {
        let session = find_mut(&mut self.sessions, id).ok_or(ErrorKind::NotFound)?;
        change(session);
        Ok(Done::Now(Outcome::Session(session.clone())))
    }

    pub(super) fn delete_session(
        &mut self,
        id: &SessionId,
        ended_before: Option<Timestamp>,
    ) -> Done {
        let Some(row) = find(&self.sessions, id) else {
            return deleted(false, Counts::default());
        };
        if ended_before.is_some_and(|before| row.record.ended_at.is_none_or(|at| at >= before)) {
            return deleted(false, Counts::default());
        }
        let turns = self.turns.iter().filter(|row| row.record.session == *id).count() as u64;
        let steps = self.steps.iter().filter(|row| row.record.session == *id).count() as u64;
        self.sessions.retain(|row| row.record.id != *id);
        self.turns.retain(|row| row.record.session != *id);
        self.steps.retain(|row| row.record.session != *id);
        deleted(true, Counts { sessions: 1, turns, steps, ..Counts::default() })
    }

    pub(super) fn record_turn(
        &mut self,
        new: &NewTurn,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.turns, id)) {
            let there = &row.record;
            let same = new.session == there.session
                && new.role == there.role
                && new.content == there.content
                && new.model == there.model
                && new.tokens == there.tokens
                && new.embedding_id == there.embedding_id
                && new.metadata.clone().unwrap_or_default() == there.metadata
                && new.tags.clone().unwrap_or_default() == there.tags
                && unset_or(new.created_at.as_ref(), &there.created_at);
            if row.origin == origin(new) || same {
                return Ok(Done::Now(Outcome::Turn(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let session = find(&self.sessions, &new.session).ok_or(ErrorKind::NotFound)?;
        let session = session.record.clone();
        total(&session, new.tokens)?;
        let index = next_index(&session, session.next_turn)?;
        let turn = Turn {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace: session.workspace,
            created_at: new.created_at.unwrap_or(now),
            session: new.session.clone(),
            index,
            role: new.role.clone(),
            content: new.content.clone(),
            model: new.model.clone(),
            tokens: new.tokens,
            embedding_id: new.embedding_id.clone(),
            metadata: new.metadata.clone().unwrap_or_default(),
            tags: new.tags.clone().unwrap_or_default(),
        };
        let from = new.id.as_ref().and_then(|_| origin(new));
        self.insert_turn(turn.clone(), from)?;
        Ok(Done::Once(Outcome::Turn(turn)))
    }

    pub(super) fn insert_turn(
        &mut self,
        turn: Turn,
        from: Option<memkeep_core::Json>,
    ) -> Result<(), ErrorKind> {
        let session = find_mut(&mut self.sessions, &turn.session).ok_or(ErrorKind::NotFound)?;
        session.total_tokens = total(session, turn.tokens)?;
        session.next_turn = session.next_turn.max(turn.index + 1);
        session.turn_count += 1;
        session.last_active = session.last_active.max(turn.created_at);
        let row = self.row(turn, from);
        self.turns.push(row);
        Ok(())
    }

    pub(super) fn delete_turn(&mut self, id: &TurnId) -> Result<Done, ErrorKind> {
        let Some(turn) = find(&self.turns, id).map(|row| row.record.clone()) else {
            return Ok(deleted(false, Counts::default()));
        };
        let session = find_mut(&mut self.sessions, &turn.session).ok_or(ErrorKind::NotFound)?;
        let left = session.total_tokens.checked_sub(turn.tokens.unwrap_or(0));
        session.total_tokens = left.ok_or(ErrorKind::InvalidArgument)?;
        session.turn_count -= 1;
        self.turns.retain(|row| row.record.id != *id);
        Ok(deleted(true, Counts { turns: 1, ..Counts::default() }))
    }

    pub(super) fn change_turn(
        &mut self,
        id: &TurnId,
        change: impl FnOnce(&mut Turn),
    ) -> Result<Done, ErrorKind> {
        let turn = find_mut(&mut self.turns, id).ok_or(ErrorKind::NotFound)?;
        change(turn);
        Ok(Done::Now(Outcome::Turn(turn.clone())))
    }

    pub(super) fn record_step(
        &mut self,
        new: &NewStep,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.steps, id)) {
            let there = &row.record;
            let same = new.session == there.session
                && new.name == there.name
                && new.status == there.status
                && new.payload.clone().unwrap_or_default() == there.payload
                && unset_or(new.created_at.as_ref(), &there.created_at);
            if same {
                return Ok(Done::Now(Outcome::Step(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let session = find(&self.sessions, &new.session).ok_or(ErrorKind::NotFound)?;
        let session = session.record.clone();
        let index = next_index(&session, session.next_step)?;
        let step = Step {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace: session.workspace,
            created_at: new.created_at.unwrap_or(now),
            session: new.session.clone(),
            index,
            name: new.name.clone(),
            status: new.status.clone(),
            payload: new.payload.clone().unwrap_or_default(),
        };
        self.insert_step(step.clone())?;
        Ok(Done::Once(Outcome::Step(step)))
    }

    pub(super) fn insert_step(&mut self, step: Step) -> Result<(), ErrorKind> {
        let session = find_mut(&mut self.sessions, &step.session).ok_or(ErrorKind::NotFound)?;
        session.next_step = session.next_step.max(step.index + 1);
        session.step_count += 1;
        session.last_active = session.last_active.max(step.created_at);
        let row = self.row(step, None);
        self.steps.push(row);
        Ok(())
    }
}

/// The session's tokens with a turn's more.
fn total(session: &Session, tokens: Option<i64>) -> Result<i64, ErrorKind> {
    session.total_tokens.checked_add(tokens.unwrap_or(0)).ok_or(ErrorKind::InvalidArgument)
}

/// The index of the next turn or step, in a session that has not ended.
fn next_index(session: &Session, next: u64) -> Result<u64, ErrorKind> {
    if next > LAST_INDEX {
        Err(ErrorKind::InvalidArgument)
    } else if session.ended_at.is_some() {
        Err(ErrorKind::Conflict)
    } else {
        Ok(next)
    }
}

pub(super) fn unset_or<T: PartialEq>(set: Option<&T>, there: &T) -> bool {
    set.is_none_or(|set| set == there)
}

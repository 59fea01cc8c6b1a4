use super::{
    Origin, Stored, build,
    decider::{Decider, Done, changed, deleted, other_body},
};
use crate::{
    Counts, Deleted, Error, ErrorKind, Mark, NewStep, NewTurn, Outcome, RecordKind, Result,
    Session, SessionId, Step, StepId, Turn, TurnId,
};

impl Decider {
    pub(super) fn record_turn(&mut self, new: &NewTurn, origin: Option<Origin>) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(TurnId::generate);
        if let Some(there) = self.turns.get(&id, &self.wide) {
            if there.origin != origin && !build::made_turn(new, there) {
                return Err(other_body("turn", id.as_str()));
            }
            return Ok(changed(id, Outcome::Turn(there.record.clone())));
        }
        let created_at = new.created_at.unwrap_or(self.now);
        let session = self.session_mut(&new.session)?;
        add_tokens(session, new.tokens)?;
        let index = next_index(session, session.next_turn)?;
        let workspace = session.workspace.clone();
        let given =
            build::Given { id: id.clone(), workspace: workspace.clone(), created_at, index };
        let turn = build::turn(new, given);
        self.insert_turn(Stored { record: turn.clone(), origin })?;
        let mark = Mark::Created { id: id.into(), workspace, index, created_at, hash: None };
        Ok((Outcome::Turn(turn), mark))
    }

    /// Stores a turn and counts it in its session; its tokens are counted already.
    pub(super) fn insert_turn(&mut self, stored: Stored<Turn>) -> Result<()> {
        let turn = &stored.record;
        let session = self.session_mut(&turn.session)?;
        session.next_turn = session.next_turn.max(turn.index + 1);
        session.turn_count += 1;
        session.last_active = session.last_active.max(turn.created_at);
        self.turn_slots.put(&turn.session, turn.index, &turn.workspace, self.at);
        self.added(&turn.workspace, Counts::one(RecordKind::Turn));
        self.turns.set(turn.id.clone(), stored, self.at);
        Ok(())
    }

    pub(super) fn record_step(&mut self, new: &NewStep, generated: bool) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(StepId::generate);
        if let Some(there) = self.steps.get(&id, &self.wide) {
            if generated || !build::made_step(new, there) {
                return Err(other_body("step", id.as_str()));
            }
            return Ok(changed(id, Outcome::Step(there.clone())));
        }
        let created_at = new.created_at.unwrap_or(self.now);
        let session = self.session_mut(&new.session)?;
        let index = next_index(session, session.next_step)?;
        let workspace = session.workspace.clone();
        let given =
            build::Given { id: id.clone(), workspace: workspace.clone(), created_at, index };
        let step = build::step(new, given);
        self.insert_step(step.clone())?;
        let mark = Mark::Created { id: id.into(), workspace, index, created_at, hash: None };
        Ok((Outcome::Step(step), mark))
    }

    /// Stores a step and counts it in its session.
    pub(super) fn insert_step(&mut self, step: Step) -> Result<()> {
        let session = self.session_mut(&step.session)?;
        session.next_step = session.next_step.max(step.index + 1);
        session.step_count += 1;
        session.last_active = session.last_active.max(step.created_at);
        self.step_slots.put(&step.session, step.index, &step.workspace, self.at);
        self.added(&step.workspace, Counts::one(RecordKind::Step));
        self.steps.set(step.id.clone(), step, self.at);
        Ok(())
    }

    pub(super) fn delete_turn(&mut self, id: &TurnId) -> Result<Done> {
        let Some(stored) = self.turns.get(id, &self.wide) else {
            return Ok(deleted(Deleted::default()));
        };
        let turn = &stored.record;
        let (session_id, index, workspace) =
            (turn.session.clone(), turn.index, turn.workspace.clone());
        let tokens = turn.tokens.unwrap_or(0);
        let session = self.session_mut(&session_id)?;
        session.total_tokens =
            session.total_tokens.checked_sub(tokens).ok_or_else(|| tokens_overflow(&session_id))?;
        session.turn_count = session.turn_count.saturating_sub(1);
        self.turn_slots.free(&session_id, index);
        let counts = Counts::one(RecordKind::Turn);
        self.removed(&workspace, counts);
        self.turns.remove(id, self.at);
        Ok(deleted(Deleted { existed: true, counts }))
    }

    pub(super) fn change_turn(
        &mut self,
        id: &TurnId,
        change: impl FnOnce(&mut Turn),
    ) -> Result<Done> {
        let stored = self
            .turns
            .get_mut(id, &self.wide, self.at)
            .ok_or_else(|| Error::not_found("turn", id))?;
        change(&mut stored.record);
        Ok(changed(id, Outcome::Turn(stored.record.clone())))
    }
}

/// Adds a turn's tokens to its session.
pub(super) fn add_tokens(session: &mut Session, tokens: Option<i64>) -> Result<()> {
    session.total_tokens = session
        .total_tokens
        .checked_add(tokens.unwrap_or(0))
        .ok_or_else(|| tokens_overflow(&session.id))?;
    Ok(())
}

fn tokens_overflow(session: &SessionId) -> Error {
    Error::invalid("tokens", "the session's total does not fit in 64 bits").with("session", session)
}

/// The index of the next turn or step, if the session is open.
fn next_index(session: &Session, next: u64) -> Result<u64> {
    if next >= i64::MAX as u64 {
        return Err(Error::invalid("index", "the session's indexes are used up"));
    }
    if session.ended_at.is_some() {
        let message = "the session has ended; resume it to record more";
        return Err(Error::new(ErrorKind::Conflict, message).with("session", &session.id));
    }
    Ok(next)
}

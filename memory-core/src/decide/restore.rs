use super::{
    Stored,
    decider::{Decider, Done, other_body},
    prepared::origin,
    turns::add_tokens,
};
use crate::{
    AuditRecord, Episode, Error, ErrorKind, Mark, Note, Outcome, Record, Result, Session,
    StateSlot, Step, Turn, Workspace,
};

impl Decider {
    pub(super) fn restore(&mut self, record: &Record) -> Result<Done> {
        let record = match record {
            Record::Session(r) => Record::Session(self.restore_session(r)?),
            Record::Turn(r) => Record::Turn(self.restore_turn(r)?),
            Record::Step(r) => Record::Step(self.restore_step(r)?),
            Record::Episode(r) => Record::Episode(self.restore_episode(r)?),
            Record::Note(r) => Record::Note(self.restore_note(r)?),
            Record::State(r) => Record::State(self.restore_state(r)?),
            Record::Audit(r) => Record::Audit(self.restore_audit(r)?),
        };
        Ok((Outcome::Restored { record }, Mark::Restored))
    }

    /// Derived fields start from nothing: the turns and steps that follow add themselves. The next
    /// indexes never go back.
    fn restore_session(&mut self, session: &Session) -> Result<Session> {
        let bare = underived(session);
        let origin = Some(origin(&bare));
        let Some(there) = self.sessions.get(&session.id, &self.wide) else {
            let record = Session {
                next_turn: session.next_turn,
                next_step: session.next_step,
                last_active: session.last_active.max(session.started_at),
                ..bare
            };
            self.insert_session(Stored { record: record.clone(), origin });
            return Ok(record);
        };
        if there.origin != origin && underived(&there.record) != bare {
            return Err(other_body("session", session.id.as_str()));
        }
        if there.record.next_turn >= session.next_turn
            && there.record.next_step >= session.next_step
            && there.record.last_active >= session.last_active
        {
            return Ok(there.record.clone());
        }
        let there = self.session_mut(&session.id)?;
        there.next_turn = there.next_turn.max(session.next_turn);
        there.next_step = there.next_step.max(session.next_step);
        there.last_active = there.last_active.max(session.last_active);
        Ok(there.clone())
    }

    fn restore_turn(&mut self, turn: &Turn) -> Result<Turn> {
        let origin = Some(origin(turn));
        if let Some(there) = self.turns.get(&turn.id, &self.wide) {
            if there.origin != origin && there.record != *turn {
                return Err(other_body("turn", turn.id.as_str()));
            }
            return Ok(there.record.clone());
        }
        let taken = self.turn_slots.taken(&(turn.session.clone(), turn.index), &self.wide);
        let session = self.session_mut(&turn.session)?;
        add_tokens(session, turn.tokens)?;
        fits("turn", turn.id.as_str(), session, &turn.workspace, taken)?;
        self.insert_turn(Stored { record: turn.clone(), origin })?;
        Ok(turn.clone())
    }

    fn restore_step(&mut self, step: &Step) -> Result<Step> {
        if let Some(there) = self.steps.get(&step.id, &self.wide) {
            if there != step {
                return Err(other_body("step", step.id.as_str()));
            }
            return Ok(there.clone());
        }
        let taken = self.step_slots.taken(&(step.session.clone(), step.index), &self.wide);
        let session = self.session_mut(&step.session)?;
        fits("step", step.id.as_str(), session, &step.workspace, taken)?;
        self.insert_step(step.clone())?;
        Ok(step.clone())
    }

    fn restore_episode(&mut self, episode: &Episode) -> Result<Episode> {
        let mut episode = episode.clone();
        if !episode.open {
            episode.closed_at.get_or_insert(episode.created_at);
        }
        let origin = Some(origin(&episode));
        if let Some(there) = self.episodes.get(&episode.id, &self.wide) {
            if there.origin != origin && there.record != episode {
                return Err(other_body("episode", episode.id.as_str()));
            }
            return Ok(there.record.clone());
        }
        self.insert_episode(Stored { record: episode.clone(), origin });
        Ok(episode)
    }

    fn restore_note(&mut self, note: &Note) -> Result<Note> {
        if let Some(there) = self.notes.get(&note.id, &self.wide) {
            if there != note {
                return Err(other_body("note", note.id.as_str()));
            }
        } else {
            self.insert_note(note.clone());
        }
        Ok(note.clone())
    }

    fn restore_state(&mut self, slot: &StateSlot) -> Result<StateSlot> {
        if let Some(there) = self.states.get(&slot.state_key(), &self.wide) {
            if there != slot {
                let message = "there is another entry under this key";
                return Err(Error::new(ErrorKind::Conflict, message)
                    .with("workspace", &slot.workspace)
                    .with("key", &slot.key));
            }
        } else {
            self.insert_state(slot.clone());
        }
        Ok(slot.clone())
    }

    fn restore_audit(&mut self, record: &AuditRecord) -> Result<AuditRecord> {
        if let Some(there) = self.audits.get(&record.id, &self.wide) {
            if there != record {
                return Err(other_body("audit", record.id.as_str()));
            }
            return Ok(there.clone());
        }
        let head = self.head(&record.workspace);
        if record.seq != head.seq + 1 || record.hash != record.expected_hash(&head.hash) {
            let message = format!(
                "the audit record of seq {} is not the next of the chain, which ends at {}",
                record.seq, head.seq
            );
            return Err(Error::new(ErrorKind::Conflict, message)
                .with("audit", &record.id)
                .with("workspace", &record.workspace));
        }
        self.insert_audit(record.clone());
        Ok(record.clone())
    }
}

/// Whether a turn or step may be put into its session at its index.
fn fits(
    what: &'static str,
    id: &str,
    session: &Session,
    workspace: &Workspace,
    taken: bool,
) -> Result<()> {
    let message = if session.workspace != *workspace {
        "its session is of another workspace"
    } else if taken {
        "another has its index in the session"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Conflict, message).with(what, id).with("session", &session.id))
}

fn underived(session: &Session) -> Session {
    Session {
        next_turn: 0,
        next_step: 0,
        turn_count: 0,
        step_count: 0,
        total_tokens: 0,
        last_active: session.started_at,
        first_prompt: None,
        ..session.clone()
    }
}

use super::{
    Origin, Stored,
    decider::{Decider, Done, changed, other_body},
    turns::add_tokens,
};
use crate::{
    AuditRecord, Episode, Error, ErrorKind, Mark, Note, Outcome, Record, Result, Session,
    StateSlot, Step, Turn, Workspace,
};

impl Decider {
    pub(super) fn restore(&mut self, record: &Record, origin: Option<Origin>) -> Result<Done> {
        let there = match record {
            Record::Session(r) => self.restore_session(r, origin)?.map(Record::Session),
            Record::Turn(r) => self.restore_turn(r, origin)?.map(Record::Turn),
            Record::Step(r) => self.restore_step(r)?.map(Record::Step),
            Record::Episode(r) => self.restore_episode(r, origin)?.map(Record::Episode),
            Record::Note(r) => self.restore_note(r)?.map(Record::Note),
            Record::State(r) => self.restore_state(r)?.map(Record::State),
            Record::Audit(r) => self.restore_audit(r)?.map(Record::Audit),
        };
        Ok(match there {
            Some(record) => {
                let outcome = Outcome::Restored { record: record.clone(), created: false };
                changed(record.id(), outcome)
            }
            None => (Outcome::Restored { record: as_new(record), created: true }, Mark::Restored),
        })
    }

    /// Each answers with the record that was there already, or with nothing: then it is there now.
    /// Of a session that is there the next indexes never go back.
    fn restore_session(
        &mut self,
        session: &Session,
        origin: Option<Origin>,
    ) -> Result<Option<Session>> {
        let Some(there) = self.sessions.get(&session.id, &self.wide) else {
            self.insert_session(Stored { record: new_session(session), origin });
            return Ok(None);
        };
        if there.origin != origin && underived(&there.record) != underived(session) {
            return Err(other_body("session", session.id.as_str()));
        }
        if there.record.next_turn >= session.next_turn
            && there.record.next_step >= session.next_step
            && there.record.last_active >= session.last_active
        {
            return Ok(Some(there.record.clone()));
        }
        let there = self.session_mut(&session.id)?;
        there.next_turn = there.next_turn.max(session.next_turn);
        there.next_step = there.next_step.max(session.next_step);
        there.last_active = there.last_active.max(session.last_active);
        Ok(Some(there.clone()))
    }

    fn restore_turn(&mut self, turn: &Turn, origin: Option<Origin>) -> Result<Option<Turn>> {
        if let Some(there) = self.turns.get(&turn.id, &self.wide) {
            if there.origin != origin && there.record != *turn {
                return Err(other_body("turn", turn.id.as_str()));
            }
            return Ok(Some(there.record.clone()));
        }
        let taken = self.turn_slots.taken(&turn.session, turn.index, &self.wide);
        let session = self.session_mut(&turn.session)?;
        add_tokens(session, turn.tokens)?;
        fits("turn", turn.id.as_str(), session, &turn.workspace, taken)?;
        self.insert_turn(Stored { record: turn.clone(), origin })?;
        Ok(None)
    }

    fn restore_step(&mut self, step: &Step) -> Result<Option<Step>> {
        if let Some(there) = self.steps.get(&step.id, &self.wide) {
            if there != step {
                return Err(other_body("step", step.id.as_str()));
            }
            return Ok(Some(there.clone()));
        }
        let taken = self.step_slots.taken(&step.session, step.index, &self.wide);
        let session = self.session_mut(&step.session)?;
        fits("step", step.id.as_str(), session, &step.workspace, taken)?;
        self.insert_step(step.clone())?;
        Ok(None)
    }

    fn restore_episode(
        &mut self,
        episode: &Episode,
        origin: Option<Origin>,
    ) -> Result<Option<Episode>> {
        let episode = new_episode(episode);
        if let Some(there) = self.episodes.get(&episode.id, &self.wide) {
            if there.origin != origin && there.record != episode {
                return Err(other_body("episode", episode.id.as_str()));
            }
            return Ok(Some(there.record.clone()));
        }
        self.insert_episode(Stored { record: episode, origin });
        Ok(None)
    }

    fn restore_note(&mut self, note: &Note) -> Result<Option<Note>> {
        if let Some(there) = self.notes.get(&note.id, &self.wide) {
            if there != note {
                return Err(other_body("note", note.id.as_str()));
            }
            return Ok(Some(there.clone()));
        }
        self.insert_note(note.clone());
        Ok(None)
    }

    fn restore_state(&mut self, slot: &StateSlot) -> Result<Option<StateSlot>> {
        if let Some(there) = self.states.get(&slot.state_key(), &self.wide) {
            if there != slot {
                let message = "there is another entry under this key";
                return Err(Error::new(ErrorKind::Conflict, message)
                    .with("workspace", &slot.workspace)
                    .with("key", &slot.key));
            }
            return Ok(Some(there.clone()));
        }
        self.insert_state(slot.clone());
        Ok(None)
    }

    fn restore_audit(&mut self, record: &AuditRecord) -> Result<Option<AuditRecord>> {
        if let Some(there) = self.audits.get(&record.id, &self.wide) {
            if there != record {
                return Err(other_body("audit", record.id.as_str()));
            }
            return Ok(Some(there.clone()));
        }
        let head = self.head(&record.workspace);
        let seq = record.seq;
        let message = if seq != head.seq + 1 {
            format!(
                "the audit record of seq {seq} is not the next of the chain, which ends at {}",
                head.seq
            )
        } else if record.hash != record.expected_hash(&head.hash) {
            format!(
                "the hash of the audit record of seq {seq} is not that of its content and the chain \
                 before it"
            )
        } else {
            self.insert_audit(record.clone());
            return Ok(None);
        };
        Err(Error::new(ErrorKind::Conflict, message)
            .with("audit", &record.id)
            .with("workspace", &record.workspace))
    }
}

/// `record` as it is stored when it is new.
pub(super) fn as_new(record: &Record) -> Record {
    match record {
        Record::Session(session) => Record::Session(new_session(session)),
        Record::Episode(episode) => Record::Episode(new_episode(episode)),
        other => other.clone(),
    }
}

/// Derived fields start from nothing: the turns and steps that follow add themselves.
fn new_session(session: &Session) -> Session {
    Session {
        next_turn: session.next_turn,
        next_step: session.next_step,
        last_active: session.last_active.max(session.started_at),
        ..underived(session)
    }
}

/// One that is closed was closed at some time: when it was met, if no other is known.
pub(super) fn new_episode(episode: &Episode) -> Episode {
    let mut episode = episode.clone();
    if !episode.open {
        episode.closed_at.get_or_insert(episode.created_at);
    }
    episode
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

pub(super) fn underived(session: &Session) -> Session {
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

//! What `Restore` does.

use memkeep_core::{
    AuditRecord, Episode, ErrorKind, Note, Outcome, Record, Session, StateSlot, Step, Turn,
};

use super::{
    memory::{Done, Memory},
    row::{Kept, Row, find, find_mut, origin},
};

impl Memory {
    pub(super) fn restore(&mut self, record: &Record) -> Result<Done, ErrorKind> {
        match record {
            Record::Session(session) => self.restore_session(session),
            Record::Turn(turn) => self.restore_turn(turn),
            Record::Step(step) => self.restore_step(step),
            Record::Episode(episode) => self.restore_episode(episode),
            Record::Note(note) => self.restore_note(note),
            Record::State(slot) => self.restore_state(slot),
            Record::Audit(audit) => self.restore_audit(audit),
        }
    }

    /// What a session's turns and steps make starts from nothing; the next indexes and the time of
    /// the last activity never go back.
    fn restore_session(&mut self, session: &Session) -> Result<Done, ErrorKind> {
        let bare = underived(session);
        let from = origin(&bare);
        let Some(row) = find(&self.sessions, &session.id) else {
            let record = Session {
                next_turn: session.next_turn,
                next_step: session.next_step,
                last_active: session.last_active.max(session.started_at),
                ..bare
            };
            let row = self.row(record.clone(), from);
            self.sessions.push(row);
            return Ok(once(record));
        };
        if row.origin != from && underived(&row.record) != bare {
            return Err(ErrorKind::Conflict);
        }
        let there = find_mut(&mut self.sessions, &session.id).ok_or(ErrorKind::NotFound)?;
        there.next_turn = there.next_turn.max(session.next_turn);
        there.next_step = there.next_step.max(session.next_step);
        there.last_active = there.last_active.max(session.last_active);
        Ok(now(there))
    }

    fn restore_turn(&mut self, turn: &Turn) -> Result<Done, ErrorKind> {
        if let Some(row) = find(&self.turns, &turn.id) {
            return found(row, turn);
        }
        let session = find(&self.sessions, &turn.session).ok_or(ErrorKind::NotFound)?;
        if session.record.total_tokens.checked_add(turn.tokens.unwrap_or(0)).is_none() {
            return Err(ErrorKind::InvalidArgument);
        }
        let there = |other: &Row<Turn>| {
            other.record.session == turn.session && other.record.index == turn.index
        };
        if session.record.workspace != turn.workspace || self.turns.iter().any(there) {
            return Err(ErrorKind::Conflict);
        }
        self.insert_turn(turn.clone(), origin(turn))?;
        Ok(once(turn.clone()))
    }

    fn restore_step(&mut self, step: &Step) -> Result<Done, ErrorKind> {
        if let Some(row) = find(&self.steps, &step.id) {
            return found(row, step);
        }
        let session = find(&self.sessions, &step.session).ok_or(ErrorKind::NotFound)?;
        let there = |other: &Row<Step>| {
            other.record.session == step.session && other.record.index == step.index
        };
        if session.record.workspace != step.workspace || self.steps.iter().any(there) {
            return Err(ErrorKind::Conflict);
        }
        self.insert_step(step.clone())?;
        Ok(once(step.clone()))
    }

    fn restore_episode(&mut self, episode: &Episode) -> Result<Done, ErrorKind> {
        let mut episode = episode.clone();
        if !episode.open && episode.closed_at.is_none() {
            episode.closed_at = Some(episode.created_at);
        }
        if let Some(row) = find(&self.episodes, &episode.id) {
            return found(row, &episode);
        }
        let row = self.row(episode.clone(), origin(&episode));
        self.episodes.push(row);
        Ok(once(episode))
    }

    fn restore_note(&mut self, note: &Note) -> Result<Done, ErrorKind> {
        if let Some(row) = find(&self.notes, &note.id) {
            return found(row, note);
        }
        let row = self.row(note.clone(), None);
        self.notes.push(row);
        Ok(once(note.clone()))
    }

    fn restore_state(&mut self, slot: &StateSlot) -> Result<Done, ErrorKind> {
        match self.slot(&slot.workspace, &slot.key) {
            Some(there) if there == slot => Ok(now(there)),
            Some(_) => Err(ErrorKind::Conflict),
            None => {
                let row = self.row(slot.clone(), None);
                self.states.push(row);
                Ok(once(slot.clone()))
            }
        }
    }

    fn restore_audit(&mut self, audit: &AuditRecord) -> Result<Done, ErrorKind> {
        if let Some(row) = find(&self.audits, &audit.id) {
            return found(row, audit);
        }
        let head = self.audit_head(&audit.workspace);
        if audit.seq != head.seq + 1 || audit.hash != audit.expected_hash(&head.hash) {
            return Err(ErrorKind::Conflict);
        }
        let row = self.row(audit.clone(), None);
        self.audits.push(row);
        Ok(once(audit.clone()))
    }
}

/// A record whose id is there: the same one, or one that was restored as it and has changed since.
fn found<T: Kept>(row: &Row<T>, restored: &T) -> Result<Done, ErrorKind> {
    if row.record == *restored || row.origin == origin(restored) {
        Ok(now(&row.record))
    } else {
        Err(ErrorKind::Conflict)
    }
}

fn once(record: impl Kept) -> Done {
    Done::Once(Outcome::Restored { record: record.record(), created: true })
}

fn now(record: &impl Kept) -> Done {
    Done::Now(Outcome::Restored { record: record.clone().record(), created: false })
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

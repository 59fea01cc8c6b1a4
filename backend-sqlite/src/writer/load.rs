use memkeep_core::{
    AuditRecord, Episode, Note, Result, Session, SessionId, Step, StepId, StoredReceipt, Turn,
    TurnId,
    decide::{Loaded, Needs, Stored},
    embedded::View,
};

use super::SqliteWriter;
use crate::rows::{Original, Table};

impl SqliteWriter {
    pub(super) fn load_rows(&mut self, needs: &Needs) -> Result<Loaded> {
        let mut loaded = Loaded::default();
        if let Some(key) = &needs.receipt {
            loaded.receipt = self.row::<StoredReceipt>(key)?;
        }
        for id in &needs.sessions {
            self.load_session(id, &mut loaded)?;
        }
        for id in &needs.turns {
            if let Some(turn) = self.stored::<Turn>(id.as_str())? {
                self.load_session(&turn.record.session, &mut loaded)?;
                loaded.turns.insert(id.clone(), turn);
            }
        }
        for id in &needs.steps {
            if let Some(step) = self.row::<Step>(id.as_str())? {
                loaded.steps.insert(id.clone(), step);
            }
        }
        for id in &needs.episodes {
            if let Some(episode) = self.stored::<Episode>(id.as_str())? {
                loaded.episodes.insert(id.clone(), episode);
            }
        }
        for id in &needs.notes {
            if let Some(note) = self.row::<Note>(id.as_str())? {
                loaded.notes.insert(id.clone(), note);
            }
        }
        for id in &needs.audits {
            if let Some(record) = self.row::<AuditRecord>(id.as_str())? {
                loaded.audits.insert(id.clone(), record);
            }
        }
        for key in &needs.states {
            if let Some(slot) = self.view.state(&key.workspace, &key.key)? {
                loaded.states.insert(key.clone(), slot);
            }
        }
        for workspace in &needs.audit_heads {
            loaded.audit_heads.insert(workspace.clone(), self.view.audit_head(workspace)?);
        }
        for (session, index) in &needs.turn_slots {
            if let Some(id) = self.slot::<Turn>(session, *index)? {
                loaded.turn_slots.insert((session.clone(), *index), TurnId::new(id));
            }
        }
        for (session, index) in &needs.step_slots {
            if let Some(id) = self.slot::<Step>(session, *index)? {
                loaded.step_slots.insert((session.clone(), *index), StepId::new(id));
            }
        }
        for workspace in &needs.workspaces {
            let counts = self.view.count_workspace(workspace)?;
            loaded.workspaces.insert(workspace.clone(), counts);
        }
        Ok(loaded)
    }

    fn load_session(&mut self, id: &SessionId, loaded: &mut Loaded) -> Result<()> {
        if loaded.sessions.contains_key(id) {
            return Ok(());
        }
        let found = self.view.find::<Session, _>(Session::BY_ID, [id.as_str()], |cells| {
            Ok((cells.pk()?, Session::stored(cells)?))
        })?;
        if let Some((pk, session)) = found {
            self.sessions.insert(id.clone(), pk);
            loaded.sessions.insert(id.clone(), session);
        }
        Ok(())
    }

    fn row<T: Table>(&self, id: &str) -> Result<Option<T>> {
        self.view.find::<T, T>(T::BY_ID, [id], T::decode)
    }

    fn stored<T: Original>(&self, id: &str) -> Result<Option<Stored<T>>> {
        self.view.find::<T, _>(T::BY_ID, [id], T::stored)
    }

    /// The id of what has an index in a session.
    fn slot<T: Table>(&self, session: &SessionId, index: u64) -> Result<Option<String>> {
        let Ok(index) = i64::try_from(index) else { return Ok(None) };
        let table = T::TABLE;
        let sql = format!(
            "SELECT id FROM {table} WHERE position = ? \
             AND session = (SELECT pk FROM sessions WHERE id = ?)"
        );
        self.view.value(&sql, rusqlite::params![index, session.as_str()])
    }
}

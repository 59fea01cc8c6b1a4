use std::collections::HashMap;

use crate::{
    Session, SessionId,
    decide::{Change, Needs, Stored},
};

/// The sessions as the open transaction has put them: those who record into one session at once need
/// its row again and again.
#[derive(Default)]
pub(super) struct Recent(HashMap<SessionId, Stored<Session>>);

impl Recent {
    /// Takes what is known out of what is needed.
    pub(super) fn take_known(&self, needs: &mut Needs) -> Vec<(SessionId, Stored<Session>)> {
        let mut known = Vec::new();
        needs.sessions.retain(|id| match self.0.get(id) {
            Some(session) => {
                known.push((id.clone(), session.clone()));
                false
            }
            None => true,
        });
        known
    }

    /// Takes note of a change that was applied.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::PutSession(put) => {
                self.0.insert(put.row.record.id.clone(), put.row.clone());
            }
            Change::DeleteSession(id) => drop(self.0.remove(id)),
            Change::DeleteWorkspace(_) => self.0.clear(),
            _ => {}
        }
    }
}

use std::collections::BTreeMap;

use crate::{
    Session, SessionId,
    decide::{Change, Loaded, Needs, Put, Stored},
};

/// The sessions that the open transaction has put. Those who record into one session at once change its
/// row again and again: it is kept here, and the last form alone is written.
#[derive(Default)]
pub(super) struct Recent(BTreeMap<SessionId, Known>);

struct Known {
    row: Stored<Session>,
    /// Whether the form is still to be written.
    is_held: bool,
}

impl Recent {
    /// Takes what is known out of what is to be loaded. The sessions of turns are loaded with them all the
    /// same, in the form that is in the store.
    pub(super) fn take_known(&self, needs: &mut Needs) -> Vec<SessionId> {
        let mut known = Vec::new();
        needs.sessions.retain(|id| {
            let is_known = self.0.contains_key(id);
            known.extend(is_known.then(|| id.clone()));
            !is_known
        });
        known
    }

    /// Adds the `known`, and puts the last form in the place of older ones.
    pub(super) fn complete(&self, loaded: &mut Loaded, known: Vec<SessionId>) {
        let with_turns: Vec<SessionId> = loaded.sessions.keys().cloned().collect();
        for id in known.into_iter().chain(with_turns) {
            if let Some(Known { row, .. }) = self.0.get(&id) {
                loaded.sessions.insert(id, row.clone());
            }
        }
    }

    /// Takes note of the changes of a batch. Returns those that are to be applied now: all, if it is the
    /// last of its transaction.
    pub(super) fn hold_back(&mut self, changes: Vec<Change>, is_last: bool) -> Vec<Change> {
        let mut rest = Vec::with_capacity(changes.len());
        for change in changes {
            match change {
                Change::PutSession(Put { row, new: false }) if !is_last => {
                    self.0.insert(row.record.id.clone(), Known { row, is_held: true });
                    continue;
                }
                Change::PutSession(Put { ref row, .. }) => {
                    let known = Known { row: row.clone(), is_held: false };
                    self.0.insert(row.record.id.clone(), known);
                }
                Change::DeleteSession(ref id) => drop(self.0.remove(id)),
                Change::DeleteWorkspace(ref workspace) => {
                    self.0.retain(|_, known| known.row.record.workspace != *workspace);
                }
                _ => {}
            }
            rest.push(change);
        }
        rest
    }

    /// What was held back.
    pub(super) fn into_held(self) -> Vec<Change> {
        let held = self.0.into_values().filter(|known| known.is_held);
        held.map(|Known { row, .. }| Change::PutSession(Put { row, new: false })).collect()
    }
}

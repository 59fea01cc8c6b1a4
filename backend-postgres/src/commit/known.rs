use std::collections::{BTreeSet, HashMap};

use memkeep_core::{
    SessionId, StoredReceipt,
    decide::{Change, Loaded, Needs},
};

/// The rows that a group of batches needs, as its batches so far have left them.
#[derive(Default)]
pub(super) struct Known {
    /// All of them but receipts.
    pub(super) rows: Loaded,
    pub(super) receipts: HashMap<String, StoredReceipt>,
}

impl Known {
    /// The rows that one batch needs.
    pub(super) fn of(&self, needs: &Needs) -> Loaded {
        fn pick<'i, K: std::hash::Hash + Eq + Clone + 'i, V: Clone>(
            needed: impl IntoIterator<Item = &'i K>,
            there: &HashMap<K, V>,
        ) -> HashMap<K, V> {
            let found = needed.into_iter().filter_map(|id| Some((id, there.get(id)?)));
            found.map(|(id, row)| (id.clone(), row.clone())).collect()
        }
        let rows = &self.rows;
        let turns = pick(&needs.turns, &rows.turns);
        // The session of each turn that is named is needed too.
        let mut sessions: BTreeSet<&SessionId> = needs.sessions.iter().collect();
        sessions.extend(turns.values().map(|turn| &turn.record.session));
        Loaded {
            receipt: needs.receipt.as_ref().and_then(|key| self.receipts.get(key)).cloned(),
            sessions: pick(sessions, &rows.sessions),
            steps: pick(&needs.steps, &rows.steps),
            episodes: pick(&needs.episodes, &rows.episodes),
            notes: pick(&needs.notes, &rows.notes),
            states: pick(&needs.states, &rows.states),
            audits: pick(&needs.audits, &rows.audits),
            audit_heads: pick(&needs.audit_heads, &rows.audit_heads),
            turn_slots: pick(&needs.turn_slots, &rows.turn_slots),
            step_slots: pick(&needs.step_slots, &rows.step_slots),
            workspaces: pick(&needs.workspaces, &rows.workspaces),
            turns,
        }
    }

    /// Notes what a batch changes. One that forgets a workspace has no other after it.
    pub(super) fn change(&mut self, change: &Change) {
        let rows = &mut self.rows;
        match change {
            Change::DeleteWorkspace(_) => {}
            Change::DeleteSession(id) => {
                rows.sessions.remove(id);
                rows.turns.retain(|_, turn| turn.record.session != *id);
                rows.steps.retain(|_, step| step.session != *id);
                rows.turn_slots.retain(|(session, _), _| session != id);
                rows.step_slots.retain(|(session, _), _| session != id);
            }
            Change::DeleteTurn(id) => {
                rows.turns.remove(id);
                rows.turn_slots.retain(|_, turn| turn != id);
            }
            Change::DeleteEpisode(id) => drop(rows.episodes.remove(id)),
            Change::DeleteNote(id) => drop(rows.notes.remove(id)),
            Change::DeleteReceipts(before) => self.receipts.retain(|_, row| row.at >= *before),
            Change::PutSession(put) => {
                rows.sessions.insert(put.row.record.id.clone(), put.row.clone());
            }
            Change::PutTurn(put) => {
                let turn = &put.row.record;
                rows.turn_slots.insert((turn.session.clone(), turn.index), turn.id.clone());
                rows.turns.insert(turn.id.clone(), put.row.clone());
            }
            Change::PutStep(step) => {
                rows.step_slots.insert((step.session.clone(), step.index), step.id.clone());
                rows.steps.insert(step.id.clone(), step.clone());
            }
            Change::PutEpisode(put) => {
                rows.episodes.insert(put.row.record.id.clone(), put.row.clone());
            }
            Change::PutNote(note) => drop(rows.notes.insert(note.id.clone(), note.clone())),
            Change::PutState(put) => {
                rows.states.insert(put.row.state_key(), put.row.clone());
            }
            Change::PutAudit(record) => {
                rows.audit_heads.insert(record.workspace.clone(), record.head());
                rows.audits.insert(record.id.clone(), record.clone());
            }
            Change::PutReceipt(receipt) => {
                self.receipts.insert(receipt.key.clone(), receipt.clone());
            }
        }
    }
}

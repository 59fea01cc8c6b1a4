use super::{
    build,
    decider::{Decider, Done, changed, deleted, other_body},
    replay::expires_at,
};
use crate::{
    AuditHead, AuditId, AuditRecord, Counts, DeleteState, Deleted, Error, ErrorKind, Expected,
    Mark, NewAudit, Outcome, PutState, RecordKind, Result, StateEntry, StateKey, StateSlot,
    Workspace,
};

const ONE_STATE: Counts = Counts::one(RecordKind::State);

impl Decider {
    pub(super) fn put_state(&mut self, put: &PutState) -> Result<Done> {
        let key = state_key(put.workspace.as_ref(), &put.key);
        let slot = self.states.get(&key, &self.wide);
        let live = slot.filter(|slot| slot.is_live(self.now));
        let last = slot.map_or(0, |slot| slot.version);
        if last >= i64::MAX as u64 {
            return Err(Error::invalid("version", "the key's versions are used up"));
        }
        expect(put.expected.unwrap_or_default(), live, &key)?;
        let expires_at = expires_at(put, self.now);
        let entry = StateEntry {
            workspace: key.workspace.clone(),
            key: key.key.clone(),
            value: put.value.clone(),
            version: last + 1,
            created_at: live.map_or(self.now, |slot| slot.created_at),
            updated_at: self.now,
            expires_at,
        };
        let fresh = slot.is_none_or(|slot| slot.value.is_none());
        if fresh {
            self.added(&key.workspace, ONE_STATE);
        }
        self.states.put(key, slot_of(&entry), &self.wide, self.at);
        let mark = Mark::Created {
            id: entry.key.clone(),
            workspace: entry.workspace.clone(),
            index: entry.version,
            created_at: entry.created_at,
            hash: None,
        };
        Ok((Outcome::State(entry), mark))
    }

    pub(super) fn delete_state(&mut self, delete: &DeleteState) -> Result<Done> {
        let key = state_key(delete.workspace.as_ref(), &delete.key);
        let slot = self.states.get(&key, &self.wide);
        let live = slot.filter(|slot| slot.is_live(self.now));
        expect(delete.expected.unwrap_or_default(), live, &key)?;
        let existed = live.is_some();
        let is_meant = |slot: &&StateSlot| {
            let expired = |before| !existed && slot.expires_at.is_some_and(|at| at < before);
            slot.value.is_some() && delete.expired_before.is_none_or(expired)
        };
        let Some(slot) = slot.filter(is_meant) else {
            return Ok(deleted(Deleted::default()));
        };
        let bare =
            StateSlot { value: None, expires_at: None, updated_at: self.now, ..slot.clone() };
        self.removed(&key.workspace, ONE_STATE);
        self.states.put(key, bare, &self.wide, self.at);
        Ok(deleted(Deleted { existed, counts: ONE_STATE }))
    }

    pub(super) fn append_audit(&mut self, new: &NewAudit, generated: bool) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(AuditId::generate);
        if let Some(there) = self.audits.get(&id, &self.wide) {
            if generated || !build::made_audit(new, there) {
                return Err(other_body("audit", id.as_str()));
            }
            return Ok(changed(id, Outcome::Audit(there.clone())));
        }
        let workspace = new.workspace.clone().unwrap_or_default();
        let head = self.head(&workspace);
        if head.seq >= i64::MAX as u64 {
            return Err(Error::invalid("seq", "the chain's numbers are used up"));
        }
        let given = build::Given {
            id,
            workspace,
            created_at: new.created_at.unwrap_or(self.now),
            index: head.seq + 1,
        };
        let mut record = build::audit(new, given);
        record.hash = record.expected_hash(&head.hash);
        self.insert_audit(record.clone());
        let mark = Mark::Created {
            id: record.id.as_str().to_owned(),
            workspace: record.workspace.clone(),
            index: record.seq,
            created_at: record.created_at,
            hash: Some(record.hash),
        };
        Ok((Outcome::Audit(record), mark))
    }

    pub(super) fn head(&self, workspace: &Workspace) -> AuditHead {
        let head = self.heads.get(workspace).cloned();
        head.unwrap_or_else(|| AuditHead::empty(workspace.clone()))
    }

    pub(super) fn insert_audit(&mut self, record: AuditRecord) {
        self.added(&record.workspace, Counts::one(RecordKind::Audit));
        self.heads.insert(record.workspace.clone(), record.head());
        self.audits.set(record.id.clone(), record, self.at);
    }

    pub(super) fn insert_state(&mut self, slot: StateSlot) {
        if slot.value.is_some() {
            self.added(&slot.workspace, ONE_STATE);
        }
        self.states.set(slot.state_key(), slot, self.at);
    }
}

fn state_key(workspace: Option<&Workspace>, key: &str) -> StateKey {
    StateKey { workspace: workspace.cloned().unwrap_or_default(), key: key.to_owned() }
}

fn slot_of(entry: &StateEntry) -> StateSlot {
    StateSlot {
        workspace: entry.workspace.clone(),
        key: entry.key.clone(),
        value: Some(entry.value.clone()),
        version: entry.version,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        expires_at: entry.expires_at,
    }
}

fn expect(expected: Expected, live: Option<&StateSlot>, key: &StateKey) -> Result<()> {
    let message = match (expected, live) {
        (Expected::Any, _) | (Expected::Absent, None) => return Ok(()),
        (Expected::Version(version), Some(slot)) if slot.version == version => return Ok(()),
        (Expected::Absent, Some(slot)) => format!("there is an entry of version {}", slot.version),
        (Expected::Version(version), Some(slot)) => {
            format!("version {version} was expected, but it is {}", slot.version)
        }
        (Expected::Version(version), None) => {
            format!("version {version} was expected, but there is no entry")
        }
    };
    Err(Error::new(ErrorKind::Conflict, message)
        .with("workspace", &key.workspace)
        .with("key", &key.key))
}

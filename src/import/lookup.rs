use std::collections::HashMap;

use crate::{
    AuditId, ListAudit, MemoryBackend, Position, Record, RecordKind, Result, Scan, Scope,
    StateEntry, StateSlot, Workspace,
};

/// How many records are read at a time.
const PAGE: usize = 1_000;

/// Finds what a store has under a record's id.
pub(super) struct Lookup<'s> {
    store: &'s dyn MemoryBackend,
    /// Where in their chains audit records are, by workspace: there is no read by id.
    chains: HashMap<Workspace, HashMap<AuditId, u64>>,
    /// What is left of state entries that no read shows, by workspace and key.
    hidden: HashMap<Workspace, HashMap<String, StateSlot>>,
}

impl<'s> Lookup<'s> {
    pub(super) fn new(store: &'s dyn MemoryBackend) -> Self {
        Self { store, chains: HashMap::new(), hidden: HashMap::new() }
    }

    /// The record that the store has under the id or key of `record`.
    pub(super) async fn find(&mut self, record: &Record) -> Result<Option<Record>> {
        let (store, all) = (self.store, &Scope::All);
        Ok(match record {
            Record::Session(r) => store.session(all, &r.id).await?.map(Record::Session),
            Record::Turn(r) => store.turn(all, &r.id).await?.map(Record::Turn),
            Record::Step(r) => store.step(all, &r.id).await?.map(Record::Step),
            Record::Episode(r) => store.episode(all, &r.id).await?.map(Record::Episode),
            Record::Note(r) => store.note(all, &r.id).await?.map(Record::Note),
            Record::State(r) => match store.state(&r.workspace, &r.key).await? {
                Some(entry) => Some(Record::State(slot(entry))),
                None => self.hidden(r).await?.map(Record::State),
            },
            Record::Audit(r) => self.audit(&r.workspace, &r.id).await?,
        })
    }

    /// Looks at the store anew: this import has added to it.
    pub(super) fn refresh(&mut self) {
        self.chains.clear();
        self.hidden.clear();
    }

    /// The slot of a state entry that was deleted or has expired.
    async fn hidden(&mut self, slot: &StateSlot) -> Result<Option<StateSlot>> {
        if !self.hidden.contains_key(&slot.workspace) {
            let mut hidden = HashMap::new();
            let scope = Scope::from(&slot.workspace);
            let mut scan = Scan::new(RecordKind::State).scope(scope).limit(PAGE);
            loop {
                let page = self.store.scan(&scan).await?;
                hidden.extend(page.items.into_iter().filter_map(|record| match record {
                    Record::State(slot) if slot.value.is_none() || slot.expires_at.is_some() => {
                        Some((slot.key.clone(), slot))
                    }
                    _ => None,
                }));
                match page.next {
                    None => break,
                    next => scan.after = next,
                }
            }
            self.hidden.insert(slot.workspace.clone(), hidden);
        }
        Ok(self.hidden.get(&slot.workspace).and_then(|slots| slots.get(&slot.key)).cloned())
    }

    async fn audit(&mut self, workspace: &Workspace, id: &AuditId) -> Result<Option<Record>> {
        if !self.chains.contains_key(workspace) {
            let chain = self.chain(workspace).await?;
            self.chains.insert(workspace.clone(), chain);
        }
        let Some(seq) = self.chains.get(workspace).and_then(|chain| chain.get(id)) else {
            return Ok(None);
        };
        let list = ListAudit::new().scope(workspace).limit(1_usize);
        let after = list.window()?.cursor(Position::Index(seq.saturating_sub(1)));
        let list = list.after(after);
        Ok(self.store.audit_log(&list).await?.items.pop().map(Record::Audit))
    }

    async fn chain(&self, workspace: &Workspace) -> Result<HashMap<AuditId, u64>> {
        let mut chain = HashMap::new();
        let mut list = ListAudit::new().scope(workspace).limit(PAGE);
        loop {
            let page = self.store.audit_log(&list).await?;
            chain.extend(page.items.into_iter().map(|record| (record.id, record.seq)));
            match page.next {
                None => return Ok(chain),
                next => list.after = next,
            }
        }
    }
}

fn slot(entry: StateEntry) -> StateSlot {
    StateSlot {
        workspace: entry.workspace,
        key: entry.key,
        value: Some(entry.value),
        version: entry.version,
        created_at: entry.created_at,
        updated_at: entry.updated_at,
        expires_at: entry.expires_at,
    }
}

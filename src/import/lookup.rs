use std::collections::HashMap;

use crate::{
    AuditId, Cursor, ListAudit, MemoryBackend, Position, Record, Result, Scope, StateEntry,
    StateSlot, Workspace,
};

/// How many audit records are read at a time.
const PAGE: usize = 1_000;

/// Finds what a store has under a record's id.
pub(super) struct Lookup<'s> {
    store: &'s dyn MemoryBackend,
    /// Where in their chains audit records are, by workspace: there is no read by id.
    chains: HashMap<Workspace, HashMap<AuditId, u64>>,
}

impl<'s> Lookup<'s> {
    pub(super) fn new(store: &'s dyn MemoryBackend) -> Self {
        Self { store, chains: HashMap::new() }
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
            Record::State(r) => {
                let entry = store.state(&r.workspace, &r.key).await?;
                entry.map(|entry| Record::State(slot(entry)))
            }
            Record::Audit(r) => self.audit(&r.workspace, &r.id).await?,
        })
    }

    /// Reads chains anew: this import has added to them.
    pub(super) fn refresh(&mut self) {
        self.chains.clear();
    }

    async fn audit(&mut self, workspace: &Workspace, id: &AuditId) -> Result<Option<Record>> {
        if !self.chains.contains_key(workspace) {
            let chain = self.chain(workspace).await?;
            self.chains.insert(workspace.clone(), chain);
        }
        let Some(seq) = self.chains.get(workspace).and_then(|chain| chain.get(id)) else {
            return Ok(None);
        };
        let after = Cursor::new(Position::Index(seq.saturating_sub(1)));
        let list = ListAudit::new().scope(workspace).limit(1_usize).after(after);
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

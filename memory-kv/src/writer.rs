use std::{collections::HashMap, ops::Range, path::Path, sync::Arc};

use memkeep_core::{
    Error, ErrorKind, RecordKind, Result, Step, Turn,
    decide::{Change, Loaded, Needs, Stored},
    embedded::{View, Writer},
    recall::index::BlobsMut,
    verify::Problem,
};

use crate::{
    OrderedEngine, Snapshot, Transaction, Visit,
    apply::Applier,
    blobs::IndexBlobs,
    check,
    key::{self, Table},
    records::Records,
    rows::{Row, place},
    view::KvView,
};

/// The [`Writer`] of an [`OrderedEngine`].
pub struct KvWriter<E: OrderedEngine>(KvView<E, Current<E>>);

/// What the writer sees: its transaction while one is open, else the last commit.
struct Current<E: OrderedEngine> {
    engine: Arc<E>,
    transaction: Option<E::Transaction>,
}

impl<E: OrderedEngine> Current<E> {
    fn transaction(&mut self) -> Result<&mut E::Transaction> {
        self.transaction.as_mut().ok_or_else(none_open)
    }
}

fn none_open() -> Error {
    Error::new(ErrorKind::Unexpected, "no transaction is open")
}

impl<E: OrderedEngine> Snapshot for Current<E> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        match &self.transaction {
            Some(transaction) => transaction.get(key),
            None => self.engine.snapshot()?.get(key),
        }
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        match &self.transaction {
            Some(transaction) => transaction.scan(range, reverse, visit),
            None => self.engine.snapshot()?.scan(range, reverse, visit),
        }
    }
}

impl<E: OrderedEngine> KvWriter<E> {
    pub(crate) fn new(engine: Arc<E>) -> Self {
        let keys = Current { engine: engine.clone(), transaction: None };
        Self(KvView { engine, keys })
    }
}

impl<E: OrderedEngine> Writer for KvWriter<E> {
    fn begin(&mut self) -> Result<()> {
        // Dropping an open one takes its writes back before the next begins.
        self.0.keys.transaction = None;
        self.0.keys.transaction = Some(self.0.engine.begin()?);
        Ok(())
    }

    fn load(&mut self, needs: &Needs) -> Result<Loaded> {
        load(&self.0.keys, needs)
    }

    fn apply(&mut self, changes: &[Change]) -> Result<()> {
        let mut applier = Applier::new(self.0.keys.transaction()?);
        changes.iter().try_for_each(|change| applier.apply(change))?;
        applier.finish()
    }

    fn commit(&mut self) -> Result<()> {
        self.0.keys.transaction.take().ok_or_else(none_open)?.commit()
    }

    fn rollback(&mut self) {
        self.0.keys.transaction = None;
    }

    fn view(&mut self) -> &mut dyn View {
        &mut self.0
    }

    fn index(&mut self, kind: RecordKind) -> Option<Box<dyn BlobsMut + '_>> {
        let keys = self.0.keys.transaction.as_mut()?;
        Some(Box::new(IndexBlobs { keys, kind }))
    }

    fn rebuild(&mut self) -> Result<()> {
        let transaction = self.0.keys.transaction()?;
        let mut repairs = Vec::new();
        check::compare(transaction, &mut |difference| {
            repairs.extend(difference.repair);
            Ok(())
        })?;
        for (key, value) in repairs {
            match value {
                Some(value) => transaction.put(&key, &value)?,
                None => transaction.delete(&key)?,
            }
        }
        Ok(())
    }

    fn inspect(&mut self) -> Result<Vec<Problem>> {
        self.0.engine.inspect()
    }

    fn compact(&mut self) -> Result<()> {
        self.0.engine.compact()
    }

    fn backup(&mut self, path: &Path) -> Result<()> {
        self.0.engine.backup(path)
    }
}

fn load<S: Snapshot>(keys: &S, needs: &Needs) -> Result<Loaded> {
    let mut loaded = Loaded::default();
    if let Some(key) = &needs.receipt {
        loaded.receipt = keys.receipt(key)?;
    }
    load_rows(keys, &needs.turns, &mut loaded.turns)?;
    let of_turns = loaded.turns.values().map(|turn| &turn.record.session);
    load_rows(keys, needs.sessions.iter().chain(of_turns), &mut loaded.sessions)?;
    load_rows(keys, &needs.steps, &mut loaded.steps)?;
    load_rows(keys, &needs.episodes, &mut loaded.episodes)?;
    load_rows(keys, &needs.notes, &mut loaded.notes)?;
    load_rows(keys, &needs.audits, &mut loaded.audits)?;
    for key in &needs.states {
        let id_key = key::state(key.workspace.as_str(), &key.key);
        if let Some((_, slot)) = keys.row_of(&id_key, &key.key)? {
            loaded.states.insert(key.clone(), slot);
        }
    }
    for workspace in &needs.audit_heads {
        if let Some(head) = keys.head(workspace)? {
            loaded.audit_heads.insert(workspace.clone(), head);
        }
    }
    for slot in &needs.turn_slots {
        if let Some(turn) = occupant::<_, Stored<Turn>>(keys, slot.0.as_str(), slot.1)? {
            loaded.turn_slots.insert(slot.clone(), turn.record.id);
        }
    }
    for slot in &needs.step_slots {
        if let Some(step) = occupant::<_, Step>(keys, slot.0.as_str(), slot.1)? {
            loaded.step_slots.insert(slot.clone(), step.id);
        }
    }
    for workspace in &needs.workspaces {
        loaded.workspaces.insert(workspace.clone(), keys.counts(workspace)?);
    }
    Ok(loaded)
}

fn load_rows<'n, S, Id, T>(
    keys: &S,
    ids: impl IntoIterator<Item = &'n Id>,
    rows: &mut HashMap<Id, T>,
) -> Result<()>
where
    S: Snapshot,
    Id: AsRef<str> + Clone + Eq + std::hash::Hash + 'n,
    T: Row,
{
    for id in ids {
        if !rows.contains_key(id)
            && let Some((_, row)) = keys.row_by_id(id.as_ref())?
        {
            rows.insert(id.clone(), row);
        }
    }
    Ok(())
}

/// The record that has an index in a session.
fn occupant<S: Snapshot, T: Row>(keys: &S, session: &str, index: u64) -> Result<Option<T>> {
    let key = place(Table::Place, T::KIND, session, index);
    let value = keys.get(&key)?;
    value.map(|value| keys.row_at(&key, &value).map(|(_, row)| row)).transpose()
}

use std::collections::{HashMap, hash_map::Entry};

use memkeep_core::{
    Counts, Episode, Error, ErrorKind, Note, RecordKind, Result, Session, SessionId, StoredReceipt,
    Timestamp, Turn, Workspace,
    decide::{Change, Put, Stored},
};

use crate::{
    Transaction,
    key::{self, Key, Keys, Table},
    records::{Records, counter_key, counter_value, counts_key, counts_value},
    rows::{Row, by_kind, receipt_keys, receipt_value},
};

/// Applies the changes of a batch. Counters and counts are written once, at its end.
pub(crate) struct Applier<'t, T> {
    keys: &'t mut T,
    last_numbers: HashMap<RecordKind, (Vec<u8>, u64)>,
    counts: HashMap<Workspace, Counts>,
}

impl<'t, T: Transaction> Applier<'t, T> {
    pub(crate) fn new(keys: &'t mut T) -> Self {
        Self { keys, last_numbers: HashMap::new(), counts: HashMap::new() }
    }

    pub(crate) fn apply(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::DeleteWorkspace(workspace) => self.delete_workspace(workspace),
            Change::DeleteSession(id) => self.delete_session(id),
            Change::DeleteTurn(id) => self.delete::<Stored<Turn>>(id.as_str()),
            Change::DeleteEpisode(id) => self.delete::<Stored<Episode>>(id.as_str()),
            Change::DeleteNote(id) => self.delete::<Note>(id.as_str()),
            Change::DeleteReceipts(before) => self.delete_receipts(*before),
            Change::PutSession(put) => self.put(put),
            Change::PutTurn(put) => self.put(put),
            Change::PutStep(step) => self.insert(step),
            Change::PutEpisode(put) => self.put(put),
            Change::PutNote(note) => self.insert(note),
            Change::PutState(put) => self.put(put),
            Change::PutAudit(record) => self.insert(record),
            Change::PutReceipt(receipt) => self.put_receipt(receipt),
        }
    }

    pub(crate) fn finish(self) -> Result<()> {
        for (key, last) in self.last_numbers.into_values() {
            self.keys.put(&key, &counter_value(&key, last)?)?;
        }
        for (workspace, counts) in self.counts {
            let key = counts_key(&workspace);
            if counts.total() == 0 {
                self.keys.delete(&key)?;
            } else {
                self.keys.put(&key, &counts_value(&key, &counts)?)?;
            }
        }
        Ok(())
    }

    fn counts(&mut self, workspace: &Workspace) -> Result<&mut Counts> {
        Ok(match self.counts.entry(workspace.clone()) {
            Entry::Occupied(counts) => counts.into_mut(),
            Entry::Vacant(place) => place.insert(self.keys.counts(workspace)?),
        })
    }

    fn next_number<R: Row>(&mut self) -> Result<u64> {
        let (_, last) = match self.last_numbers.entry(R::KIND) {
            Entry::Occupied(counter) => counter.into_mut(),
            Entry::Vacant(place) => {
                place.insert((counter_key::<R>(), self.keys.last_number::<R>()?))
            }
        };
        *last += 1;
        Ok(*last)
    }

    fn put<R: Row>(&mut self, put: &Put<R>) -> Result<()> {
        if put.new { self.insert(&put.row) } else { self.replace(&put.row) }
    }

    fn insert<R: Row>(&mut self, row: &R) -> Result<()> {
        let number = self.next_number::<R>()?;
        self.keys.put(&key::record(R::KIND, number), &row.value(number)?)?;
        for (key, value) in row.secondary(number) {
            self.keys.put(&key, &value)?;
        }
        *self.counts(row.workspace())? += row.counts();
        Ok(())
    }

    fn replace<R: Row>(&mut self, row: &R) -> Result<()> {
        let (number, old) = self.keys.row_of::<R>(&row.id_key(), row.name())?.ok_or_else(|| {
            Error::corrupt(R::KIND.as_str(), row.name(), "the record is not there any more")
        })?;
        self.keys.put(&key::record(R::KIND, number), &row.value(number)?)?;
        let (before, after) = (old.secondary(number), row.secondary(number));
        for (key, _) in before.iter().filter(|pair| !after.contains(pair)) {
            self.keys.delete(key)?;
        }
        for (key, value) in after.iter().filter(|pair| !before.contains(pair)) {
            self.keys.put(key, value)?;
        }
        let counts = self.counts(row.workspace())?;
        *counts -= old.counts();
        *counts += row.counts();
        Ok(())
    }

    fn delete<R: Row>(&mut self, id: &str) -> Result<()> {
        match self.keys.row_by_id::<R>(id)? {
            Some((number, row)) => self.remove(number, &row),
            None => Ok(()),
        }
    }

    fn remove<R: Row>(&mut self, number: u64, row: &R) -> Result<()> {
        self.keys.delete(&key::record(R::KIND, number))?;
        for (key, _) in row.secondary(number) {
            self.keys.delete(&key)?;
        }
        *self.counts(row.workspace())? -= row.counts();
        Ok(())
    }

    /// Removes the records that go with a session or a workspace: those of a kind that the keys
    /// under `prefix` lead to. One that cannot be read goes too, with all keys that lead to it. A key
    /// that leads to a stranger goes alone.
    fn remove_members<R: Row>(&mut self, prefix: Key, workspace: &Workspace) -> Result<()> {
        let mut members = Vec::new();
        self.keys.walk(prefix.all(), false, |key, value| {
            members.push((key.to_vec(), key::target(key, value)?.1));
            Ok(true)
        })?;
        for (key, number) in members {
            match self.keys.row::<R>(number) {
                Ok(row) if row.makes(number, &key) => self.remove(number, &row)?,
                Ok(_) => self.keys.delete(&key)?,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.remove_unreadable::<R>(number)?;
                    *self.counts(workspace)? -= Counts::one(R::KIND);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn remove_unreadable<R: Row>(&mut self, number: u64) -> Result<()> {
        let mut keys = vec![key::record(R::KIND, number)];
        self.keys.walk(Keys::secondary(), false, |key, value| {
            if key::target(key, value).is_ok_and(|target| target == (R::KIND, number)) {
                keys.push(key.to_vec());
            }
            Ok(true)
        })?;
        keys.iter().try_for_each(|key| self.keys.delete(key))
    }

    fn delete_session(&mut self, id: &SessionId) -> Result<()> {
        let Some((number, session)) = self.keys.row_by_id::<Stored<Session>>(id.as_str())? else {
            return Ok(());
        };
        for kind in [RecordKind::Turn, RecordKind::Step] {
            let places = Key::of(Table::Place).kind(kind).text(id.as_str());
            by_kind!(kind, Kept => self.remove_members::<Kept>(places, session.workspace()))?;
        }
        self.remove(number, &session)
    }

    fn delete_workspace(&mut self, workspace: &Workspace) -> Result<()> {
        for kind in RecordKind::ALL {
            let members = Key::of(Table::Member).kind(kind).text(workspace.as_str());
            by_kind!(kind, Kept => self.remove_members::<Kept>(members, workspace))?;
        }
        *self.counts(workspace)? = Counts::default();
        Ok(())
    }

    fn put_receipt(&mut self, receipt: &StoredReceipt) -> Result<()> {
        if let Some(old) = self.keys.receipt(&receipt.key)? {
            self.keys.delete(&receipt_keys(&old.key, old.at).1)?;
        }
        let (key, by_time) = receipt_keys(&receipt.key, receipt.at);
        self.keys.put(&key, &receipt_value(&key, receipt)?)?;
        self.keys.put(&by_time, &[])
    }

    fn delete_receipts(&mut self, before: Timestamp) -> Result<()> {
        let table = Key::of(Table::ReceiptTime);
        let older = table.clone().all().before(table.time(before).into_bytes());
        let mut keys = Vec::new();
        self.keys.walk(older, false, |key, _| {
            keys.push(key.to_vec());
            Ok(true)
        })?;
        for by_time in keys {
            // The idempotency key follows the table's byte and the time.
            let key = by_time.get(9..).unwrap_or_default();
            self.keys.delete(&Key::of(Table::Receipt).bytes(key).into_bytes())?;
            self.keys.delete(&by_time)?;
        }
        Ok(())
    }
}

use memkeep_core::{
    AuditHead, Counts, Error, Hash, Page, Position, Record, Result, Scope, StoredReceipt, Window,
    Workspace,
};
use serde::{Deserialize, Serialize};

use crate::{
    Snapshot, codec,
    key::{self, Key, Keys, Table},
    rows::{Row, read_receipt, receipt_keys},
};

/// How much is read ahead of the caller: pairs at first and at most, and bytes.
const FIRST_CHUNK: usize = 32;
const CHUNK: usize = 1_024;
const CHUNK_BYTES: usize = 1 << 20;

/// Reads in terms of the key layout.
pub(crate) trait Records: Snapshot {
    /// Calls `f` with the pairs in `keys`, in order or against it, until it returns false. Between
    /// reads of the engine, so that `f` may read too.
    fn walk(
        &self,
        mut keys: Keys,
        reverse: bool,
        mut f: impl FnMut(&[u8], &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let mut size = FIRST_CHUNK;
        while !keys.is_empty() {
            let (mut chunk, mut bytes, mut more) = (Vec::new(), 0, false);
            self.scan(keys.as_range(), reverse, &mut |key, value| {
                chunk.push((key.to_vec(), value.to_vec()));
                bytes += key.len() + value.len();
                more = chunk.len() == size || bytes >= CHUNK_BYTES;
                Ok(!more)
            })?;
            for (key, value) in &chunk {
                if !f(key, value)? {
                    return Ok(());
                }
            }
            match chunk.pop() {
                Some((last, _)) if more && reverse => keys = keys.before(last),
                Some((last, _)) if more => keys = keys.after(last),
                _ => return Ok(()),
            }
            size = CHUNK.min(size * 4);
        }
        Ok(())
    }

    /// The first pair in `keys`, or the last.
    fn end_of(&self, keys: &Keys, last: bool) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let mut found = None;
        self.scan(keys.as_range(), last, &mut |key, value| {
            found = Some((key.to_vec(), value.to_vec()));
            Ok(false)
        })?;
        Ok(found)
    }

    /// The record of a number that something leads to.
    fn row<T: Row>(&self, number: u64) -> Result<T> {
        match self.get(&key::record(T::KIND, number))? {
            Some(value) => T::open(number, &value, number),
            None => Err(Error::corrupt(T::KIND.as_str(), number, "the record is not there")),
        }
    }

    /// The record that a secondary key leads to, with its number.
    fn row_at<T: Row>(&self, key: &[u8], value: &[u8]) -> Result<(u64, T)> {
        let (_, number) = key::target(key, value)?;
        let row: T = self.row(number)?;
        if !row.makes(number, key) {
            let message = format!("the key {} leads to another record", key::hex(key));
            return Err(Error::corrupt(T::KIND.as_str(), row.name(), message));
        }
        Ok((number, row))
    }

    /// The record under a key of `Table::Id`, with its number; `name` is what messages call it.
    fn row_of<T: Row>(&self, id_key: &[u8], name: &str) -> Result<Option<(u64, T)>> {
        let Some(value) = self.get(id_key)? else { return Ok(None) };
        let (_, number) = key::target(id_key, &value)?;
        let corrupt = |message| Error::corrupt(T::KIND.as_str(), name, message);
        let value = self.get(&key::record(T::KIND, number))?;
        let value = value.ok_or_else(|| corrupt("the record is not there"))?;
        let row = T::open(number, &value, name)?;
        if row.id_key() != id_key {
            return Err(corrupt("its id leads to another record"));
        }
        Ok(Some((number, row)))
    }

    /// The record with an id, with its number.
    fn row_by_id<T: Row>(&self, id: &str) -> Result<Option<(u64, T)>> {
        self.row_of(&key::id(T::KIND, id), id)
    }

    /// The record with an id, if it is in scope.
    fn row_in<T: Row>(&self, scope: &Scope, id: &str) -> Result<Option<T>> {
        let row = self.row_by_id::<T>(id)?.map(|(_, row)| row);
        Ok(row.filter(|row| scope.includes(row.workspace())))
    }

    /// A page of what `pick` makes of the pairs in `keys`; it leaves out those that are filtered.
    fn page<T>(
        &self,
        keys: Keys,
        reverse: bool,
        window: &Window,
        mut pick: impl FnMut(&[u8], &[u8]) -> Result<Option<(T, Position)>>,
    ) -> Result<Page<T>> {
        let mut rows = Vec::new();
        if window.limit > 0 {
            self.walk(keys, reverse, |key, value| {
                rows.extend(pick(key, value)?);
                Ok(rows.len() <= window.limit)
            })?;
        }
        Ok(window.cut(rows))
    }

    /// Calls `f` with the records of a kind in scope and their numbers, in order of insertion, until
    /// it returns false. One that cannot be read is an error; its number is then without meaning.
    fn each_row<T: Row>(
        &self,
        scope: &Scope,
        after: Option<u64>,
        mut f: impl FnMut(u64, Result<Record>) -> Result<bool>,
    ) -> Result<()> {
        let prefix = match scope {
            Scope::All => Key::of(Table::Record).kind(T::KIND),
            Scope::Workspace(w) => Key::of(Table::Member).kind(T::KIND).text(w.as_str()),
        };
        let mut keys = prefix.clone().all();
        if let Some(after) = after {
            keys = keys.after(prefix.number(after).into_bytes());
        }
        self.walk(keys, false, |key, value| {
            let row = match scope {
                Scope::All => key::record_number(key)
                    .and_then(|number| Ok((number, T::open(number, value, number)?))),
                Scope::Workspace(_) => self.row_at::<T>(key, value),
            };
            match row {
                Ok((number, row)) => f(number, Ok(row.into_record())),
                Err(error) => f(0, Err(error)),
            }
        })
    }

    /// What a workspace holds.
    fn counts(&self, workspace: &Workspace) -> Result<Counts> {
        let key = counts_key(workspace);
        let value = self.get(&key)?;
        value.map_or(Ok(Counts::default()), |value| read_counts(&key, &value))
    }

    /// The last number that was given to a record of a kind.
    fn last_number<T: Row>(&self) -> Result<u64> {
        let key = counter_key::<T>();
        let counter = self.get(&key)?.map(|value| read_counter::<T>(&key, &value)).transpose()?;
        let last = self.end_of(&Key::of(Table::Record).kind(T::KIND).all(), true)?;
        // A lost counter must not give a number again that a record has.
        let last = last.and_then(|(key, _)| key::record_number(&key).ok());
        Ok(counter.unwrap_or(0).max(last.unwrap_or(0)))
    }

    /// The receipt under an idempotency key.
    fn receipt(&self, key: &str) -> Result<Option<StoredReceipt>> {
        let (key, _) = receipt_keys(key, memkeep_core::Timestamp::MIN);
        self.get(&key)?.map(|value| read_receipt(&key, &value)).transpose()
    }

    /// The end of a workspace's audit chain.
    fn head(&self, workspace: &Workspace) -> Result<Option<AuditHead>> {
        let kind = memkeep_core::RecordKind::Audit;
        let chain = Key::of(Table::Place).kind(kind).text(workspace.as_str()).all();
        let Some((key, value)) = self.end_of(&chain, true)? else { return Ok(None) };
        let hash = value.get(8..).and_then(|hash| hash.try_into().ok());
        let (seq, hash) = key::last_number(&key)
            .zip(hash)
            .ok_or_else(|| Error::corrupt("key", key::hex(&key), "it is no place in a chain"))?;
        Ok(Some(AuditHead { workspace: workspace.clone(), seq, hash: Hash(hash) }))
    }
}

impl<S: Snapshot + ?Sized> Records for S {}

/// The key of a workspace's counts.
pub(crate) fn counts_key(workspace: &Workspace) -> Vec<u8> {
    Key::of(Table::Count).bytes(workspace.as_str()).into_bytes()
}

/// The value of a workspace's counts.
pub(crate) fn counts_value(key: &[u8], counts: &Counts) -> Result<Vec<u8>> {
    codec::seal(key, |to| counts.serialize(to))
}

/// The counts of the workspace that `key` names.
pub(crate) fn read_counts(key: &[u8], value: &[u8]) -> Result<Counts> {
    codec::open(key, value, |from| Counts::deserialize(from))
        .map_err(|message| Error::corrupt("counts", key::hex(key), message))
}

/// The workspace whose counts stand under `key`.
pub(crate) fn counted_workspace(key: &[u8]) -> Result<Workspace> {
    let name = std::str::from_utf8(key.get(1..).unwrap_or_default());
    name.map(Workspace::from)
        .map_err(|e| Error::corrupt("counts", key::hex(key), "not a workspace").caused_by(e))
}

/// The key of the counter of a kind.
pub(crate) fn counter_key<T: Row>() -> Vec<u8> {
    Key::of(Table::Counter).kind(T::KIND).into_bytes()
}

/// The value of a counter.
pub(crate) fn counter_value(key: &[u8], last: u64) -> Result<Vec<u8>> {
    codec::seal(key, |to| last.serialize(to))
}

/// The counter of a kind.
pub(crate) fn read_counter<T: Row>(key: &[u8], value: &[u8]) -> Result<u64> {
    codec::open(key, value, |from| u64::deserialize(from))
        .map_err(|message| Error::corrupt("counter", T::KIND.as_str(), message))
}

//! How each kind of record is kept: its bytes, and its secondary keys.

mod audit;
mod episode;
mod field;
mod note;
mod receipt;
mod session;
mod state;
mod step;
mod turn;

pub(crate) use receipt::{read_receipt, receipt_keys, receipt_value};

use memkeep_core::{
    Counts, Error, Record, RecordKind, Result, Scope, Workspace,
    decide::{Origin, Stored},
};
use serde::{Deserialize, Serialize};

use crate::{
    codec::{self, Input, Output},
    key::{self, Key, Table},
};

/// A key and its value.
pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// A record as it is kept.
pub(crate) trait Row: Sized {
    const KIND: RecordKind;

    fn write(&self, to: &mut Output) -> postcard::Result<()>;
    fn read(from: &mut Input<'_>) -> postcard::Result<Self>;

    /// What it is called in messages: its id, or the state key.
    fn name(&self) -> &str;
    fn workspace(&self) -> &Workspace;
    /// What it adds to the counts of its workspace.
    fn counts(&self) -> Counts {
        Counts::one(Self::KIND)
    }
    fn into_record(self) -> Record;

    /// Its key in `Table::Id`.
    fn id_key(&self) -> Vec<u8> {
        key::id(Self::KIND, self.name())
    }

    /// Its secondary keys beyond `Table::Id` and `Table::Member`.
    fn places(&self, number: u64) -> Vec<Pair>;

    /// Its value, to stand under the key of record `number`.
    fn value(&self, number: u64) -> Result<Vec<u8>> {
        codec::seal(&key::record(Self::KIND, number), |to| self.write(to))
    }

    /// The record whose value this is; `Corrupt` names it by `row`.
    fn open(number: u64, value: &[u8], row: impl std::fmt::Display) -> Result<Self> {
        codec::open(&key::record(Self::KIND, number), value, Self::read)
            .map_err(|message| Error::corrupt(Self::KIND.as_str(), row, message))
    }

    /// All its secondary keys.
    fn secondary(&self, number: u64) -> Vec<Pair> {
        let member = Key::of(Table::Member).kind(Self::KIND).text(self.workspace().as_str());
        let mut pairs = self.places(number);
        pairs.push((self.id_key(), number.to_be_bytes().to_vec()));
        pairs.push((member.number(number).into_bytes(), Vec::new()));
        pairs
    }

    /// Whether `key` is one of its secondary keys.
    fn makes(&self, number: u64, key: &[u8]) -> bool {
        self.secondary(number).iter().any(|(made, _)| made == key)
    }
}

/// Calls a function that is generic over [`Row`] for a kind that is known at run time.
macro_rules! by_kind {
    ($kind:expr, $row:ident => $call:expr) => {{
        use memkeep_core::decide::Stored;
        match $kind {
            memkeep_core::RecordKind::Session => {
                type $row = Stored<memkeep_core::Session>;
                $call
            }
            memkeep_core::RecordKind::Turn => {
                type $row = Stored<memkeep_core::Turn>;
                $call
            }
            memkeep_core::RecordKind::Step => {
                type $row = memkeep_core::Step;
                $call
            }
            memkeep_core::RecordKind::Episode => {
                type $row = Stored<memkeep_core::Episode>;
                $call
            }
            memkeep_core::RecordKind::Note => {
                type $row = memkeep_core::Note;
                $call
            }
            memkeep_core::RecordKind::State => {
                type $row = memkeep_core::StateSlot;
                $call
            }
            memkeep_core::RecordKind::Audit => {
                type $row = memkeep_core::AuditRecord;
                $call
            }
        }
    }};
}
pub(crate) use by_kind;

/// The keys of a listing by time, over everything and over the record's workspace. `key` adds the
/// time and the number.
fn listed(
    table: Table,
    kind: RecordKind,
    workspace: &Workspace,
    key: impl Fn(Key) -> Key,
) -> [Pair; 2] {
    [Scope::All, workspace.into()].map(|scope| {
        let prefix = Key::of(table).kind(kind).scope(&scope);
        (key(prefix).into_bytes(), Vec::new())
    })
}

/// The key of a place that is counted within an owner: a session, a workspace.
pub(crate) fn place(table: Table, kind: RecordKind, owner: &str, index: u64) -> Vec<u8> {
    Key::of(table).kind(kind).text(owner).number(index).into_bytes()
}

fn write_origin<T>(stored: &Stored<T>, to: &mut Output) -> postcard::Result<()> {
    stored.origin.map(|origin| origin.0).serialize(to)
}

fn read_origin(from: &mut Input<'_>) -> postcard::Result<Option<Origin>> {
    Ok(Option::deserialize(from)?.map(Origin))
}

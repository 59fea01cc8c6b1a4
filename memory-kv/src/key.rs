//! The key layout: what is kept under which bytes, in one place.
//!
//! A key begins with its table (one byte). Numbers are 8 bytes, big-endian. A *text* is escaped so
//! that it keeps its order and is no prefix of another: each `0x00` becomes `0x00 0xFF`, and
//! `0x00 0x00` ends it. A *scope* is `0x00` for all workspaces, or `0x01` and a workspace as text. A
//! *time* is microseconds with the sign bit flipped; *newest* is its complement, so that later
//! instants come first. A *kind* is one byte.
//!
//! Records are numbered per kind, in order of insertion, from 1; a number is never given twice.
//!
//! | table | rest of the key | value |
//! |---|---|---|
//! | `Schema` | | the layout's version: 4 bytes, big-endian |
//! | `Counter` | kind | the last number given |
//! | `Count` | workspace, as it is | how many records of each kind it has |
//! | `Record` | kind, number | the record |
//! | `Receipt` | idempotency key, as it is | the receipt |
//! | `ReceiptTime` | time, idempotency key as it is | |
//! | `Id` | kind, id as it is; for state: workspace as text, key as it is | number |
//! | `Member` | kind, workspace as text, number | |
//! | `Time` | kind, scope, time (episodes, notes) or newest (sessions: `started_at`; turns), number | |
//! | `Active` | session, scope, newest of `last_active`, number | |
//! | `Place` | turn or step, session id as text, index | number |
//! | `Place` | audit, workspace as text, seq | number, hash |
//! | `UserTurn` | turn, session id as text, index: only turns of the role `user` | number |
//! | `Index` | kind, key of the recall index as it is | a blob of the recall index |
//!
//! From `Id` to `UserTurn` the keys are *secondary*: a pure function of the record and its number, which stands
//! at the start of the value or, where that is empty, at the end of the key. So they can be checked
//! and rebuilt without knowing what they are for.

use std::ops::Range;

use memkeep_core::{Error, RecordKind, Result, Scope, Timestamp};

/// The table a key is in: its first byte. Bytes that have no name here are free.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Table {
    Schema = 0x01,
    Counter = 0x02,
    Count = 0x03,
    Record = 0x10,
    Receipt = 0x11,
    ReceiptTime = 0x12,
    Id = 0x20,
    Member = 0x21,
    Time = 0x22,
    Active = 0x23,
    Place = 0x24,
    UserTurn = 0x25,
    Index = 0x30,
}

/// The bytes of a kind in keys.
fn kind_byte(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Session => 1,
        RecordKind::Turn => 2,
        RecordKind::Step => 3,
        RecordKind::Episode => 4,
        RecordKind::Note => 5,
        RecordKind::State => 6,
        RecordKind::Audit => 7,
    }
}

/// A key being put together.
#[derive(Clone)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    pub(crate) fn of(table: Table) -> Self {
        Self(vec![table as u8])
    }

    pub(crate) fn kind(mut self, kind: RecordKind) -> Self {
        self.0.push(kind_byte(kind));
        self
    }

    /// Bytes as they are; only at the end of a key.
    pub(crate) fn bytes(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        for byte in text.bytes() {
            self.0.push(byte);
            if byte == 0 {
                self.0.push(0xFF);
            }
        }
        self.bytes([0, 0])
    }

    pub(crate) fn scope(self, scope: &Scope) -> Self {
        match scope {
            Scope::All => self.bytes([0]),
            Scope::Workspace(workspace) => self.bytes([1]).text(workspace.as_str()),
        }
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.bytes(number.to_be_bytes())
    }

    pub(crate) fn time(self, at: Timestamp) -> Self {
        self.number(at.as_micros().cast_unsigned() ^ (1 << 63))
    }

    pub(crate) fn newest(self, at: Timestamp) -> Self {
        self.number(!(at.as_micros().cast_unsigned() ^ (1 << 63)))
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// All keys that begin with this one.
    pub(crate) fn all(self) -> Keys {
        let mut end = self.0.clone();
        // The first byte is a table's, so there is one that can grow.
        while let Some(last) = end.pop() {
            if last < 0xFF {
                end.push(last + 1);
                break;
            }
        }
        Keys { start: self.0, end }
    }
}

/// A range of keys, the start included, the end not.
#[derive(Clone)]
pub(crate) struct Keys {
    pub(crate) start: Vec<u8>,
    pub(crate) end: Vec<u8>,
}

impl Keys {
    /// All keys that are in secondary tables, known ones or not.
    pub(crate) fn secondary() -> Self {
        Self { start: vec![0x20], end: vec![0x30] }
    }

    /// All keys there can be.
    pub(crate) fn everything() -> Self {
        Self { start: vec![0], end: vec![0xFF] }
    }

    /// Those that come after `key`.
    pub(crate) fn after(mut self, mut key: Vec<u8>) -> Self {
        key.push(0);
        self.start = self.start.max(key);
        self
    }

    /// Those that come before `key`.
    pub(crate) fn before(mut self, key: Vec<u8>) -> Self {
        self.end = self.end.min(key);
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    pub(crate) fn as_range(&self) -> Range<&[u8]> {
        &self.start..&self.end
    }
}

/// The key of a blob of a kind's recall index.
pub(crate) fn index(kind: RecordKind, key: &[u8]) -> Vec<u8> {
    Key::of(Table::Index).kind(kind).bytes(key).into_bytes()
}

/// The key of a record.
pub(crate) fn record(kind: RecordKind, number: u64) -> Vec<u8> {
    Key::of(Table::Record).kind(kind).number(number).into_bytes()
}

/// The key that leads from an id to a record's number.
pub(crate) fn id(kind: RecordKind, id: &str) -> Vec<u8> {
    Key::of(Table::Id).kind(kind).bytes(id).into_bytes()
}

/// The key that leads from a state key to its slot's number.
pub(crate) fn state(workspace: &str, key: &str) -> Vec<u8> {
    Key::of(Table::Id).kind(RecordKind::State).text(workspace).bytes(key).into_bytes()
}

/// The number of the record that is kept under `key`.
pub(crate) fn record_number(key: &[u8]) -> Result<u64> {
    let number = key.get(2..).and_then(|number| number.try_into().ok());
    number
        .map(u64::from_be_bytes)
        .ok_or_else(|| Error::corrupt("key", hex(key), "it is no record's key"))
}

/// The number at the end of a key.
pub(crate) fn last_number(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The record that a secondary key leads to.
pub(crate) fn target(key: &[u8], value: &[u8]) -> Result<(RecordKind, u64)> {
    let kind = |byte| RecordKind::ALL.into_iter().find(|kind| kind_byte(*kind) == byte);
    let kind = key.get(1).copied().and_then(kind);
    let number = if value.is_empty() {
        last_number(key)
    } else {
        value.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
    };
    kind.zip(number).ok_or_else(|| Error::corrupt("key", hex(key), "it leads to no record"))
}

/// The text at the start of `bytes`, and what follows it.
pub(crate) fn split_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match bytes.get(at..)? {
            [0, 0, rest @ ..] => return Some((String::from_utf8(text).ok()?, rest)),
            [0, 0xFF, ..] => at += 1,
            [0, ..] | [] => return None,
            _ => {}
        }
        text.push(if bytes[at] == 0xFF { 0 } else { bytes[at] });
        at += 1;
    }
}

/// A key as it is shown.
pub(crate) fn hex(key: &[u8]) -> String {
    use std::fmt::Write;
    key.iter().fold(String::new(), |mut out, byte| {
        // A string can always be written to.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

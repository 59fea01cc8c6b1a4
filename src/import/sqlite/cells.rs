use rusqlite::{Row, types::ValueRef};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    Json, Metadata, Record, Timestamp,
    bounds::MAX_JSON_DEPTH,
    import::{
        excerpt,
        item::{Entry, Place},
        json,
    },
};

/// A row of a source, whose columns may hold anything. Every value is read as what it should be;
/// where it is something else, that is a repair.
pub(super) struct Cells<'r> {
    pub(super) place: Place,
    row: &'r Row<'r>,
    columns: &'static [&'static str],
    repairs: Vec<(Place, String)>,
}

impl<'r> Cells<'r> {
    pub(super) fn new(place: Place, row: &'r Row<'r>, columns: &'static [&'static str]) -> Self {
        Self { place, row, columns, repairs: Vec::new() }
    }

    fn value(&self, column: &str) -> ValueRef<'r> {
        self.row.get_ref(column).unwrap_or(ValueRef::Null)
    }

    pub(super) fn repair(&mut self, reason: impl Into<String>) {
        self.repairs.push((self.place, reason.into()));
    }

    /// All repairs so far.
    pub(super) fn take_repairs(&mut self) -> Vec<(Place, String)> {
        std::mem::take(&mut self.repairs)
    }

    /// The entry for the record that the row makes, with all repairs so far.
    pub(super) fn entry(&mut self, record: Record) -> Entry {
        let bytes = self.columns.iter().map(|column| weight(self.value(column))).sum();
        let mut entry = Entry::new(self.place, record, bytes);
        entry.repairs = self.take_repairs();
        entry
    }

    /// A text; what is missing is empty.
    pub(super) fn text(&mut self, column: &str) -> String {
        self.optional_text(column).unwrap_or_else(|| {
            self.repair(format!("{column} is NULL: stored as an empty text"));
            String::new()
        })
    }

    pub(super) fn optional_text(&mut self, column: &str) -> Option<String> {
        let (bytes, kind) = match self.value(column) {
            ValueRef::Null => return None,
            ValueRef::Integer(number) => return Some(self.number_as_text(column, &number)),
            ValueRef::Real(number) => return Some(self.number_as_text(column, &number)),
            ValueRef::Text(bytes) => (bytes, "a text"),
            ValueRef::Blob(bytes) => (bytes, "a blob"),
        };
        let text = String::from_utf8_lossy(bytes);
        if str::from_utf8(bytes).is_err() {
            self.repair(format!("{column} is {kind} that is not UTF-8: wrong bytes became U+FFFD"));
        } else if kind == "a blob" {
            self.repair(format!("{column} is a blob: stored as a text"));
        }
        Some(text.into_owned())
    }

    fn number_as_text(&mut self, column: &str, number: &impl ToString) -> String {
        self.repair(format!("{column} is a number: stored as its text"));
        number.to_string()
    }

    /// A text by which rows are told apart, as it may be stored: bytes that are not UTF-8 are
    /// written `%XX`, so that different ones stay different.
    pub(super) fn name(&mut self, column: &str) -> String {
        match self.value(column) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) if str::from_utf8(bytes).is_err() => {
                self.repair(format!("{column} is not UTF-8: wrong bytes are written as %XX"));
                self.key(column).unwrap_or_default()
            }
            _ => self.text(column),
        }
    }

    /// The same, only to find other rows by: without a repair, and absent where it is NULL.
    pub(super) fn key(&self, column: &str) -> Option<String> {
        Some(match self.value(column) {
            ValueRef::Null => return None,
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let mut key = String::new();
                for chunk in bytes.utf8_chunks() {
                    key.push_str(chunk.valid());
                    key.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
                }
                key
            }
        })
    }

    /// The id of the session that a turn or step belongs to, as it stands in the file; empty where
    /// it belongs to none.
    pub(super) fn session_key(&self) -> String {
        self.key("session_id").unwrap_or_default()
    }

    /// The row's id; one made from the row where it has none.
    pub(super) fn id(&mut self, prefix: &str, workspace: &str) -> String {
        if self.key("id").is_some_and(|id| !id.is_empty()) {
            return self.name("id");
        }
        let made = self.made_id(prefix, workspace);
        self.repair(format!("id is missing or empty: it is now {made}"));
        made
    }

    /// An id for a row without one: a UUID (version 8) over its table, rowid and values, and the workspace it
    /// goes to. The same row always gets the same.
    pub(super) fn made_id(&self, prefix: &str, workspace: &str) -> String {
        let mut sha = Sha256::new();
        let mut add = |tag: u8, bytes: &[u8]| {
            sha.update([tag]);
            sha.update((bytes.len() as u64).to_be_bytes());
            sha.update(bytes);
        };
        add(b'w', workspace.as_bytes());
        add(b't', self.place.table.as_bytes());
        add(b'#', &self.place.rowid.to_be_bytes());
        for column in self.columns {
            match self.value(column) {
                ValueRef::Null => add(b'0', b""),
                ValueRef::Integer(number) => add(b'i', &number.to_be_bytes()),
                ValueRef::Real(number) => add(b'r', &number.to_bits().to_be_bytes()),
                ValueRef::Text(bytes) => add(b's', bytes),
                ValueRef::Blob(bytes) => add(b'b', bytes),
            }
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(sha.finalize().get(..16).unwrap_or(&[0; 16]));
        format!("{prefix}{}", Uuid::new_v8(bytes))
    }

    /// A whole number; what is none is left out.
    pub(super) fn integer(&mut self, column: &str) -> Option<i64> {
        let (number, was) = match self.value(column) {
            ValueRef::Null => return None,
            ValueRef::Integer(number) => return Some(number),
            ValueRef::Real(number) => (whole(number), format!("{number:?}")),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                (text.trim().parse().ok(), quoted(&text))
            }
        };
        self.repair(match number {
            Some(number) => format!("{column} is {was}: stored as the integer {number}"),
            None => format!("{column} is {was}, no integer of 64 bits: left out"),
        });
        number
    }

    /// Whether a number is true, as Python has it.
    pub(super) fn boolean(&mut self, column: &str) -> bool {
        let (truth, was) = match self.value(column) {
            ValueRef::Integer(number @ (0 | 1)) => return number == 1,
            ValueRef::Null => (false, "NULL".to_owned()),
            ValueRef::Integer(number) => (true, number.to_string()),
            ValueRef::Real(number) => (number != 0.0, format!("{number:?}")),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                (!bytes.is_empty(), quoted(&String::from_utf8_lossy(bytes)))
            }
        };
        self.repair(format!("{column} is {was}, neither 0 nor 1: taken as {truth}"));
        truth
    }

    /// A time in seconds since 1970; `instead` where it is none.
    pub(super) fn time(&mut self, column: &str, instead: Timestamp) -> Timestamp {
        let (time, was) = match self.value(column) {
            ValueRef::Null => (None, "NULL".to_owned()),
            ValueRef::Integer(seconds) => (
                seconds.checked_mul(1_000_000).and_then(Timestamp::from_micros),
                seconds.to_string(),
            ),
            ValueRef::Real(seconds) => (from_seconds(seconds), format!("{seconds:?}")),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let seconds = text.trim().parse().ok().and_then(from_seconds);
                let time = seconds.or_else(|| text.trim().parse().ok());
                if let Some(time) = time {
                    self.repair(format!("{column} is {}: stored as {time}", quoted(&text)));
                    return time;
                }
                (None, quoted(&text))
            }
        };
        time.unwrap_or_else(|| {
            self.repair(format!("{column} is {was}, no time: {instead} stands for it"));
            instead
        })
    }

    /// A time that may be missing.
    pub(super) fn optional_time(&mut self, column: &str, instead: Timestamp) -> Option<Timestamp> {
        let is_null = matches!(self.value(column), ValueRef::Null);
        (!is_null).then(|| self.time(column, instead))
    }

    /// A JSON text. What is none is kept as a string; what is missing is `null`.
    pub(super) fn json(&mut self, column: &str) -> Json {
        let Some(text) = self.optional_text(column) else {
            self.repair(format!("{column} is NULL: stored as null"));
            return Json::Null;
        };
        match json::parse(&text, MAX_JSON_DEPTH) {
            Ok(read) => {
                for repair in read.repairs {
                    self.repair(format!("{column}: {repair}"));
                }
                read.value
            }
            Err(why) => {
                self.repair(format!("{column} is {why}: kept as a string"));
                Json::String(text)
            }
        }
    }

    /// A JSON object. What is none is kept in one, as `imported.COLUMN`.
    pub(super) fn object(&mut self, column: &str) -> Metadata {
        match self.json(column) {
            Json::Object(map) => map,
            Json::Null => Metadata::new(),
            other => {
                self.repair(format!("{column} is no JSON object: kept under `imported`"));
                let mut inner = Metadata::new();
                inner.insert(column.to_owned(), other);
                let mut outer = Metadata::new();
                outer.insert("imported".to_owned(), inner.into());
                outer
            }
        }
    }
}

/// Seconds as an instant, rounded to microseconds, if it is one.
pub(super) fn from_seconds(seconds: f64) -> Option<Timestamp> {
    whole((seconds * 1e6).round()).and_then(Timestamp::from_micros)
}

/// A float as the integer that it equals.
fn whole(number: f64) -> Option<i64> {
    // 2^63 is the least float that is too large; the range excludes NaN.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    #[allow(clippy::cast_possible_truncation)]
    (fits && number.fract() == 0.0).then_some(number as i64)
}

fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

fn weight(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}

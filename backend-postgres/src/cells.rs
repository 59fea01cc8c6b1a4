//! The one shape in which rows of all kinds are read, so that one statement can find rows of many.

use std::fmt;

use memkeep_core::{EpisodeId, Error, Hash, Result, Timestamp, Workspace, decide::Origin};
use serde::de::DeserializeOwned;
use sqlx::{Decode, Postgres, Row as _, Type, postgres::PgRow};

use crate::escape::{unescape, unescape_beginning};

/// How many numbers and texts a row has in the shape.
const NUMBERS: usize = 9;
const TEXTS: usize = 7;

/// The columns of the shape: what the row is, then `pk`, id or key, the workspace's name, numbers,
/// texts, bytes.
const PART: usize = 0;
const PK: usize = 1;
const ID: usize = 2;
const WORKSPACE: usize = 3;
const NUMBER: usize = 4;
const TEXT: usize = NUMBER + NUMBERS;
const BYTES: usize = TEXT + TEXTS;

/// A table, and where in the shape its columns go. In all of them the row is `r`.
pub(crate) struct Shape {
    pub(crate) table: &'static str,
    pub(crate) id: &'static str,
    pub(crate) numbers: &'static [&'static str],
    pub(crate) texts: &'static [&'static str],
    pub(crate) bytes: &'static str,
}

impl Shape {
    /// The select list; `part` comes first.
    pub(crate) fn columns(&self, part: usize) -> String {
        let workspace = match self.table {
            "receipts" => "NULL::text",
            _ => "(SELECT name FROM @workspaces WHERE pk = r.workspace)",
        };
        let pk = match self.table {
            "receipts" | "audit_heads" => "0::bigint",
            _ => "r.pk",
        };
        let mut columns = format!("{part}::int, {pk}, {}, {workspace}", self.id);
        let fill = |given: &'static [&'static str], len, null| {
            given.iter().copied().chain(std::iter::repeat(null)).take(len)
        };
        let numbers = fill(self.numbers, NUMBERS, "NULL::bigint");
        for column in numbers.chain(fill(self.texts, TEXTS, "NULL::text")).chain([self.bytes]) {
            columns += ", ";
            columns += column;
        }
        columns
    }

    /// The names that the columns have as a common table expression.
    pub(crate) fn names() -> String {
        let names = (0..=BYTES).map(|n| format!("c{n}"));
        names.collect::<Vec<_>>().join(", ")
    }

    /// A row of a part that has only a number, an id, and a text.
    pub(crate) fn bare(part: usize, number: &str, id: &str) -> String {
        let mut columns = format!("{part}::int, NULL::bigint, {id}, NULL::text, {number}");
        for column in std::iter::repeat_n(", NULL::bigint", NUMBERS - 1)
            .chain(std::iter::repeat_n(", NULL::text", TEXTS))
        {
            columns += column;
        }
        columns + ", NULL::bytea"
    }
}

/// A row being read, which an error can name.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'r> {
    row: &'r PgRow,
    table: &'static str,
}

/// The part that a row belongs to.
pub(crate) fn part(row: &PgRow) -> Result<i32, sqlx::Error> {
    row.try_get(PART)
}

impl<'r> Cells<'r> {
    pub(crate) fn new(row: &'r PgRow, table: &'static str) -> Self {
        Self { row, table }
    }

    fn get<T: Decode<'r, Postgres> + Type<Postgres>>(&self, column: usize) -> Result<T> {
        self.row.try_get(column).map_err(|_| self.wrong("a value is missing, or of another type"))
    }

    /// The order of insertion.
    pub(crate) fn pk(&self) -> Result<i64> {
        self.get(PK)
    }

    fn unescaped(&self, stored: String) -> Result<String> {
        unescape(stored).ok_or_else(|| self.wrong("a text has a broken escape of U+0000"))
    }

    /// An id, which is never empty.
    pub(crate) fn id<T: From<String>>(&self) -> Result<T> {
        let id = self.unescaped(self.get(ID)?)?;
        if id.is_empty() { Err(self.wrong("an id is empty")) } else { Ok(id.into()) }
    }

    pub(crate) fn key(&self) -> Result<String> {
        self.unescaped(self.get(ID)?)
    }

    pub(crate) fn workspace(&self) -> Result<Workspace> {
        match self.get::<Option<String>>(WORKSPACE)? {
            Some(name) => Ok(self.unescaped(name)?.into()),
            None => Err(self.wrong("its workspace is not there")),
        }
    }

    pub(crate) fn number(&self, n: usize) -> Result<i64> {
        self.get(NUMBER + n)
    }

    pub(crate) fn maybe_number(&self, n: usize) -> Result<Option<i64>> {
        self.get(NUMBER + n)
    }

    pub(crate) fn count(&self, n: usize) -> Result<u64> {
        u64::try_from(self.number(n)?).map_err(|_| self.wrong("a count is negative"))
    }

    /// An index or a seq, after which there must be room for the next.
    pub(crate) fn index(&self, n: usize) -> Result<u64> {
        match self.count(n)? {
            index if index >= i64::MAX.unsigned_abs() => {
                Err(self.wrong("no number is left to follow an index"))
            }
            index => Ok(index),
        }
    }

    pub(crate) fn time(&self, n: usize) -> Result<Timestamp> {
        self.timestamp(self.number(n)?)
    }

    pub(crate) fn maybe_time(&self, n: usize) -> Result<Option<Timestamp>> {
        self.maybe_number(n)?.map(|micros| self.timestamp(micros)).transpose()
    }

    fn timestamp(&self, micros: i64) -> Result<Timestamp> {
        Timestamp::from_micros(micros)
            .ok_or_else(|| self.wrong("a time is outside the years 0 to 9999"))
    }

    pub(crate) fn text(&self, n: usize) -> Result<String> {
        self.unescaped(self.get(TEXT + n)?)
    }

    pub(crate) fn maybe_text(&self, n: usize) -> Result<Option<String>> {
        self.get::<Option<String>>(TEXT + n)?.map(|text| self.unescaped(text)).transpose()
    }

    /// The text that a beginning of what is stored begins with.
    pub(crate) fn beginning(&self, n: usize) -> Result<Option<String>> {
        let Some(stored) = self.get::<Option<String>>(TEXT + n)? else { return Ok(None) };
        let text = unescape_beginning(stored);
        text.map(Some).ok_or_else(|| self.wrong("a text has a broken escape of U+0000"))
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, n: usize) -> Result<T> {
        self.parsed(self.get(TEXT + n)?)
    }

    pub(crate) fn maybe_json<T: DeserializeOwned>(&self, n: usize) -> Result<Option<T>> {
        self.get::<Option<&str>>(TEXT + n)?.map(|text| self.parsed(text)).transpose()
    }

    fn parsed<T: DeserializeOwned>(&self, text: &str) -> Result<T> {
        // What serde_json says may quote the text.
        serde_json::from_str(text).map_err(|e| {
            self.wrong(format_args!(
                "not the JSON that it must be (line {}, column {})",
                e.line(),
                e.column()
            ))
        })
    }

    /// The id of the session of a turn or step, which stands in the first text.
    pub(crate) fn session<T: From<String>>(&self) -> Result<T> {
        match self.maybe_text(0)? {
            Some(id) if !id.is_empty() => Ok(id.into()),
            _ => Err(self.wrong("its session is not there")),
        }
    }

    pub(crate) fn sources(&self, n: usize) -> Result<Vec<EpisodeId>> {
        let ids: Vec<EpisodeId> = self.json(n)?;
        if ids.iter().any(|id| id.as_str().is_empty()) {
            return Err(self.wrong("an id is empty"));
        }
        Ok(ids)
    }

    pub(crate) fn origin(&self) -> Result<Option<Origin>> {
        let Some(bytes) = self.get::<Option<&[u8]>>(BYTES)? else { return Ok(None) };
        let origin = bytes.try_into().map_err(|_| self.wrong("an origin has 16 bytes"))?;
        Ok(Some(Origin(origin)))
    }

    pub(crate) fn hash(&self) -> Result<Hash> {
        let bytes: &[u8] = self.get(BYTES)?;
        Ok(Hash(bytes.try_into().map_err(|_| self.wrong("a hash has 32 bytes"))?))
    }

    /// `Corrupt`, naming the row by its id or key, or if that is what is broken, by its `pk`.
    pub(crate) fn wrong(&self, message: impl fmt::Display) -> Error {
        let id = self.row.try_get::<Option<String>, _>(ID).ok().flatten().and_then(unescape);
        let by_pk = || self.row.try_get::<i64, _>(PK).map(|pk| format!("pk {pk}")).ok();
        let name = id.filter(|id| !id.is_empty()).or_else(by_pk).unwrap_or_default();
        Error::corrupt(self.table, name, message.to_string())
    }
}

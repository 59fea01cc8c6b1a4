//! Rows as records.

use std::{collections::BTreeMap, fmt};

use memkeep_core::{
    AuditRecord, Episode, EpisodeId, Error, Hash, Json, Note, Record, Result, Session, StateSlot,
    Step, StoredReceipt, Timestamp, Turn,
    decide::{Origin, Stored},
};
use rusqlite::{
    Connection, Row,
    types::{FromSql, FromSqlError, ValueRef},
};
use serde::de::DeserializeOwned;

use crate::error::failed;

/// A row being read, which an error can name.
#[derive(Clone, Copy)]
pub(crate) struct Cells<'r> {
    connection: &'r Connection,
    row: &'r Row<'r>,
    table: &'static str,
}

impl<'r> Cells<'r> {
    pub(crate) fn new(connection: &'r Connection, row: &'r Row<'r>, table: &'static str) -> Self {
        Self { connection, row, table }
    }

    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value = self.row.get_ref(column).map_err(failed)?;
        T::column_result(value).map_err(|error| match error {
            FromSqlError::Utf8Error(_) => self.wrong(column, "the text is not UTF-8"),
            FromSqlError::OutOfRange(_) => self.wrong(column, "the number is out of range"),
            _ => self.wrong(column, "the value is of another type"),
        })
    }

    /// The order of insertion.
    pub(crate) fn pk(&self) -> Result<i64> {
        self.get(0)
    }

    /// An id, which is never empty.
    fn id<T: From<String>>(&self, column: usize) -> Result<T> {
        let id: String = self.get(column)?;
        if id.is_empty() { Err(self.wrong(column, "an id is not empty")) } else { Ok(id.into()) }
    }

    /// An index or a seq, after which there must be room for the next.
    fn index(&self, column: usize) -> Result<u64> {
        match self.get(column)? {
            i64::MAX => Err(self.wrong(column, "no number is left to follow it")),
            _ => self.get(column),
        }
    }

    fn flag(&self, column: usize) -> Result<bool> {
        match self.get::<i64>(column)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.wrong(column, "the value is neither 0 nor 1")),
        }
    }

    fn time(&self, column: usize) -> Result<Timestamp> {
        self.timestamp(column, self.get(column)?)
    }

    fn maybe_time(&self, column: usize) -> Result<Option<Timestamp>> {
        self.get::<Option<i64>>(column)?.map(|micros| self.timestamp(column, micros)).transpose()
    }

    fn timestamp(&self, column: usize, micros: i64) -> Result<Timestamp> {
        Timestamp::from_micros(micros)
            .ok_or_else(|| self.wrong(column, "the time is outside the years 0 to 9999"))
    }

    fn maybe_json(&self, column: usize) -> Result<Option<Json>> {
        match self.row.get_ref(column).map_err(failed)? {
            ValueRef::Null => Ok(None),
            _ => self.json(column).map(Some),
        }
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: usize) -> Result<T> {
        let ValueRef::Text(text) = self.row.get_ref(column).map_err(failed)? else {
            return Err(self.wrong(column, "the value is of another type"));
        };
        // What serde_json says may quote the text.
        serde_json::from_slice(text).map_err(|e| {
            let message =
                format!("not the JSON that it must be (line {}, column {})", e.line(), e.column());
            self.wrong(column, message)
        })
    }

    /// The tags of a turn: as one JSON text, or none where they are too large for one.
    fn tags(&self, column: usize) -> Result<BTreeMap<String, Option<String>>> {
        if self.row.get_ref(column).map_err(failed)? != ValueRef::Null {
            return Ok(self.json::<Vec<_>>(column)?.into_iter().collect());
        }
        let mut statement = self
            .connection
            .prepare_cached("SELECT turn, name, value FROM turn_tags WHERE turn = ?")
            .map_err(failed)?;
        let mut rows = statement.query([self.pk()?]).map_err(failed)?;
        let mut tags = BTreeMap::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let tag = Cells::new(self.connection, row, "turn_tags");
            tags.insert(tag.get(1)?, tag.get(2)?);
        }
        Ok(tags)
    }

    fn sources(&self, column: usize) -> Result<Vec<EpisodeId>> {
        let ids: Vec<EpisodeId> = self.json(column)?;
        if ids.iter().any(|id| id.as_str().is_empty()) {
            return Err(self.wrong(column, "an id is not empty"));
        }
        Ok(ids)
    }

    fn origin(&self, column: usize) -> Result<Option<Origin>> {
        Ok(self.get::<Option<[u8; 16]>>(column)?.map(Origin))
    }

    /// `Corrupt`, naming the row by its id or key, or if that is what is broken, by its `pk`.
    fn wrong(&self, column: usize, message: impl fmt::Display) -> Error {
        let by_pk = || self.row.get::<_, i64>(0).map(|pk| format!("pk {pk}")).ok();
        let name = self.row.get::<_, String>(1).ok().filter(|name| !name.is_empty()).or_else(by_pk);
        let name = name.unwrap_or_default();
        let column = self.row.as_ref().column_name(column).unwrap_or_default();
        Error::corrupt(self.table, name, format!("{column}: {message}"))
    }
}

/// A table of records: column 0 is the `pk`, column 1 the id or key.
pub(crate) trait Table: Sized {
    const TABLE: &'static str;
    const COLUMNS: &'static str;
    const BY_ID: &'static str;

    fn decode(cells: &Cells<'_>) -> Result<Self>;
}

/// Records that know what they were created from.
pub(crate) trait Original: Table {
    fn stored(cells: &Cells<'_>) -> Result<Stored<Self>>;
}

macro_rules! table {
    ($ty:ident, $table:literal, $columns:expr, |$cells:ident| $decode:expr $(, origin $origin:literal)?) => {
        impl Table for $ty {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static str = $columns;
            const BY_ID: &'static str =
                concat!("SELECT ", $columns, " FROM ", $table, " WHERE id = ?1");

            fn decode($cells: &Cells<'_>) -> Result<Self> {
                Ok($decode)
            }
        }

        $(impl Original for $ty {
            fn stored(cells: &Cells<'_>) -> Result<Stored<Self>> {
                Ok(Stored { record: Self::decode(cells)?, origin: cells.origin($origin)? })
            }
        })?
    };
}

macro_rules! session_columns {
    () => {
        "pk, id, workspace, created_at, started_at, ended_at, last_active, next_turn, next_step, \
         turn_count, step_count, total_tokens, origin, model, mode, summary, metadata"
    };
}

table!(Session, "sessions", session_columns!(), |cells| Session {
    id: cells.id(1)?,
    workspace: cells.get::<String>(2)?.into(),
    created_at: cells.time(3)?,
    started_at: cells.time(4)?,
    ended_at: cells.maybe_time(5)?,
    last_active: cells.time(6)?,
    next_turn: cells.get(7)?,
    next_step: cells.get(8)?,
    turn_count: cells.get(9)?,
    step_count: cells.get(10)?,
    total_tokens: cells.get(11)?,
    model: cells.get(13)?,
    mode: cells.get(14)?,
    summary: cells.get(15)?,
    metadata: cells.json(16)?,
    first_prompt: None,
}, origin 12);

/// A session, and the `pk` of its first user turn.
pub(crate) struct Prompted {
    pub(crate) session: Session,
    pub(crate) prompt: Option<i64>,
}

table!(
    Prompted,
    "sessions",
    concat!(
        session_columns!(),
        ", (SELECT pk FROM turns WHERE session = sessions.pk AND role = 'user' \
         ORDER BY position LIMIT 1)"
    ),
    |cells| Prompted { session: Session::decode(cells)?, prompt: cells.get(17)? }
);

table!(
    Turn,
    "turns",
    "pk, id, workspace, created_at, (SELECT id FROM sessions WHERE pk = turns.session) AS session, \
     position, role, tokens, embedding_id, origin, model, content, metadata, \
     CASE WHEN (SELECT sum(octet_length(name) + ifnull(octet_length(value), 0)) FROM turn_tags \
     WHERE turn = turns.pk) > 16777216 THEN NULL ELSE \
     (SELECT json_group_array(json_array(name, value)) FROM turn_tags WHERE turn = turns.pk) END \
     AS tags",
    |cells| Turn {
        id: cells.id(1)?,
        workspace: cells.get::<String>(2)?.into(),
        created_at: cells.time(3)?,
        session: cells.id(4)?,
        index: cells.index(5)?,
        role: cells.get(6)?,
        tokens: cells.get(7)?,
        embedding_id: cells.get(8)?,
        model: cells.get(10)?,
        content: cells.get(11)?,
        metadata: cells.json(12)?,
        tags: cells.tags(13)?,
    },
    origin 9
);

table!(
    Step,
    "steps",
    "pk, id, workspace, created_at, (SELECT id FROM sessions WHERE pk = steps.session) AS session, \
     position, name, status, payload",
    |cells| Step {
        id: cells.id(1)?,
        workspace: cells.get::<String>(2)?.into(),
        created_at: cells.time(3)?,
        session: cells.id(4)?,
        index: cells.index(5)?,
        name: cells.get(6)?,
        status: cells.get(7)?,
        payload: cells.json(8)?,
    }
);

table!(
    Episode,
    "episodes",
    "pk, id, workspace, created_at, open, closed_at, origin, problem, summary, metadata",
    |cells| Episode {
        id: cells.id(1)?,
        workspace: cells.get::<String>(2)?.into(),
        created_at: cells.time(3)?,
        open: cells.flag(4)?,
        closed_at: cells.maybe_time(5)?,
        problem: cells.get(7)?,
        summary: cells.get(8)?,
        metadata: cells.json(9)?,
    },
    origin 6
);

table!(Note, "notes", "pk, id, workspace, created_at, sources, text", |cells| Note {
    id: cells.id(1)?,
    workspace: cells.get::<String>(2)?.into(),
    created_at: cells.time(3)?,
    sources: cells.sources(4)?,
    text: cells.get(5)?,
});

table!(
    AuditRecord,
    "audit",
    "pk, id, workspace, seq, created_at, hash, action, decision, detail",
    |cells| AuditRecord {
        id: cells.id(1)?,
        workspace: cells.get::<String>(2)?.into(),
        seq: cells.index(3)?,
        created_at: cells.time(4)?,
        hash: Hash(cells.get(5)?),
        action: cells.get(6)?,
        decision: cells.get(7)?,
        detail: cells.json(8)?,
    }
);

impl Table for StateSlot {
    const TABLE: &'static str = "states";
    const COLUMNS: &'static str =
        "pk, key, workspace, created_at, updated_at, expires_at, version, value";
    const BY_ID: &'static str = "SELECT pk, key, workspace, created_at, updated_at, expires_at, \
         version, value FROM states WHERE workspace = ?1 AND key = ?2";

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            key: cells.get(1)?,
            workspace: cells.get::<String>(2)?.into(),
            created_at: cells.time(3)?,
            updated_at: cells.time(4)?,
            expires_at: cells.maybe_time(5)?,
            version: cells.get(6)?,
            value: cells.maybe_json(7)?,
        })
    }
}

impl Table for StoredReceipt {
    const TABLE: &'static str = "receipts";
    const COLUMNS: &'static str = "rowid, key, at, digest, marks";
    const BY_ID: &'static str = "SELECT rowid, key, at, digest, marks FROM receipts WHERE key = ?1";

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            key: cells.get(1)?,
            at: cells.time(2)?,
            digest: Hash(cells.get(3)?),
            marks: cells.json(4)?,
        })
    }
}

/// A table's row as any record.
pub(crate) trait IntoRecord: Table {
    fn into_record(self) -> Record;
}

macro_rules! into_record {
    ($($ty:ident $variant:ident;)*) => {$(
        impl IntoRecord for $ty {
            fn into_record(self) -> Record {
                Record::$variant(self)
            }
        }
    )*};
}

into_record! {
    Session Session;
    Turn Turn;
    Step Step;
    Episode Episode;
    Note Note;
    StateSlot State;
    AuditRecord Audit;
}

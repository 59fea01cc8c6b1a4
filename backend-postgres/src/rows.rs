//! Rows as records. All kinds are read in one shape, so that one statement can find rows of many.

use std::{collections::BTreeMap, fmt};

use memkeep_core::{
    AuditHead, AuditRecord, Episode, EpisodeId, Error, Hash, Json, Note, Record, Result, Session,
    StateSlot, Step, StoredReceipt, Timestamp, Turn, Workspace,
    decide::{Origin, Stored},
    first_prompt,
};
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

    fn maybe_number(&self, n: usize) -> Result<Option<i64>> {
        self.get(NUMBER + n)
    }

    pub(crate) fn count(&self, n: usize) -> Result<u64> {
        u64::try_from(self.number(n)?).map_err(|_| self.wrong("a count is negative"))
    }

    /// An index or a seq, after which there must be room for the next.
    fn index(&self, n: usize) -> Result<u64> {
        match self.count(n)? {
            index if index >= i64::MAX.unsigned_abs() => {
                Err(self.wrong("no number is left to follow an index"))
            }
            index => Ok(index),
        }
    }

    fn time(&self, n: usize) -> Result<Timestamp> {
        self.timestamp(self.number(n)?)
    }

    fn maybe_time(&self, n: usize) -> Result<Option<Timestamp>> {
        self.maybe_number(n)?.map(|micros| self.timestamp(micros)).transpose()
    }

    fn timestamp(&self, micros: i64) -> Result<Timestamp> {
        Timestamp::from_micros(micros)
            .ok_or_else(|| self.wrong("a time is outside the years 0 to 9999"))
    }

    fn text(&self, n: usize) -> Result<String> {
        self.unescaped(self.get(TEXT + n)?)
    }

    fn maybe_text(&self, n: usize) -> Result<Option<String>> {
        self.get::<Option<String>>(TEXT + n)?.map(|text| self.unescaped(text)).transpose()
    }

    fn json<T: DeserializeOwned>(&self, n: usize) -> Result<T> {
        self.parsed(self.get(TEXT + n)?)
    }

    fn maybe_json<T: DeserializeOwned>(&self, n: usize) -> Result<Option<T>> {
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
    fn session<T: From<String>>(&self) -> Result<T> {
        match self.maybe_text(0)? {
            Some(id) if !id.is_empty() => Ok(id.into()),
            _ => Err(self.wrong("its session is not there")),
        }
    }

    fn sources(&self, n: usize) -> Result<Vec<EpisodeId>> {
        let ids: Vec<EpisodeId> = self.json(n)?;
        if ids.iter().any(|id| id.as_str().is_empty()) {
            return Err(self.wrong("an id is empty"));
        }
        Ok(ids)
    }

    fn origin(&self) -> Result<Option<Origin>> {
        let Some(bytes) = self.get::<Option<&[u8]>>(BYTES)? else { return Ok(None) };
        let origin = bytes.try_into().map_err(|_| self.wrong("an origin has 16 bytes"))?;
        Ok(Some(Origin(origin)))
    }

    pub(crate) fn hash(&self) -> Result<Hash> {
        let bytes: &[u8] = self.get(BYTES)?;
        Ok(Hash(bytes.try_into().map_err(|_| self.wrong("a hash has 32 bytes"))?))
    }

    /// `Corrupt`, naming the row by its id or key, or if that is what is broken, by its `pk`.
    fn wrong(&self, message: impl fmt::Display) -> Error {
        let id = self.row.try_get::<Option<String>, _>(ID).ok().flatten().and_then(unescape);
        let by_pk = || self.row.try_get::<i64, _>(PK).map(|pk| format!("pk {pk}")).ok();
        let name = id.filter(|id| !id.is_empty()).or_else(by_pk).unwrap_or_default();
        Error::corrupt(self.table, name, message.to_string())
    }
}

/// A kind of row.
pub(crate) trait Table: Sized + Send + 'static {
    const SHAPE: Shape;

    fn decode(cells: &Cells<'_>) -> Result<Self>;
}

/// Records that know what they were created from.
pub(crate) trait Original: Table {
    fn stored(cells: &Cells<'_>) -> Result<Stored<Self>> {
        Ok(Stored { record: Self::decode(cells)?, origin: cells.origin()? })
    }
}

impl Original for Session {}
impl Original for Turn {}
impl Original for Episode {}

pub(crate) fn decode<T: Table>(row: &PgRow) -> Result<T> {
    T::decode(&Cells::new(row, T::SHAPE.table))
}

pub(crate) fn stored<T: Original>(row: &PgRow) -> Result<Stored<T>> {
    T::stored(&Cells::new(row, T::SHAPE.table))
}

const SESSION: Shape = Shape {
    table: "sessions",
    id: "r.id",
    numbers: &[
        "r.created_at",
        "r.started_at",
        "r.ended_at",
        "r.last_active",
        "r.next_turn",
        "r.next_step",
        "r.turn_count",
        "r.step_count",
        "r.total_tokens",
    ],
    texts: &["r.model", "r.mode", "r.summary", "r.metadata"],
    bytes: "r.origin",
};

impl Table for Session {
    const SHAPE: Shape = SESSION;

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            started_at: cells.time(1)?,
            ended_at: cells.maybe_time(2)?,
            last_active: cells.time(3)?,
            next_turn: cells.count(4)?,
            next_step: cells.count(5)?,
            turn_count: cells.count(6)?,
            step_count: cells.count(7)?,
            total_tokens: cells.number(8)?,
            model: cells.maybe_text(0)?,
            mode: cells.maybe_text(1)?,
            summary: cells.maybe_text(2)?,
            metadata: cells.json(3)?,
            first_prompt: None,
        })
    }
}

/// A session as it is listed: with the first prompt.
pub(crate) struct Prompted(pub(crate) Session);

impl Table for Prompted {
    // 256 characters take at most 512 in the escape.
    const SHAPE: Shape = Shape {
        texts: &[
            "r.model",
            "r.mode",
            "r.summary",
            "r.metadata",
            "(SELECT substr(content, 1, 512) FROM @turns WHERE session = r.pk AND role = 'user' \
             ORDER BY position LIMIT 1)",
        ],
        ..SESSION
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        let mut session = Session::decode(cells)?;
        if let Some(beginning) = cells.get::<Option<String>>(TEXT + 4)? {
            let text = unescape_beginning(beginning)
                .ok_or_else(|| cells.wrong("its first prompt has a broken escape of U+0000"))?;
            session.first_prompt = Some(first_prompt(&text).to_owned());
        }
        Ok(Self(session))
    }
}

impl Table for Turn {
    const SHAPE: Shape = Shape {
        table: "turns",
        id: "r.id",
        numbers: &["r.created_at", "r.position", "r.tokens"],
        texts: &[
            "(SELECT id FROM @sessions WHERE pk = r.session)",
            "r.role",
            "r.embedding_id",
            "r.model",
            "r.content",
            "r.metadata",
            "r.tags",
        ],
        bytes: "r.origin",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        let tags: Option<BTreeMap<_, _>> = cells.maybe_json(6)?;
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            session: cells.session()?,
            index: cells.index(1)?,
            role: cells.text(1)?,
            tokens: cells.maybe_number(2)?,
            embedding_id: cells.maybe_text(2)?,
            model: cells.maybe_text(3)?,
            content: cells.text(4)?,
            metadata: cells.json(5)?,
            tags: tags.unwrap_or_default(),
        })
    }
}

impl Table for Step {
    const SHAPE: Shape = Shape {
        table: "steps",
        id: "r.id",
        numbers: &["r.created_at", "r.position"],
        texts: &[
            "(SELECT id FROM @sessions WHERE pk = r.session)",
            "r.name",
            "r.status",
            "r.payload",
        ],
        bytes: "NULL::bytea",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            session: cells.session()?,
            index: cells.index(1)?,
            name: cells.text(1)?,
            status: cells.text(2)?,
            payload: cells.json(3)?,
        })
    }
}

impl Table for Episode {
    const SHAPE: Shape = Shape {
        table: "episodes",
        id: "r.id",
        numbers: &["r.created_at", "r.closed_at", "CASE WHEN r.open THEN 1::bigint ELSE 0 END"],
        texts: &["r.problem", "r.summary", "r.metadata"],
        bytes: "r.origin",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            open: cells.number(2)? == 1,
            closed_at: cells.maybe_time(1)?,
            problem: cells.text(0)?,
            summary: cells.text(1)?,
            metadata: cells.json(2)?,
        })
    }
}

impl Table for Note {
    const SHAPE: Shape = Shape {
        table: "notes",
        id: "r.id",
        numbers: &["r.created_at"],
        texts: &["r.sources", "r.text"],
        bytes: "NULL::bytea",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            sources: cells.sources(0)?,
            text: cells.text(1)?,
        })
    }
}

impl Table for StateSlot {
    const SHAPE: Shape = Shape {
        table: "states",
        id: "r.key",
        numbers: &["r.created_at", "r.updated_at", "r.expires_at", "r.version"],
        texts: &["r.value"],
        bytes: "NULL::bytea",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            key: cells.key()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            updated_at: cells.time(1)?,
            expires_at: cells.maybe_time(2)?,
            version: cells.count(3)?,
            value: cells.maybe_json::<Json>(0)?,
        })
    }
}

impl Table for AuditRecord {
    const SHAPE: Shape = Shape {
        table: "audit",
        id: "r.id",
        numbers: &["r.created_at", "r.seq"],
        texts: &["r.action", "r.decision", "r.detail"],
        bytes: "r.hash",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            id: cells.id()?,
            workspace: cells.workspace()?,
            created_at: cells.time(0)?,
            seq: cells.index(1)?,
            hash: cells.hash()?,
            action: cells.text(0)?,
            decision: cells.text(1)?,
            detail: cells.json(2)?,
        })
    }
}

impl Table for AuditHead {
    const SHAPE: Shape = Shape {
        table: "audit_heads",
        id: "NULL::text",
        numbers: &["r.seq"],
        texts: &[],
        bytes: "r.hash",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self { workspace: cells.workspace()?, seq: cells.index(0)?, hash: cells.hash()? })
    }
}

impl Table for StoredReceipt {
    const SHAPE: Shape = Shape {
        table: "receipts",
        id: "r.key",
        numbers: &["r.at"],
        texts: &["r.marks"],
        bytes: "r.digest",
    };

    fn decode(cells: &Cells<'_>) -> Result<Self> {
        Ok(Self {
            key: cells.key()?,
            at: cells.time(0)?,
            digest: cells.hash()?,
            marks: cells.json(0)?,
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

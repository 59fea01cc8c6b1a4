//! Rows as records.

use std::collections::BTreeMap;

use memkeep_core::{
    AuditHead, AuditRecord, Episode, Json, Note, Record, Result, Session, StateSlot, Step,
    StoredReceipt, Turn, decide::Stored, first_prompt,
};
use sqlx::postgres::PgRow;

use crate::cells::{Cells, Shape};

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
        session.first_prompt = cells.beginning(4)?.map(|text| first_prompt(&text).to_owned());
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

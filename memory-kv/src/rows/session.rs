use memkeep_core::{
    Metadata, Record, RecordKind, Session, SessionId, Timestamp, Workspace, decide::Stored,
};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, listed, read_origin, write_origin};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Session")]
struct SessionRow {
    id: SessionId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    #[serde(with = "field::micros")]
    started_at: Timestamp,
    #[serde(with = "field::maybe_micros")]
    ended_at: Option<Timestamp>,
    model: Option<String>,
    mode: Option<String>,
    summary: Option<String>,
    #[serde(with = "field::json")]
    metadata: Metadata,
    next_turn: u64,
    next_step: u64,
    turn_count: u64,
    step_count: u64,
    total_tokens: i64,
    #[serde(with = "field::micros")]
    last_active: Timestamp,
    #[serde(skip)]
    first_prompt: Option<String>,
}

impl Row for Stored<Session> {
    const KIND: RecordKind = RecordKind::Session;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        SessionRow::serialize(&self.record, &mut *to)?;
        write_origin(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        Ok(Self { record: SessionRow::deserialize(&mut *from)?, origin: read_origin(from)? })
    }

    fn name(&self) -> &str {
        self.record.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.record.workspace
    }

    fn into_record(self) -> Record {
        Record::Session(self.record)
    }

    fn places(&self, number: u64) -> Vec<Pair> {
        let Session { workspace, started_at, last_active, .. } = &self.record;
        let by =
            |table, at| listed(table, Self::KIND, workspace, |key| key.newest(at).number(number));
        [by(Table::Time, *started_at), by(Table::Active, *last_active)].concat()
    }
}

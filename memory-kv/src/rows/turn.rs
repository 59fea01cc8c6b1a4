use std::collections::BTreeMap;

use memkeep_core::{
    Metadata, Record, RecordKind, SessionId, Timestamp, Turn, TurnId, Workspace, decide::Stored,
};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, listed, place, read_origin, write_origin};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Turn")]
struct TurnRow {
    id: TurnId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    session: SessionId,
    index: u64,
    role: String,
    content: String,
    model: Option<String>,
    tokens: Option<i64>,
    embedding_id: Option<String>,
    #[serde(with = "field::json")]
    metadata: Metadata,
    tags: BTreeMap<String, Option<String>>,
}

impl Row for Stored<Turn> {
    const KIND: RecordKind = RecordKind::Turn;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        TurnRow::serialize(&self.record, &mut *to)?;
        write_origin(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        Ok(Self { record: TurnRow::deserialize(&mut *from)?, origin: read_origin(from)? })
    }

    fn name(&self) -> &str {
        self.record.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.record.workspace
    }

    fn into_record(self) -> Record {
        Record::Turn(self.record)
    }

    fn places(&self, number: u64) -> Vec<Pair> {
        let Turn { workspace, created_at, session, index, role, .. } = &self.record;
        let mut pairs = listed(Table::Time, Self::KIND, workspace, |key| {
            key.newest(*created_at).number(number)
        })
        .to_vec();
        let mut put = |table| {
            let key = place(table, Self::KIND, session.as_str(), *index);
            pairs.push((key, number.to_be_bytes().to_vec()));
        };
        put(Table::Place);
        if role == "user" {
            put(Table::UserTurn);
        }
        pairs
    }
}

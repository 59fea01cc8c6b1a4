use memkeep_core::{Counts, Json, Record, RecordKind, StateSlot, Timestamp, Workspace};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field};
use crate::{
    codec::{Input, Output},
    key,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "StateSlot")]
struct StateRow {
    workspace: Workspace,
    key: String,
    #[serde(with = "field::maybe_json")]
    value: Option<Json>,
    version: u64,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    #[serde(with = "field::micros")]
    updated_at: Timestamp,
    #[serde(with = "field::maybe_micros")]
    expires_at: Option<Timestamp>,
}

impl Row for StateSlot {
    const KIND: RecordKind = RecordKind::State;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        StateRow::serialize(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        StateRow::deserialize(from)
    }

    fn name(&self) -> &str {
        &self.key
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn counts(&self) -> Counts {
        if self.value.is_some() { Counts::one(Self::KIND) } else { Counts::default() }
    }

    fn into_record(self) -> Record {
        Record::State(self)
    }

    fn id_key(&self) -> Vec<u8> {
        key::state(self.workspace.as_str(), &self.key)
    }

    fn places(&self, _: u64) -> Vec<Pair> {
        Vec::new()
    }
}

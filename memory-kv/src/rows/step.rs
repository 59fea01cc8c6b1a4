use memkeep_core::{Json, Record, RecordKind, SessionId, Step, StepId, Timestamp, Workspace};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, place};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Step")]
struct StepRow {
    id: StepId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    session: SessionId,
    index: u64,
    name: String,
    status: String,
    #[serde(with = "field::json")]
    payload: Json,
}

impl Row for Step {
    const KIND: RecordKind = RecordKind::Step;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        StepRow::serialize(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        StepRow::deserialize(from)
    }

    fn name(&self) -> &str {
        self.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn into_record(self) -> Record {
        Record::Step(self)
    }

    fn places(&self, number: u64) -> Vec<Pair> {
        let key = place(Table::Place, Self::KIND, self.session.as_str(), self.index);
        vec![(key, number.to_be_bytes().to_vec())]
    }
}

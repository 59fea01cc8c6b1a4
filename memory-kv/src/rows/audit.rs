use memkeep_core::{AuditId, AuditRecord, Hash, Json, Record, RecordKind, Timestamp, Workspace};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, place};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "AuditRecord")]
struct AuditRow {
    id: AuditId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    seq: u64,
    action: String,
    decision: String,
    #[serde(with = "field::json")]
    detail: Json,
    #[serde(with = "HashRow")]
    hash: Hash,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hash")]
pub(super) struct HashRow([u8; 32]);

impl Row for AuditRecord {
    const KIND: RecordKind = RecordKind::Audit;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        AuditRow::serialize(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        AuditRow::deserialize(from)
    }

    fn name(&self) -> &str {
        self.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn into_record(self) -> Record {
        Record::Audit(self)
    }

    /// The hash stands with the number, so that the end of a chain is read without its record.
    fn places(&self, number: u64) -> Vec<Pair> {
        let key = place(Table::Place, Self::KIND, self.workspace.as_str(), self.seq);
        vec![(key, [&number.to_be_bytes()[..], &self.hash.0].concat())]
    }
}

use memkeep_core::{
    Episode, EpisodeId, Metadata, Record, RecordKind, Timestamp, Workspace, decide::Stored,
};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, listed, read_origin, write_origin};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Episode")]
struct EpisodeRow {
    id: EpisodeId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    problem: String,
    summary: String,
    open: bool,
    #[serde(with = "field::maybe_micros")]
    closed_at: Option<Timestamp>,
    #[serde(with = "field::json")]
    metadata: Metadata,
}

impl Row for Stored<Episode> {
    const KIND: RecordKind = RecordKind::Episode;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        EpisodeRow::serialize(&self.record, &mut *to)?;
        write_origin(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        Ok(Self { record: EpisodeRow::deserialize(&mut *from)?, origin: read_origin(from)? })
    }

    fn name(&self) -> &str {
        self.record.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.record.workspace
    }

    fn into_record(self) -> Record {
        Record::Episode(self.record)
    }

    fn places(&self, number: u64) -> Vec<Pair> {
        let Episode { workspace, created_at, .. } = &self.record;
        listed(Table::Time, Self::KIND, workspace, |key| key.time(*created_at).number(number))
            .to_vec()
    }
}

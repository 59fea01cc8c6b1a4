use memkeep_core::{EpisodeId, Note, NoteId, Record, RecordKind, Timestamp, Workspace};
use serde::{Deserialize, Serialize};

use super::{Pair, Row, field, listed};
use crate::{
    codec::{Input, Output},
    key::Table,
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Note")]
struct NoteRow {
    id: NoteId,
    workspace: Workspace,
    #[serde(with = "field::micros")]
    created_at: Timestamp,
    text: String,
    sources: Vec<EpisodeId>,
}

impl Row for Note {
    const KIND: RecordKind = RecordKind::Note;

    fn write(&self, to: &mut Output) -> postcard::Result<()> {
        NoteRow::serialize(self, to)
    }

    fn read(from: &mut Input<'_>) -> postcard::Result<Self> {
        NoteRow::deserialize(from)
    }

    fn name(&self) -> &str {
        self.id.as_str()
    }

    fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    fn into_record(self) -> Record {
        Record::Note(self)
    }

    fn places(&self, number: u64) -> Vec<Pair> {
        listed(Table::Time, Self::KIND, &self.workspace, |key| {
            key.time(self.created_at).number(number)
        })
        .to_vec()
    }
}

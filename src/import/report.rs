use serde::Serialize;

use super::{SourceFormat, item::Kind};
use crate::RecordKind;

/// What an import did with every row of a file.
///
/// A row of a known table is counted once under its kind: as stored, already there, or skipped.
/// Those of them that had to be repaired are counted as repaired besides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// What the file was read as.
    pub format: SourceFormat,
    /// Whether nothing was stored, and `stored` counts what would have been.
    pub dry_run: bool,
    /// What became of the rows, by the kind of record they make.
    pub counts: ImportCounts,
    /// Every repair, every row that was skipped, and every record that the store holds otherwise
    /// than the file, in the order in which they were met.
    pub issues: Vec<ImportIssue>,
    /// What else a person should know: workspaces that differ by a slash, records of another
    /// source in the same workspace, an export that is not whole.
    pub remarks: Vec<String>,
}

impl ImportReport {
    pub(super) fn new(format: SourceFormat, dry_run: bool) -> Self {
        let (counts, issues, remarks) = (ImportCounts::default(), Vec::new(), Vec::new());
        Self { format, dry_run, counts, issues, remarks }
    }
}

/// What became of the rows, by the kind of record they make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImportCounts {
    /// Sessions, those included that were made for turns and steps without one.
    pub sessions: ImportTally,
    /// Turns.
    pub turns: ImportTally,
    /// Tags, each a row of its own in velune.
    pub tags: ImportTally,
    /// Execution steps.
    pub steps: ImportTally,
    /// Episodes.
    pub episodes: ImportTally,
    /// Notes.
    pub notes: ImportTally,
    /// State entries.
    pub states: ImportTally,
    /// Audit records.
    pub audits: ImportTally,
    /// Lines of an export that hold no record.
    pub lines: ImportTally,
}

impl ImportCounts {
    pub(super) fn of_mut(&mut self, kind: Kind) -> &mut ImportTally {
        match kind {
            Kind::Record(RecordKind::Session) => &mut self.sessions,
            Kind::Record(RecordKind::Turn) => &mut self.turns,
            Kind::Record(RecordKind::Step) => &mut self.steps,
            Kind::Record(RecordKind::Episode) => &mut self.episodes,
            Kind::Record(RecordKind::Note) => &mut self.notes,
            Kind::Record(RecordKind::State) => &mut self.states,
            Kind::Record(RecordKind::Audit) => &mut self.audits,
            #[cfg(feature = "import")]
            Kind::Tag => &mut self.tags,
            Kind::Line => &mut self.lines,
        }
    }

    /// The tallies with their names, in a fixed order.
    pub fn by_kind(&self) -> [(&'static str, ImportTally); 9] {
        let Self { sessions, turns, tags, steps, episodes, notes, states, audits, lines } = *self;
        [
            ("sessions", sessions),
            ("turns", turns),
            ("tags", tags),
            ("steps", steps),
            ("episodes", episodes),
            ("notes", notes),
            ("states", states),
            ("audits", audits),
            ("lines", lines),
        ]
    }

    /// All kinds together.
    pub fn total(&self) -> ImportTally {
        self.by_kind().into_iter().fold(ImportTally::default(), |sum, (_, tally)| ImportTally {
            stored: sum.stored + tally.stored,
            already_there: sum.already_there + tally.already_there,
            repaired: sum.repaired + tally.repaired,
            skipped: sum.skipped + tally.skipped,
        })
    }
}

/// How many rows of a kind became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportTally {
    /// Stored by this import.
    pub stored: u64,
    /// In the store before this import.
    pub already_there: u64,
    /// Among the others: with a value that had to be changed.
    pub repaired: u64,
    /// Not stored.
    pub skipped: u64,
}

/// One thing that an import has to tell about a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ImportIssue {
    /// What was done.
    pub action: ImportAction,
    /// The file's table; `lines` for an export.
    pub table: &'static str,
    /// The row's rowid, or the line's number from 1.
    pub rowid: i64,
    /// The id, or the state key, of the record that the row makes, where it makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why, for a person.
    pub reason: String,
}

/// What an import did with a row that it has to tell something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ImportAction {
    /// A value was changed so that it can be stored.
    Repaired,
    /// The row is not stored.
    Skipped,
    /// The record is there and differs from the file; it was left as it is.
    Kept,
}

use std::sync::Arc;

use super::{
    View, Writer,
    analysis::Analysis,
    tender::{Due, Stake, Tender, Urge},
};
use crate::{
    Episode, ErrorKind, ListTurns, Page, Record, RecordKind, Result, Scan, Scope, Timestamp,
    decide::{Change, Put},
    recall::{
        Analyzer, Language,
        index::{ATTEMPTS, Analysed, BULK, Changes, Coverage, RECALLED, append, clear, disturbed},
    },
};

/// So many records that the index has not come to keep the writer waiting for what is worked out of
/// them: recall has to read them as they are.
const LAG: u64 = 3_072;

/// The writer's part in the recall indexes: takes out what goes with a commit, and writes what was worked
/// out of the rest.
pub(super) struct Indexer {
    analysis: Analysis,
    indexes: [Index; 3],
    /// Works out here what is not worked out aside.
    tender: Tender,
}

/// The index of a kind of record.
struct Index {
    kind: RecordKind,
    /// How many records have come that were not indexed, as far as is known.
    waiting: u64,
    /// What the open transaction takes out of the index.
    removals: Option<Removals>,
}

struct Removals {
    coverage: Coverage,
    changes: Changes,
    /// Whether anything changes that is not covered.
    has_newer: bool,
    /// What is to be taken out is unknown: a record could not be read, or the index covers nothing
    /// and is another language's, which would go on to find what goes.
    is_lost: bool,
}

impl Indexer {
    pub(super) fn new(analyzer: Arc<Analyzer>, wants_words: bool) -> Self {
        let index = |kind| Index { kind, waiting: 0, removals: None };
        let analysis = Analysis::new(analyzer.clone());
        let tender = Tender::new(analyzer, wants_words);
        Self { analysis, indexes: RECALLED.map(index), tender }
    }

    /// The language that documents are stemmed in.
    pub(super) fn language(&self) -> Language {
        self.analysis.analyzer.language()
    }

    /// Applies the changes of a batch, and takes note of what they mean to the indexes.
    pub(super) fn apply(&mut self, writer: &mut impl Writer, changes: &[Change]) -> Result<()> {
        let has_index = RECALLED.iter().any(|kind| writer.index(*kind).is_some());
        let mut from = 0;
        for (at, change) in changes.iter().enumerate() {
            if has_index && takes_away(change) {
                // What goes is read first, as the changes before have left it.
                writer.apply(&changes[from..at])?;
                from = at;
                self.take_out(writer.view(), change)?;
            }
            let new = match change {
                Change::PutEpisode(Put { new: true, .. }) => Some(0),
                Change::PutTurn(Put { new: true, .. }) => Some(1),
                Change::PutNote(_) => Some(2),
                _ => None,
            };
            if let Some(at) = new {
                self.indexes[at].waiting += 1;
            }
        }
        writer.apply(&changes[from..])
    }

    /// Writes what is to be written before the transaction is committed.
    pub(super) fn write(&mut self, writer: &mut impl Writer) -> Result<()> {
        self.analysis.forget();
        self.tender.has_committed();
        let language = self.language();
        for index in &mut self.indexes {
            if let Some(mut removals) = index.removals.take()
                && let Some(mut blobs) = writer.index(index.kind)
            {
                if removals.is_lost {
                    clear(&mut *blobs, language)?;
                    continue;
                }
                if removals.has_newer {
                    removals.coverage.put(&mut *blobs, language)?;
                }
                append(&mut *blobs, index.kind, &mut removals.changes)?;
            }
        }
        Ok(())
    }

    /// Writes in the open transaction what was worked out before. Returns what was refused.
    pub(super) fn write_steps(
        &mut self,
        writer: &mut impl Writer,
        steps: Vec<Due>,
        now: Timestamp,
    ) -> Result<Vec<Stake>> {
        let mut refused = Vec::new();
        if steps.is_empty() {
            return Ok(refused);
        }
        // What waits is known by what was committed here, but others may have indexed it.
        let is_counted = self.is_behind() || steps.iter().any(|due| due.stake().extends);
        for due in steps {
            let stake = due.stake();
            // An engine whose writer has no place for them loses them.
            if let Some(mut blobs) = writer.index(due.kind)
                && !due.step.apply(&mut *blobs, now)?
            {
                refused.push(stake);
            }
        }
        if is_counted {
            self.count_waiting(writer.view())?;
        }
        Ok(refused)
    }

    fn count_waiting(&mut self, view: &dyn View) -> Result<()> {
        let language = self.language();
        for index in &mut self.indexes {
            if let Some(blobs) = view.index(index.kind) {
                let covered = Coverage::get(&*blobs, language)?.last;
                index.waiting = view.last_number(index.kind)?.saturating_sub(covered);
            }
        }
        Ok(())
    }

    /// Whether so many records wait that they are to be indexed now.
    pub(super) fn is_behind(&self) -> bool {
        self.indexes.iter().any(|index| index.waiting >= BULK as u64)
    }

    /// Whether any wait.
    pub(super) fn is_waiting(&self) -> bool {
        self.indexes.iter().any(|index| index.waiting > 0)
    }

    /// Whether so many wait that what is new has to wait for them.
    pub(super) fn is_far_behind(&self) -> bool {
        self.indexes.iter().any(|index| index.waiting >= LAG)
    }

    /// Takes note that what waits is not to be had: it is not asked for again until as much has come.
    pub(super) fn give_up(&mut self) {
        for index in &mut self.indexes {
            index.waiting = 0;
        }
    }

    /// Forgets what was noted: the transaction is taken back.
    pub(super) fn reset(&mut self) {
        self.analysis.forget();
        for index in &mut self.indexes {
            index.removals = None;
        }
    }

    /// Does a bit of what keeps the indexes in step and in shape, in a transaction of its own. Returns
    /// whether there was anything to do.
    pub(super) fn tend(
        &mut self,
        writer: &mut impl Writer,
        now: Timestamp,
        urge: Urge,
    ) -> Result<bool> {
        let mut at_stake = None;
        let done = self.within(writer, |indexer, writer| {
            let Some(due) = indexer.tender.step(writer.view(), now, urge)? else {
                return Ok(false);
            };
            at_stake = Some(due.stake());
            let refused = indexer.write_steps(writer, vec![due], now)?;
            for stake in refused {
                indexer.tender.lose(stake);
            }
            Ok(true)
        });
        done.inspect_err(|_| at_stake.into_iter().for_each(|stake| self.tender.lose(stake)))
    }

    /// Merges all there is, so that nothing is left of what was removed.
    pub(super) fn merge_all(&mut self, writer: &mut impl Writer, now: Timestamp) -> Result<()> {
        // Another process may commit between its steps, and leave something to be merged again.
        for _ in 0..ATTEMPTS {
            let mut is_due = false;
            self.within(writer, |indexer, writer| {
                for (kind, keeper) in indexer.tender.keepers() {
                    if let Some(mut blobs) = writer.index(kind) {
                        is_due |= keeper.begin_all(&mut *blobs)?;
                    }
                }
                Ok(true)
            })?;
            while self.tend(writer, now, Urge::Due)? {}
            if !is_due {
                return Ok(());
            }
        }
        Err(disturbed())
    }

    /// Begins to make the indexes anew: [`tend`](Self::tend) goes on.
    pub(super) fn begin_anew(&mut self, writer: &mut impl Writer) -> Result<()> {
        self.within(writer, |indexer, writer| indexer.drop_all(writer).map(|()| true)).map(drop)
    }

    /// Drops the indexes, to be made anew from the records; in the open transaction.
    pub(super) fn drop_all<W: Writer>(&mut self, writer: &mut W) -> Result<()> {
        let language = self.language();
        self.tender.reset();
        for index in &self.indexes {
            if let Some(mut blobs) = writer.index(index.kind) {
                clear(&mut *blobs, language)?;
            }
        }
        Ok(())
    }

    /// Does `work` in a transaction of its own, which is taken back if there was nothing to do.
    fn within<W: Writer>(
        &mut self,
        writer: &mut W,
        work: impl FnOnce(&mut Self, &mut W) -> Result<bool>,
    ) -> Result<bool> {
        writer.begin()?;
        let done = work(self, writer).and_then(|any| {
            if any {
                writer.commit()?;
            } else {
                writer.rollback();
            }
            Ok(any)
        });
        done.inspect_err(|_| {
            writer.rollback();
            self.reset();
        })
    }

    /// Takes note of what goes with a change that is about to be applied.
    fn take_out(&mut self, view: &mut dyn View, change: &Change) -> Result<()> {
        match change {
            Change::DeleteTurn(id) => {
                let turn = view.turn(&Scope::All, id);
                self.remove(view, RecordKind::Turn, turn.map(|turn| turn.map(Record::Turn)))
            }
            Change::DeleteEpisode(id) => {
                let episode = view.episode(&Scope::All, id);
                let record = episode.map(|episode| episode.map(Record::Episode));
                self.remove(view, RecordKind::Episode, record)
            }
            Change::DeleteNote(id) => {
                let note = view.note(&Scope::All, id);
                self.remove(view, RecordKind::Note, note.map(|note| note.map(Record::Note)))
            }
            Change::PutEpisode(Put { row, new: false }) => {
                let old = view.episode(&Scope::All, &row.record.id);
                if matches!(&old, Ok(Some(old)) if is_found_alike(old, &row.record)) {
                    return Ok(());
                }
                let record = old.map(|episode| episode.map(Record::Episode));
                self.remove(view, RecordKind::Episode, record)?;
                // Its new form comes in the place of the old.
                self.change(view, &Record::Episode(row.record.clone()), Changes::add)
            }
            Change::DeleteSession(id) => {
                let turns = view.turns(&ListTurns::new(id.clone()).limit(usize::MAX));
                self.remove_all(view, RecordKind::Turn, turns.map(|page| page.map(Record::Turn)))
            }
            Change::DeleteWorkspace(workspace) => RECALLED.into_iter().try_for_each(|kind| {
                let records = view.scan(&Scan::new(kind).scope(workspace.clone()));
                self.remove_all(view, kind, records)
            }),
            _ => Ok(()),
        }
    }

    fn remove_all(
        &mut self,
        view: &dyn View,
        kind: RecordKind,
        records: Result<Page<Record>>,
    ) -> Result<()> {
        match records {
            Ok(page) => {
                page.items.into_iter().try_for_each(|r| self.remove(view, kind, Ok(Some(r))))
            }
            Err(error) => self.remove(view, kind, Err(error)),
        }
    }

    /// Takes out a record, as it is read, if it is in the index.
    fn remove(
        &mut self,
        view: &dyn View,
        kind: RecordKind,
        record: Result<Option<Record>>,
    ) -> Result<()> {
        match record {
            Ok(None) => Ok(()),
            Ok(Some(record)) => self.change(view, &record, Changes::remove),
            // The index cannot be told what goes: it is made anew.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                if let Some(removals) = self.removals(view, kind)? {
                    removals.is_lost = true;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn change(
        &mut self,
        view: &dyn View,
        record: &Record,
        change: impl FnOnce(&mut Changes, Analysed),
    ) -> Result<()> {
        let kind = record.kind();
        let Some(number) = view.number(kind, record.id())? else { return Ok(()) };
        let Some(removals) = self.removals(view, kind)? else { return Ok(()) };
        if number > removals.coverage.last {
            removals.has_newer = true;
            return Ok(());
        }
        if let Some(document) = self.analysis.any(view, number, record)?
            && let Some(removals) = self.removals(view, kind)?
        {
            change(&mut removals.changes, document);
        }
        Ok(())
    }

    /// What the open transaction takes out of the index of a kind; none if the engine keeps none.
    fn removals(&mut self, view: &dyn View, kind: RecordKind) -> Result<Option<&mut Removals>> {
        let language = self.language();
        let Some(index) = self.indexes.iter_mut().find(|index| index.kind == kind) else {
            return Ok(None);
        };
        if index.removals.is_none() {
            let Some(blobs) = view.index(kind) else { return Ok(None) };
            let coverage = Coverage::get(&*blobs, language)?;
            let is_lost = coverage.last == 0;
            let changes = Changes::default();
            index.removals = Some(Removals { coverage, changes, has_newer: false, is_lost });
        }
        Ok(index.removals.as_mut())
    }
}

/// Whether a change needs what it replaces or deletes to be read.
fn takes_away(change: &Change) -> bool {
    match change {
        Change::DeleteWorkspace(_)
        | Change::DeleteSession(_)
        | Change::DeleteTurn(_)
        | Change::DeleteEpisode(_)
        | Change::DeleteNote(_) => true,
        Change::PutEpisode(put) => !put.new,
        _ => false,
    }
}

/// Whether recall makes no difference between two forms of an episode.
fn is_found_alike(old: &Episode, new: &Episode) -> bool {
    (old.open, &old.problem, &old.summary) == (new.open, &new.problem, &new.summary)
}

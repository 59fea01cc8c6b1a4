use std::ops::Range;

use super::{View, Writer, analysis::Analysis};
use crate::{
    Episode, Error, ErrorKind, ListTurns, Page, Record, RecordKind, Result, Scan, Scope, Timestamp,
    decide::{Change, Put},
    recall::{
        Analyzer, Language,
        index::{Analysed, Changes, Coverage, Keeper, append, clear},
    },
};

/// So many new records are indexed by the commit that adds the last of them; fewer wait until there is
/// nothing else to do, and recall reads them as they are.
const BULK: u64 = 256;

/// How many records are indexed in a step.
const STEP: u64 = 1_024;

/// The kinds of records that are recalled.
pub(super) const KINDS: [RecordKind; 3] = [RecordKind::Episode, RecordKind::Turn, RecordKind::Note];

/// Keeps the recall indexes in step with what is committed, and in shape.
pub(super) struct Indexer {
    analysis: Analysis,
    indexes: [Index; 3],
    /// Whether segments were added that may be due to be merged.
    has_extended: bool,
    /// Whether turns are to be found by their words. If not, an index that has them keeps them.
    wants_words: bool,
}

/// The index of a kind of record.
struct Index {
    kind: RecordKind,
    keeper: Keeper,
    /// How many records have come since records were indexed.
    waiting: u64,
    /// What the open transaction takes out of the index.
    removals: Option<Removals>,
    /// Whether it may be begun where nothing is covered: once after each commit. Handles of different
    /// languages would take it from each other without an end otherwise.
    may_begin: bool,
    /// Whether the engine's writer has a place for it, as far as is known.
    is_kept: bool,
    /// How far it had come before the last step that did not go on with a merge.
    trace: Option<Trace>,
}

/// The numbers that an index has not come to, and what its keeper leaves of each step.
type Trace = (Range<u64>, Vec<u8>);

struct Removals {
    coverage: Coverage,
    changes: Changes,
    /// What is to be taken out is unknown: a record could not be read, or the index covers nothing
    /// and is another language's, which would go on to find what goes.
    is_lost: bool,
}

impl Indexer {
    pub(super) fn new(language: Language, wants_words: bool) -> Self {
        let index = |kind| Index {
            kind,
            keeper: Keeper::new(kind),
            waiting: 0,
            removals: None,
            may_begin: true,
            is_kept: true,
            trace: None,
        };
        let analysis = Analysis::new(Analyzer::remembering(language));
        Self { analysis, indexes: KINDS.map(index), has_extended: false, wants_words }
    }

    /// The language that documents are stemmed in.
    pub(super) fn language(&self) -> Language {
        self.analysis.analyzer.language()
    }

    /// Applies the changes of a batch, and takes note of what they mean to the indexes.
    pub(super) fn apply(&mut self, writer: &mut impl Writer, changes: &[Change]) -> Result<()> {
        let has_index = KINDS.iter().any(|kind| writer.index(*kind).is_some());
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
        for at in 0..self.indexes.len() {
            let index = &mut self.indexes[at];
            index.may_begin = true;
            if let Some(mut removals) = index.removals.take()
                && let Some(mut blobs) = writer.index(index.kind)
            {
                if removals.is_lost {
                    clear(&mut *blobs)?;
                } else {
                    append(&mut *blobs, index.kind, &mut removals.changes)?;
                }
            }
            if self.indexes[at].waiting >= BULK {
                match self.extend(writer, at) {
                    // An older record is damaged: that is no fault of this commit's.
                    Err(error) if error.kind() == ErrorKind::Corrupt => {
                        self.indexes[at].waiting = 0;
                    }
                    extended => extended?,
                }
            }
        }
        Ok(())
    }

    /// Whether segments were added since all that was due was merged.
    pub(super) fn has_extended(&self) -> bool {
        self.has_extended
    }

    /// Takes note that nothing is due.
    pub(super) fn caught_up(&mut self) {
        self.has_extended = false;
    }

    /// Forgets what was noted: the transaction is taken back.
    pub(super) fn reset(&mut self) {
        self.analysis.forget();
        for index in &mut self.indexes {
            index.removals = None;
            index.may_begin = true;
            index.keeper.reset();
        }
    }

    /// Does a bit of what keeps the indexes in shape, in a transaction of its own. Returns whether
    /// there was anything to do.
    pub(super) fn tend(
        &mut self,
        writer: &mut impl Writer,
        now: Timestamp,
        is_idle: bool,
    ) -> Result<bool> {
        for at in 0..self.indexes.len() {
            if self.is_due(writer.view(), at, now, is_idle)? {
                self.advance(writer, at, now, is_idle)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Merges all there is, so that nothing is left of what was removed.
    pub(super) fn merge_all(&mut self, writer: &mut impl Writer, now: Timestamp) -> Result<()> {
        for at in 0..self.indexes.len() {
            let kind = self.indexes[at].kind;
            self.within(writer, |indexer, writer| {
                let keeper = &mut indexer.indexes[at].keeper;
                writer.index(kind).map_or(Ok(()), |mut blobs| keeper.begin_all(&mut *blobs, now))
            })?;
            while self.is_due(writer.view(), at, now, false)? {
                self.advance(writer, at, now, false)?;
            }
        }
        Ok(())
    }

    /// Begins to make the indexes anew: [`tend`](Self::tend) goes on.
    pub(super) fn begin_anew(&mut self, writer: &mut impl Writer) -> Result<()> {
        self.within(writer, Self::drop_all)
    }

    /// Drops the indexes, to be made anew from the records; in the open transaction.
    pub(super) fn drop_all<W: Writer>(&mut self, writer: &mut W) -> Result<()> {
        for index in &mut self.indexes {
            index.may_begin = true;
            index.keeper.reset();
            if let Some(mut blobs) = writer.index(index.kind) {
                clear(&mut *blobs)?;
            }
        }
        Ok(())
    }

    /// Does `work` in a transaction of its own.
    fn within<W: Writer>(
        &mut self,
        writer: &mut W,
        work: impl FnOnce(&mut Self, &mut W) -> Result<()>,
    ) -> Result<()> {
        writer.begin()?;
        work(self, writer).and_then(|()| writer.commit()).inspect_err(|_| {
            writer.rollback();
            self.reset();
        })
    }

    fn is_due(&self, view: &dyn View, at: usize, now: Timestamp, is_idle: bool) -> Result<bool> {
        let Index { kind, keeper, is_kept, .. } = &self.indexes[at];
        let Some(blobs) = view.index(*kind).filter(|_| *is_kept) else { return Ok(false) };
        Ok(self.is_behind(view, at)? || keeper.is_due(&*blobs, now, is_idle)?)
    }

    /// Whether numbers are missing that the index may come to.
    fn is_behind(&self, view: &dyn View, at: usize) -> Result<bool> {
        let Index { kind, may_begin, .. } = &self.indexes[at];
        let missing = self.missing(view, *kind)?;
        Ok(!missing.is_empty() && (missing.start > 1 || *may_begin))
    }

    /// The numbers that the index has not come to.
    fn missing(&self, view: &dyn View, kind: RecordKind) -> Result<Range<u64>> {
        // Nothing is missing where there is no index.
        let Some(blobs) = view.index(kind) else { return Ok(0..0) };
        let coverage = Coverage::get(&*blobs, self.language())?;
        // One without the words that are wanted is made anew.
        let is_usable = coverage.has_words || !self.wants_words || kind != RecordKind::Turn;
        let first = if is_usable { coverage.last + 1 } else { 1 };
        Ok(first..view.last_number(kind)? + 1)
    }

    /// A step in a transaction of its own. An error if nothing came of it: an engine that loses what is
    /// written must not keep its writer busy for ever.
    fn advance(
        &mut self,
        writer: &mut impl Writer,
        at: usize,
        now: Timestamp,
        is_idle: bool,
    ) -> Result<()> {
        if let Some(before) = self.trace(writer.view(), at, now)? {
            self.indexes[at].trace = Some(before);
        }
        self.within(writer, |indexer, writer| indexer.step(writer, at, now, is_idle))?;
        let after = self.trace(writer.view(), at, now)?;
        if self.indexes[at].is_kept && after.is_some() && self.indexes[at].trace == after {
            let lost = "what was written to an index is not there";
            return Err(Error::new(ErrorKind::Unexpected, lost));
        }
        Ok(())
    }

    /// How far the index of a kind has come; none while a merge is under way.
    fn trace(&self, view: &dyn View, at: usize, now: Timestamp) -> Result<Option<Trace>> {
        let Index { kind, keeper, .. } = &self.indexes[at];
        let missing = self.missing(view, *kind)?;
        let Some(blobs) = view.index(*kind) else { return Ok(None) };
        Ok(keeper.trace(&*blobs, now)?.map(|trace| (missing, trace)))
    }

    fn step(
        &mut self,
        writer: &mut impl Writer,
        at: usize,
        now: Timestamp,
        is_idle: bool,
    ) -> Result<()> {
        let kind = self.indexes[at].kind;
        self.analysis.forget();
        if writer.index(kind).is_none() {
            self.indexes[at].is_kept = false;
            return Ok(());
        }
        if self.is_behind(writer.view(), at)? {
            return self.extend(writer, at);
        }
        let keeper = &mut self.indexes[at].keeper;
        writer
            .index(kind)
            .map_or(Ok(()), |mut blobs| keeper.step(&mut *blobs, now, is_idle).map(drop))
    }

    /// Indexes the records that are missing: so many as are a step's work.
    fn extend(&mut self, writer: &mut impl Writer, at: usize) -> Result<()> {
        let kind = self.indexes[at].kind;
        let missing = self.missing(writer.view(), kind)?;
        if missing.is_empty() {
            return Ok(());
        }
        let first = missing.start;
        let last = (missing.end - 1).min(first + STEP - 1);
        let mut changes = Changes::default();
        let view = writer.view();
        let Some(blobs) = view.index(kind) else { return Ok(()) };
        let has_words = if first == 1 {
            self.wants_words && kind == RecordKind::Turn
        } else {
            Coverage::get(&*blobs, self.language())?.has_words
        };
        drop(blobs);
        self.analysis.has_words = has_words;
        for number in first..=last {
            if let Some(record) = view.numbered(kind, number)?
                && let Some(document) = self.analysis.any(view, number, &record)?
            {
                changes.add(document);
            }
        }
        self.indexes[at].waiting = 0;
        self.has_extended = true;
        let Some(mut blobs) = writer.index(kind) else { return Ok(()) };
        if first == 1 {
            self.indexes[at].may_begin = false;
            // An index of another version or language may be there.
            clear(&mut *blobs)?;
        }
        Coverage { last, has_words }.put(&mut *blobs, self.language())?;
        append(&mut *blobs, kind, &mut changes)
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
            Change::DeleteWorkspace(workspace) => KINDS.into_iter().try_for_each(|kind| {
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
            index.removals = Some(Removals { coverage, changes: Changes::default(), is_lost });
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

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    View,
    analysis::{Analysis, MAX_BYTES},
};
use crate::{
    Error, ErrorKind, RecordKind, Result, Timestamp,
    recall::{
        Analyzer,
        index::{BULK, Changes, Coverage, Keeper, RECALLED, STEP, Step},
    },
};

/// How much is to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Urge {
    /// What is new, if it is much.
    Behind,
    /// What must not be put off.
    Due,
    /// All that is new, too: it has waited for some time.
    New,
    /// Whatever there is, since nothing else is waiting to be done.
    All,
}

/// How long steps are gathered that are written together.
const TOGETHER: Duration = Duration::from_millis(10);

/// Works out, from one state of the store, what keeps the recall indexes in step with the records and in
/// shape.
pub(super) struct Tender {
    analysis: Analysis,
    kinds: [Kept; 3],
    /// Whether turns are to be found by their words. If not, an index that has them keeps them.
    wants_words: bool,
    /// How much longer it worked on what is new than on merging, as long as there is anything to merge.
    owed: Duration,
}

/// The index of a kind of record.
struct Kept {
    kind: RecordKind,
    keeper: Keeper,
    /// Whether it may be begun where nothing is covered: once after each commit. Handles of different
    /// languages would take it from each other without an end otherwise.
    may_begin: bool,
    /// Of the last step that has one.
    trace: Option<Vec<u8>>,
}

/// A step, to be written.
pub(super) struct Due {
    pub(super) kind: RecordKind,
    pub(super) step: Step,
}

/// What is lost if a step is not written.
#[derive(Clone, Copy)]
pub(super) struct Stake {
    pub(super) kind: RecordKind,
    /// Whether it is what is new; else a merge.
    pub(super) extends: bool,
}

impl Due {
    pub(super) fn stake(&self) -> Stake {
        Stake { kind: self.kind, extends: self.step.extends() }
    }
}

impl Tender {
    pub(super) fn new(analyzer: Arc<Analyzer>, wants_words: bool) -> Self {
        let kept = |kind| Kept { kind, keeper: Keeper::new(kind), may_begin: true, trace: None };
        let analysis = Analysis::new(analyzer);
        Self { analysis, kinds: RECALLED.map(kept), wants_words, owed: Duration::ZERO }
    }

    /// The keeper of each kind's index.
    pub(super) fn keepers(&mut self) -> impl Iterator<Item = (RecordKind, &mut Keeper)> {
        self.kinds.iter_mut().map(|kept| (kept.kind, &mut kept.keeper))
    }

    /// Something was committed.
    pub(super) fn has_committed(&mut self) {
        for kept in &mut self.kinds {
            kept.may_begin = true;
        }
    }

    /// A step was not written.
    pub(super) fn lose(&mut self, lost: Stake) {
        if let Some(kept) = self.kinds.iter_mut().find(|kept| kept.kind == lost.kind) {
            kept.trace = None;
            if !lost.extends {
                kept.keeper.reset();
            }
        }
    }

    /// The indexes are to be begun anew.
    pub(super) fn reset(&mut self) {
        self.has_committed();
        for kept in &mut self.kinds {
            kept.keeper.reset();
            kept.trace = None;
        }
    }

    /// The next steps, to be written together: more than one only in the course of a merge.
    pub(super) fn steps(
        &mut self,
        view: &dyn View,
        now: Timestamp,
        urge: Urge,
        is_over: &AtomicBool,
    ) -> Result<Vec<Due>> {
        let started = Instant::now();
        let mut steps: Vec<Due> = Vec::new();
        loop {
            match self.step(view, now, urge) {
                Ok(None) => return Ok(steps),
                Ok(Some(due)) => steps.push(due),
                Err(error) => {
                    for due in &steps {
                        self.lose(due.stake());
                    }
                    return Err(error);
                }
            }
            let goes_on = steps.last().is_some_and(|due| due.step.goes_on());
            if !goes_on || started.elapsed() >= TOGETHER || is_over.load(Ordering::Relaxed) {
                return Ok(steps);
            }
        }
    }

    /// The next step, if there is any to do.
    ///
    /// Errors: when a step comes again though it was written. An engine that loses what is written must
    /// not be kept busy for ever.
    pub(super) fn step(
        &mut self,
        view: &dyn View,
        now: Timestamp,
        urge: Urge,
    ) -> Result<Option<Due>> {
        let started = Instant::now();
        if self.owed.is_zero()
            && let Some(due) = self.extend_any(view, urge)?
        {
            self.owed = started.elapsed();
            return Ok(Some(due));
        }
        if urge != Urge::Behind
            && let Some(due) = self.keep_any(view, now, urge)?
        {
            self.owed = self.owed.saturating_sub(started.elapsed());
            return Ok(Some(due));
        }
        let had_turn = self.owed.is_zero();
        self.owed = Duration::ZERO;
        if had_turn { Ok(None) } else { self.extend_any(view, urge) }
    }

    fn extend_any(&mut self, view: &dyn View, urge: Urge) -> Result<Option<Due>> {
        for at in 0..self.kinds.len() {
            if let Some((numbers, has_words)) = self.missing(view, at)?
                && (matches!(urge, Urge::New | Urge::All)
                    || numbers.end - numbers.start >= BULK as u64)
            {
                return self.extend(view, at, numbers, has_words).map(Some);
            }
        }
        Ok(None)
    }

    /// The numbers that an index has not come to, if there are any that it may come to, and whether they
    /// are to be found by their words.
    fn missing(&self, view: &dyn View, at: usize) -> Result<Option<(Range<u64>, bool)>> {
        let Kept { kind, may_begin, .. } = self.kinds[at];
        let Some(blobs) = view.index(kind) else { return Ok(None) };
        let coverage = Coverage::get(&*blobs, self.analysis.analyzer.language())?;
        let wants_words = self.wants_words && kind == RecordKind::Turn;
        // One without the words that are wanted is made anew.
        let (first, has_words) = if coverage.last > 0 && (coverage.has_words || !wants_words) {
            (coverage.last + 1, coverage.has_words)
        } else {
            (1, wants_words)
        };
        let missing = first..view.last_number(kind)? + 1;
        let is_some = !missing.is_empty() && (first > 1 || may_begin);
        Ok(is_some.then_some((missing, has_words)))
    }

    /// Indexes the first of the records that are missing.
    fn extend(
        &mut self,
        view: &dyn View,
        at: usize,
        missing: Range<u64>,
        has_words: bool,
    ) -> Result<Due> {
        let kind = self.kinds[at].kind;
        self.analysis.forget();
        self.analysis.has_words = has_words;
        let mut last = (missing.end - 1).min(missing.start + STEP as u64 - 1);
        let mut changes = Changes::default();
        for number in missing.start..=last {
            if changes.bytes() >= MAX_BYTES {
                last = number - 1;
                break;
            }
            if let Some(record) = view.numbered(kind, number)?
                && let Some(document) = self.analysis.any(view, number, &record)?
            {
                changes.add(document);
            }
        }
        if missing.start == 1 {
            self.kinds[at].may_begin = false;
        }
        let blobs = view.index(kind).ok_or_else(lost)?;
        let language = self.analysis.analyzer.language();
        let coverage = Coverage { last, has_words };
        let is_first = missing.start == 1;
        let step = Step::extend(&*blobs, kind, language, coverage, is_first, &mut changes)?;
        self.due(at, step)
    }

    fn keep_any(&mut self, view: &dyn View, now: Timestamp, urge: Urge) -> Result<Option<Due>> {
        for at in 0..self.kinds.len() {
            let Kept { kind, keeper, .. } = &mut self.kinds[at];
            if let Some(blobs) = view.index(*kind)
                && let Some(step) = keeper.step(&*blobs, now, urge == Urge::All)?
            {
                return self.due(at, step).map(Some);
            }
        }
        Ok(None)
    }

    fn due(&mut self, at: usize, step: Step) -> Result<Due> {
        let Kept { kind, trace, .. } = &mut self.kinds[at];
        if let Some(new) = step.trace()
            && trace.replace(new) == *trace
        {
            *trace = None;
            return Err(lost());
        }
        Ok(Due { kind: *kind, step })
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Unexpected, "what was written to an index is not there")
}

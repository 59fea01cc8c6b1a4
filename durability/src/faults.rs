//! Calls to files that fail, each once.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use memkeep_core::{Error, ErrorKind, MemoryBackend};

use crate::{
    Place, STORE, Subject,
    disk::{Call, Errno, Image, Loss, Mark, Recorder, Replay},
    history::{History, Known, log},
    workload::{Step, Workload},
};

/// Which calls of a run of `workload` there are to fail.
pub async fn calls(subject: &Subject, workload: &Workload) -> Result<Vec<Call>, String> {
    let recorder = Arc::new(Recorder::new(Image::default()));
    let place = subject.place(&Image::default(), Arc::clone(&recorder));
    let place = place.map_err(|e| format!("no place: {e}"))?;
    let failed = |e| format!("without a fault, the workload fails: {e:?}");
    workload.run(&place, &recorder).await.map_err(failed)?;
    Ok(recorder.calls())
}

/// Makes each of these calls fail, in a run of its own, on as many threads as there are processors.
///
/// # Panics
///
/// If there is no runtime to be had.
pub fn run(subject: &Subject, workload: &Workload, faults: &[Fault]) -> Report {
    let started = Instant::now();
    let collected = Mutex::new(Report::default());
    let report = &collected;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for faults in faults.chunks(faults.len().div_ceil(threads).max(1)) {
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                for fault in faults {
                    let met = runtime.block_on(run_one(subject, workload, *fault));
                    report.lock().unwrap_or_else(PoisonError::into_inner).add(*fault, met);
                }
            });
        }
    });
    let mut report = collected.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.elapsed = started.elapsed();
    report
}

/// A call that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its number from the beginning, from 0.
    pub number: usize,
    /// What it was in the run without a fault. Which call comes when is not the same in each.
    pub call: Call,
    /// How it fails.
    pub errno: Errno,
}

impl Fault {
    /// Each way in which one in `every` of `calls` can fail.
    pub fn all(calls: &[Call], every: usize) -> Vec<Self> {
        let some = calls.iter().enumerate().step_by(every.max(1));
        let fail = |(number, call): (usize, &Call)| {
            [Errno::NoSpace, Errno::Io].map(|errno| Self { number, call: *call, errno })
        };
        some.flat_map(fail).filter(|fault| fault.is_possible()).collect()
    }

    /// Whether a call fails so: what takes no room does not fail for lack of it.
    fn is_possible(self) -> bool {
        let takes_room = !matches!(self.call, Call::Read | Call::Size | Call::Lock | Call::Delete);
        takes_room || self.errno == Errno::Io
    }
}

/// How a store met a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Met {
    /// Whether it came: not every run makes as many calls.
    pub was_made: bool,
    /// Whether a caller was told.
    pub was_told: bool,
    /// Whether the store had to be opened again.
    pub was_reopened: bool,
}

/// One run of `workload` in which a call fails. What is refused is asked for again.
///
/// Errors: what a store must not do.
async fn run_one(subject: &Subject, workload: &Workload, fault: Fault) -> Result<Met, String> {
    let recorder = Recorder::new(Image::default()).failing(fault.number, fault.errno);
    let recorder = Arc::new(recorder);
    let place = subject.place(&Image::default(), Arc::clone(&recorder));
    let place = place.map_err(|e| format!("no place: {e}"))?;
    let mut run = Run { place: &place, recorder: &recorder, fault, met: Met::default() };
    let mut store = run.open().await?;
    for (at, step) in workload.steps.iter().enumerate() {
        if let Step::Reopen = step {
            store.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))?;
            drop(store);
            store = run.open().await?;
        } else {
            let before = Workload { steps: workload.steps[..at].to_vec() };
            store = run.step(store, &before, step).await?;
        }
    }
    run.met.was_made = recorder.failed().is_some();
    recorder.spare();
    let history = History::of(workload, &*store).await.map_err(|e| format!("{e:?}"))?;
    let trace = recorder.trace();
    store.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))?;
    drop(store);
    let known: Known = trace.marks(trace.events().len()).collect();
    let store = place.open(STORE).await.map_err(|e| format!("it cannot be opened: {e:?}"))?;
    let durability = memkeep_core::Durability::Power;
    history.check(&*store, &known, durability).await.map_err(|why| format!("at the end: {why}"))?;
    // A failed sync may have made the system forget what was to be synced.
    let mut replay = Replay::new(&trace);
    replay.advance(trace.events().len());
    for loss in [Loss::Everything, Loss::Sectors] {
        let image = replay.image(loss, &mut Rng::with_seed(fault.number as u64));
        let place = subject.place(&image, Arc::new(Recorder::new(image.clone())));
        let place = place.map_err(|e| format!("no place: {e}"))?;
        let cut = |why: String| format!("after a power cut at the end: {why}");
        let store = place.open(STORE).await.map_err(|e| cut(format!("{e:?}")))?;
        history.check(&*store, &known, subject.durability).await.map_err(cut)?;
    }
    Ok(run.met)
}

type Store = Arc<dyn MemoryBackend>;

struct Run<'a> {
    place: &'a Place,
    recorder: &'a Arc<Recorder>,
    fault: Fault,
    met: Met,
}

impl Run<'_> {
    /// Opens the store, at the second try if the fault comes at the first.
    async fn open(&mut self) -> Result<Store, String> {
        match self.place.open(STORE).await {
            Ok(store) => Ok(store),
            Err(error) => {
                self.told("opening", &error)?;
                let opened = self.place.open(STORE).await;
                opened.map_err(|e| format!("after {error:?} it cannot be opened: {e:?}"))
            }
        }
    }

    /// Looks at an error that a caller was told.
    fn told(&mut self, what: &str, error: &Error) -> Result<(), String> {
        let is_full = self.fault.errno == Errno::NoSpace;
        let fits = match (error.kind(), self.recorder.failed()) {
            (_, None) => false,
            // What SQLite says of the memory that processes share does not tell why it cannot grow;
            // to it what cannot be read is damaged, and what cannot be locked is locked by others.
            (ErrorKind::Unavailable, Some(_))
            | (ErrorKind::StorageFull, Some(Call::Write | Call::Size))
            | (ErrorKind::Corrupt, Some(Call::Read))
            | (ErrorKind::Timeout, Some(Call::Lock)) => true,
            (kind, Some(_)) => kind == ErrorKind::StorageFull && is_full,
        };
        if !fits {
            return Err(format!(
                "{what} is refused with {error:?} (failed: {:?})",
                self.recorder.failed()
            ));
        }
        self.met.was_told = true;
        Ok(())
    }

    /// Does a step that comes after those of `before`.
    async fn step(
        &mut self,
        store: Store,
        before: &Workload,
        step: &Step,
    ) -> Result<Store, String> {
        let Err(error) = step.run(&store, self.place, self.recorder).await else {
            return Ok(store);
        };
        self.told(&format!("{step:?}"), &error)?;
        // The same handle reads and goes on, or says that it does not; then another does.
        let again = match self.look(&store, before, step).await {
            Ok(rest) => match rest.run(&store, self.place, self.recorder).await {
                Ok(()) => return Ok(store),
                Err(error) => error,
            },
            Err(Seen::Refused(error)) => error,
            Err(Seen::Wrong(why)) => return Err(format!("after {error:?}: {why}")),
        };
        if again.kind() != ErrorKind::Unavailable {
            return Err(format!("after {error:?} it goes on with {again:?}"));
        }
        self.met.was_reopened = true;
        store.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))?;
        drop(store);
        let store = self.open().await?;
        let rest = match self.look(&store, before, step).await {
            Ok(rest) => rest,
            Err(Seen::Refused(error)) => return Err(format!("opened again, it says {error:?}")),
            Err(Seen::Wrong(why)) => return Err(format!("after {again:?}, opened again: {why}")),
        };
        let done = rest.run(&store, self.place, self.recorder).await;
        done.map_err(|e| format!("opened again after {again:?}, it says {e:?}"))?;
        Ok(store)
    }

    /// Looks at the store after a step was refused: all that was acknowledged is there, and nothing in
    /// part. Returns what of the step is to be done yet.
    async fn look(&self, store: &Store, before: &Workload, step: &Step) -> Result<Step, Seen> {
        let there = log(&**store).await.map_err(Seen::Refused)?;
        let trace = self.recorder.trace();
        let acknowledged = trace.marks(trace.events().len()).filter_map(|mark| match mark {
            Mark::Acknowledged(number) => Some(*number),
            _ => None,
        });
        let acknowledged: BTreeSet<u64> = acknowledged.collect();
        let rest = match step {
            Step::Commit(lists) => {
                let mut rest = lists.clone();
                for list in &mut rest {
                    if let Some(lost) =
                        list.iter().find(|n| acknowledged.contains(n) && !there.contains(n))
                    {
                        return Err(Seen::Wrong(format!(
                            "batch {lost} was acknowledged and is not there"
                        )));
                    }
                    list.retain(|number| !there.contains(number));
                }
                Step::Commit(rest)
            }
            step => step.clone(),
        };
        let mut so_far = before.clone();
        let is_pruning = matches!(step, Step::Prune(_));
        if let Step::Commit(_) = step {
            so_far.steps.push(step.clone());
        }
        // Pruning is several commits, of which some may have been done.
        if !is_pruning {
            let history = History::of(&so_far, &**store).await.map_err(Seen::Refused)?;
            history.check_state(&**store, history.len()).await.map_err(Seen::Wrong)?;
        }
        Ok(rest)
    }
}

/// What is not as it was wanted.
enum Seen {
    /// The store says that it cannot be read.
    Refused(Error),
    /// What is read is wrong.
    Wrong(String),
}

/// What came of faults.
#[derive(Debug, Default)]
pub struct Report {
    /// How many there were.
    pub faults: usize,
    /// Of how many a caller was told; the others were made good.
    pub told: usize,
    /// After how many the store had to be opened again.
    pub reopened: usize,
    /// What must not have come.
    pub failures: Vec<(Fault, String)>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Report {
    fn add(&mut self, fault: Fault, met: Result<Met, String>) {
        match met {
            Ok(met) => {
                self.faults += usize::from(met.was_made);
                self.told += usize::from(met.was_told);
                self.reopened += usize::from(met.was_reopened);
            }
            Err(why) => {
                self.faults += 1;
                self.failures.push((fault, why));
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { faults, told, reopened, failures, elapsed } = self;
        let seconds = elapsed.as_secs_f64();
        writeln!(
            f,
            "{faults} calls failed in {seconds:.0} s: {told} were told to callers, {reopened} needed the \
             store opened again; {} failures",
            failures.len()
        )?;
        failures.iter().take(10).try_for_each(|(fault, why)| {
            let Fault { number, call, errno } = fault;
            writeln!(f, "call {number} ({call:?}) fails with {errno:?}: {why}")
        })
    }
}

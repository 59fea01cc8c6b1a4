//! Power cuts at the places of a recorded workload.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use fastrand::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    disk::{Image, Loss, Recorder, Replay, Trace},
    history::{History, Known, verified},
    subject::{STORE, Subject},
    workload::Workload,
};

/// One point in so many is cut again while the store recovers.
const TWICE: u64 = 4;

/// A run of a workload, to be cut anywhere.
#[derive(Debug, Serialize, Deserialize)]
pub struct Recording {
    trace: Trace,
    history: History,
}

impl Recording {
    /// Runs `workload` on a new store of `subject`, which `recorder` watches.
    pub async fn of(
        subject: &Subject,
        workload: &Workload,
        recorder: Recorder,
    ) -> Result<Self, String> {
        let recorder = Arc::new(recorder);
        let place = subject.place(&Image::default(), Arc::clone(&recorder));
        let place = place.map_err(|e| format!("no place: {e}"))?;
        let failed = |e| format!("without a fault, the workload fails: {e:?}");
        workload.run(&place, &recorder).await.map_err(failed)?;
        let trace = recorder.trace();
        let store = place.open(STORE).await.map_err(failed)?;
        let history = History::of(workload, &*store).await.map_err(failed)?;
        store.close().await.map_err(failed)?;
        Ok(Self { trace, history })
    }

    /// Makes ready what was read from a file.
    pub async fn restored(mut self) -> Result<Self, String> {
        self.history.replay().await.map_err(|e| format!("{e:?}"))?;
        Ok(self)
    }

    /// How many places there are where power can be cut.
    pub fn places(&self) -> usize {
        self.trace.crash_points().len()
    }

    /// How many batches were committed.
    pub fn batches(&self) -> usize {
        self.history.batches()
    }

    /// The power cuts with these numbers. Any so many in a row that there are places cut at each of them
    /// once, and fewer are spread over all of it; a loss follows the other.
    pub fn points(
        &self,
        seed: u64,
        numbers: impl IntoIterator<Item = u64>,
        loss: Option<Loss>,
    ) -> Vec<Point> {
        let places = self.trace.crash_points();
        let count = places.len() as u64;
        let stride = coprime(count);
        let mut points: Vec<Point> = numbers
            .into_iter()
            .map(|number| {
                let place = usize::try_from(number.wrapping_mul(stride) % count).unwrap_or(0);
                // Each round over the places begins with the next loss.
                let turn = usize::try_from(number + number / count).unwrap_or(0);
                Point {
                    number,
                    seed,
                    at: places[place],
                    loss: loss.unwrap_or(Loss::ALL[turn % Loss::ALL.len()]),
                    is_twice: number % TWICE == TWICE - 1,
                }
            })
            .collect();
        points.sort_by_key(|point| point.at);
        points
    }

    /// Cuts the power at `points`, which are in order, on as many threads as there are processors.
    ///
    /// # Panics
    ///
    /// If there is no runtime to be had.
    pub fn run(&self, subject: &Subject, points: &[Point]) -> Report {
        let started = Instant::now();
        let report = Mutex::new(Report::default());
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = points.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for points in points.chunks(share) {
                scope.spawn(|| {
                    let own = self.run_some(subject, points);
                    report.lock().unwrap_or_else(PoisonError::into_inner).add(own);
                });
            }
        });
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.elapsed = started.elapsed();
        report
    }

    fn run_some(&self, subject: &Subject, points: &[Point]) -> Report {
        let mut report = Report::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut replay = Replay::new(&self.trace);
        for point in points {
            replay.advance(point.at);
            report.points += 1;
            report.twice += usize::from(point.is_twice);
            *report.losses.entry(point.loss).or_default() += 1;
            match runtime.block_on(self.check(subject, &replay, point)) {
                Ok(batches) => report.batches += batches,
                Err(why) => report.failures.push(Failure { point: *point, why }),
            }
        }
        report
    }

    /// Cuts the power at one point, and looks at what is left. Returns how many batches.
    async fn check(
        &self,
        subject: &Subject,
        replay: &Replay<'_>,
        point: &Point,
    ) -> Result<usize, String> {
        let mut random =
            Rng::with_seed(point.seed ^ point.number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut image = replay.image(point.loss, &mut random);
        if point.is_twice {
            image = cut_recovery(subject, image, point.loss, &mut random).await?;
        }
        let known: Known = self.trace.marks(point.at).collect();
        let place = subject.place(&image, Arc::new(Recorder::new(image.clone())));
        let place = place.map_err(|e| format!("no place: {e}"))?;
        let opened = |e| format!("it cannot be opened: {e:?}");
        let store = place.open(STORE).await.map_err(opened)?;
        let batches = self.history.check(&*store, &known, subject.durability).await?;
        store.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))?;
        for (name, entries) in self.history.copies(&known) {
            let copy = async {
                if !image.files.contains_key(name) {
                    return Err("it is not there".to_owned());
                }
                let copy = place.open(name).await.map_err(opened)?;
                verified(&*copy).await?;
                self.history.check_state(&*copy, entries).await?;
                copy.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))
            };
            copy.await.map_err(|why| format!("the copy {name}: {why}"))?;
        }
        Ok(batches)
    }
}

/// Opens the store that a power cut left, and cuts the power again meanwhile.
async fn cut_recovery(
    subject: &Subject,
    image: Image,
    loss: Loss,
    random: &mut Rng,
) -> Result<Image, String> {
    let recorder = Arc::new(Recorder::new(image.clone()));
    let place = subject.place(&image, Arc::clone(&recorder));
    let place = place.map_err(|e| format!("no place: {e}"))?;
    let store = place.open(STORE).await.map_err(|e| format!("it cannot be opened: {e:?}"))?;
    store.close().await.map_err(|e| format!("it cannot be closed: {e:?}"))?;
    let trace = recorder.trace();
    let at = random.choice(trace.crash_points()).unwrap_or_default();
    let mut replay = Replay::new(&trace);
    replay.advance(at);
    Ok(replay.image(loss, random))
}

/// A number that is coprime to `count` and about 0.618 of it: its multiples are spread evenly.
fn coprime(count: u64) -> u64 {
    let divisor = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (count * 618 / 1_000).max(1);
    (golden..=count).find(|stride| divisor(count, *stride) == 1).unwrap_or(1)
}

/// A power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its number.
    pub number: u64,
    /// What its lots are drawn from.
    pub seed: u64,
    /// The event before which the power is cut.
    pub at: usize,
    /// What is lost.
    pub loss: Loss,
    /// Whether the power is cut again while the store recovers.
    pub is_twice: bool,
}

/// What a power cut left that it must not.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The power cut.
    pub point: Point,
    /// What was wrong.
    pub why: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point { number, seed, at, loss, is_twice } = self.point;
        let twice = if is_twice { ", and again during recovery" } else { "" };
        let loss = loss.name();
        write!(
            f,
            "point {number} (seed {seed}, before event {at}, loss {loss}{twice}): {}",
            self.why
        )
    }
}

/// What came of power cuts.
#[derive(Debug, Default)]
pub struct Report {
    /// How many there were.
    pub points: usize,
    /// Of these, how many were followed by another during recovery.
    pub twice: usize,
    /// How many lost what.
    pub losses: BTreeMap<Loss, usize>,
    /// How many batches all stores held that were left.
    pub batches: usize,
    /// What must not have come.
    pub failures: Vec<Failure>,
    /// How long it took.
    pub elapsed: Duration,
}

impl Report {
    fn add(&mut self, other: Self) {
        self.points += other.points;
        self.twice += other.twice;
        self.batches += other.batches;
        for (loss, count) in other.losses {
            *self.losses.entry(loss).or_default() += count;
        }
        self.failures.extend(other.failures);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        writeln!(
            f,
            "{} power cuts ({} of them twice) in {seconds:.0} s; {} failures",
            self.points,
            self.twice,
            self.failures.len()
        )?;
        for (loss, count) in &self.losses {
            writeln!(f, "  lost: {:12} {count}", loss.name())?;
        }
        self.failures.iter().take(10).try_for_each(|failure| writeln!(f, "{failure}"))
    }
}

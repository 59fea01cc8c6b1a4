//! The task of a handle that tends the indexes.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use memkeep_core::{
    RecordKind,
    recall::index::{BULK, RECALLED},
};
use tokio::sync::Notify;

use super::tender::{Done, Urge};
use crate::store::Store;

/// If nothing more comes for so long, and nobody walks through the store, what is new is taken in.
const PAUSE: Duration = Duration::from_millis(500);
/// If more comes again and again but little, it is taken in after so many pauses. If it is much, somebody
/// fills the store, and has all there is of the server until a recall asks for the index.
const PAUSES: usize = 10;
/// How long it is left alone if it failed.
const REST: Duration = Duration::from_secs(10);

/// How much has come of each kind.
pub(crate) type Counts = [usize; RECALLED.len()];

/// How the task learns that there is something to do.
#[derive(Default)]
pub(crate) struct Signal {
    notify: Notify,
    /// What waits, as far as is known.
    waiting: [AtomicUsize; RECALLED.len()],
    /// How many pages were read of all there is, whoever copies or exports it.
    walked: AtomicUsize,
    /// Whether what waits is to be seen to at once.
    is_urgent: AtomicBool,
    is_over: AtomicBool,
}

impl Signal {
    /// So much has come.
    pub(crate) fn wake(&self, more: Counts) {
        for (waiting, more) in self.waiting.iter().zip(more).filter(|(_, more)| *more > 0) {
            if waiting.fetch_add(more, Ordering::AcqRel) == 0 {
                self.notify.notify_one();
            }
        }
    }

    /// Somebody walks through the store.
    pub(crate) fn walk(&self) {
        self.walked.fetch_add(1, Ordering::AcqRel);
    }

    /// There may be much of some kinds, which is asked for.
    pub(crate) fn urge(&self, kinds: &[RecordKind]) {
        self.is_urgent.store(true, Ordering::Release);
        self.wake(RECALLED.map(|kind| if kinds.contains(&kind) { BULK } else { 0 }));
        self.notify.notify_one();
    }

    /// Whether so much has come that it is not seen to beside what else there is to do.
    fn has_much(&self) -> bool {
        self.waiting().iter().any(|waiting| *waiting >= BULK)
    }

    /// The handle is closed.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    fn waiting(&self) -> Counts {
        std::array::from_fn(|at| self.waiting[at].load(Ordering::Acquire))
    }

    /// What there is to do, and what others do.
    fn seen(&self) -> (Counts, usize) {
        (self.waiting(), self.walked.load(Ordering::Acquire))
    }

    /// Waits until something holds; false once the handle is closed.
    async fn until(&self, holds: impl Fn() -> bool) -> bool {
        loop {
            if self.is_over.load(Ordering::Acquire) {
                return false;
            }
            if holds() {
                return true;
            }
            self.notify.notified().await;
        }
    }

    /// Waits until it is time to do something; none once the handle is closed.
    async fn next(&self) -> Option<Urge> {
        if !self.until(|| self.waiting().iter().any(|waiting| *waiting > 0)).await {
            return None;
        }
        loop {
            let first = self.waiting();
            for _ in 0..PAUSES {
                let before = self.seen();
                let urgent = self.until(|| self.is_urgent.swap(false, Ordering::AcqRel));
                match tokio::time::timeout(PAUSE, urgent).await {
                    Ok(is_open) => return is_open.then_some(Urge::Due),
                    Err(_) if self.seen() == before => return Some(Urge::All),
                    Err(_) => {}
                }
            }
            let came = self.waiting().into_iter().zip(first).map(|(now, first)| now - first);
            if came.max() < Some(PAUSES * BULK) {
                return Some(Urge::New);
            }
        }
    }
}

/// Starts the task, which ends with the handle.
pub(crate) fn start(store: &Arc<Store>) {
    let signal = Arc::clone(&store.signal);
    tokio::spawn(run(Arc::downgrade(store), signal));
}

async fn run(store: Weak<Store>, signal: Arc<Signal>) {
    while let Some(urge) = signal.next().await {
        let counts: Counts = std::array::from_fn(|at| signal.waiting[at].swap(0, Ordering::AcqRel));
        let rest = tend(&store, &signal, counts, urge).await;
        if urge != Urge::All || signal.has_much() {
            // What is left of it waits for more.
            signal.wake(counts.map(|count| count.min(1)));
        }
        if let Some(rest) = rest {
            signal.wake(counts);
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                _ = signal.until(|| false) => return,
            }
        }
    }
}

/// Does what there is to do for the kinds of which anything has come. Returns how long to wait if it could
/// not be done.
async fn tend(
    store: &Weak<Store>,
    signal: &Signal,
    counts: Counts,
    urge: Urge,
) -> Option<Duration> {
    let mut kinds: Vec<RecordKind> = RECALLED
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(kind, _)| kind)
        .collect();
    while let Some(kind) = kinds.first() {
        if urge != Urge::Due && signal.has_much() {
            break;
        }
        let store = store.upgrade()?;
        match store.tend(*kind, urge).await {
            Ok(Done::Nothing) => drop(kinds.remove(0)),
            // The others have their turn in between.
            Ok(Done::Something) => kinds.rotate_left(1),
            Ok(Done::Busy) => return Some(PAUSE),
            // Recall answers without it. What is wrong is told to whoever calls.
            Err(_) => return Some(REST),
        }
    }
    None
}

//! The task of a handle that tends the indexes.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use memkeep_core::RecordKind;
use tokio::sync::Notify;

use super::{
    tail::KINDS,
    tender::{BULK, Done, Urge},
};
use crate::store::Store;

/// If nothing more comes for so long, what is new is taken in.
const PAUSE: Duration = Duration::from_millis(500);
/// If more comes again and again but little, it is taken in after so many pauses.
const PAUSES: usize = 10;
/// How long it is left alone if it failed.
const REST: Duration = Duration::from_secs(10);

/// How much has come of each kind.
pub(crate) type Counts = [usize; KINDS.len()];

/// How the task learns that there is something to do.
#[derive(Default)]
pub(crate) struct Signal {
    notify: Notify,
    /// What waits, as far as is known.
    waiting: [AtomicUsize; KINDS.len()],
    is_over: AtomicBool,
}

impl Signal {
    /// So much has come.
    pub(crate) fn wake(&self, more: Counts) {
        for (waiting, more) in self.waiting.iter().zip(more).filter(|(_, more)| *more > 0) {
            let before = waiting.fetch_add(more, Ordering::AcqRel);
            if before == 0 || before.saturating_add(more) >= BULK {
                self.notify.notify_one();
            }
        }
    }

    /// There may be much of a kind.
    pub(crate) fn wake_kind(&self, kind: RecordKind) {
        self.wake(KINDS.map(|known| if known == kind { BULK } else { 0 }));
    }

    /// The handle is closed.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    fn waiting(&self) -> Counts {
        std::array::from_fn(|at| self.waiting[at].load(Ordering::Acquire))
    }

    /// Waits until at least so much of a kind has come; false once the handle is closed.
    async fn come(&self, least: usize) -> bool {
        loop {
            if self.is_over.load(Ordering::Acquire) {
                return false;
            }
            if self.waiting().iter().any(|waiting| *waiting >= least) {
                return true;
            }
            self.notify.notified().await;
        }
    }

    /// Waits until it is time to do something; none once the handle is closed.
    async fn urge(&self) -> Option<Urge> {
        if !self.come(1).await {
            return None;
        }
        for _ in 0..PAUSES {
            let before = self.waiting();
            match tokio::time::timeout(PAUSE, self.come(BULK)).await {
                Ok(is_open) => return is_open.then_some(Urge::Due),
                Err(_) if self.waiting() == before => return Some(Urge::All),
                Err(_) => {}
            }
        }
        Some(Urge::New)
    }
}

/// Starts the task, which ends with the handle.
pub(crate) fn start(store: &Arc<Store>) {
    let signal = Arc::clone(&store.signal);
    tokio::spawn(run(Arc::downgrade(store), signal));
}

async fn run(store: Weak<Store>, signal: Arc<Signal>) {
    while let Some(urge) = signal.urge().await {
        let counts: Counts = std::array::from_fn(|at| signal.waiting[at].swap(0, Ordering::AcqRel));
        let rest = tend(&store, counts, urge).await;
        if urge == Urge::Due {
            // What is left of it is little, and waits for more.
            signal.wake(counts.map(|count| count.min(1)));
        }
        if let Some(rest) = rest {
            signal.wake(counts);
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                // Only the end of the handle is more than there can be.
                _ = signal.come(usize::MAX) => return,
            }
        }
    }
}

/// Does what there is to do for the kinds of which anything has come. Returns how long to wait if it could
/// not be done.
async fn tend(store: &Weak<Store>, counts: Counts, urge: Urge) -> Option<Duration> {
    let mut kinds: Vec<RecordKind> = KINDS
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(kind, _)| kind)
        .collect();
    while let Some(kind) = kinds.first() {
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

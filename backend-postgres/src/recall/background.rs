//! The task of a handle that tends the indexes.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{
    tail::KINDS,
    tender::{BULK, Done, Urge},
};
use crate::store::Store;

/// How long what is new waits for more.
const PAUSE: Duration = Duration::from_millis(500);
/// How long it is left alone if it failed.
const REST: Duration = Duration::from_secs(10);

/// How the task learns that there is something to do.
#[derive(Default)]
pub(crate) struct Signal {
    notify: Notify,
    /// How much has come, as far as is known.
    waiting: AtomicUsize,
    is_over: AtomicBool,
}

impl Signal {
    /// So much has come.
    pub(crate) fn wake(&self, more: usize) {
        let before = self.waiting.fetch_add(more, Ordering::AcqRel);
        if before == 0 || before.saturating_add(more) >= BULK {
            self.notify.notify_one();
        }
    }

    /// The handle is closed.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Waits until at least so much has come; false once the handle is closed.
    async fn come(&self, least: usize) -> bool {
        loop {
            if self.is_over.load(Ordering::Acquire) {
                return false;
            }
            if self.waiting.load(Ordering::Acquire) >= least {
                return true;
            }
            self.notify.notified().await;
        }
    }
}

/// Starts the task, which ends with the handle.
pub(crate) fn start(store: &Arc<Store>) {
    let signal = Arc::clone(&store.signal);
    tokio::spawn(run(Arc::downgrade(store), signal));
}

async fn run(store: Weak<Store>, signal: Arc<Signal>) {
    while signal.come(1).await {
        let rest = match tokio::time::timeout(PAUSE, signal.come(BULK)).await {
            Ok(false) => return,
            Ok(true) => {
                let rest = tend(&store, &signal, Urge::Due).await;
                // What is left of it is little, and waits for more.
                signal.wake(1);
                rest
            }
            // Nothing more has come.
            Err(_) => tend(&store, &signal, Urge::All).await,
        };
        if let Some(rest) = rest {
            signal.wake(1);
            tokio::select! {
                () = tokio::time::sleep(rest) => {}
                // Only the end of the handle is more than there can be.
                _ = signal.come(usize::MAX) => return,
            }
        }
    }
}

/// Does what there is to do. Returns how long to wait if it could not be done.
async fn tend(store: &Weak<Store>, signal: &Signal, urge: Urge) -> Option<Duration> {
    signal.waiting.store(0, Ordering::Release);
    loop {
        let mut is_done = true;
        for kind in KINDS {
            let store = store.upgrade()?;
            match store.tend(kind, urge).await {
                Ok(Done::Nothing) => {}
                Ok(Done::Something) => is_done = false,
                Ok(Done::Busy) => return Some(PAUSE),
                // Recall answers without it. What is wrong is told to whoever calls.
                Err(_) => return Some(REST),
            }
        }
        if is_done {
            return None;
        }
    }
}

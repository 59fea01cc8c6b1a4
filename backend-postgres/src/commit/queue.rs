use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use memkeep_core::{
    Error, ErrorKind, Receipt, Result,
    decide::{Needs, Prepared},
};
use tokio::sync::oneshot;

use crate::store::Store;

/// How many groups are committed at once as long as none is held up: while one is flushed to the
/// server's disk another is loaded. More would only make them smaller.
const COMMITTERS: u32 = 2;
/// A batch that waits for so long is not kept waiting by those before it.
const HELD_UP: Duration = Duration::from_millis(50);
/// After a wrong guess nothing is guessed for so many batches: somebody restores what is there.
const WARY: u32 = 64;
/// How many batches, and how many bytes of text, are committed as one transaction at most.
const GROUP_BATCHES: usize = 256;
const GROUP_BYTES: usize = 16 << 20;

/// A batch that waits to be committed.
pub(super) struct Waiting {
    pub(super) prepared: Prepared,
    pub(super) needs: Needs,
    /// Whether that is enough only if what the batch restores is not there yet.
    pub(super) is_guess: bool,
    pub(super) reply: oneshot::Sender<Result<Receipt>>,
}

impl Waiting {
    /// Needs all that it may need.
    pub(super) fn be_careful(&mut self) {
        if mem::take(&mut self.is_guess) {
            self.needs = self.prepared.needs();
        }
    }

    /// What forgets a workspace locks everything in it, and goes alone.
    fn goes_alone(&self) -> bool {
        !self.needs.workspaces.is_empty()
    }
}

/// The batches that wait. All that do are committed as one transaction; the first one at once.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// For how many batches nothing is guessed.
    wary: AtomicU32,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    committers: u32,
}

impl Queue {
    /// Whether a batch that only restores records is taken to restore what is not there.
    fn may_guess(&self) -> bool {
        let less = |wary: u32| wary.checked_sub(1);
        self.wary.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_err()
    }

    /// A guess was wrong, so others may be.
    pub(super) fn be_wary(&self) {
        self.wary.store(WARY, Ordering::Release);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    pub(crate) async fn commit(self: Arc<Self>, prepared: Prepared) -> Result<Receipt> {
        let _accepted = self.pool.accept()?;
        let guess = prepared.needs_if_new().filter(|_| self.queue.may_guess());
        let is_guess = guess.is_some();
        let needs = guess.unwrap_or_else(|| prepared.needs());
        let (reply, mut answer) = oneshot::channel();
        self.queue.state().waiting.push_back(Waiting { prepared, needs, is_guess, reply });
        self.start_committer(COMMITTERS);
        let cut = |e| Error::new(ErrorKind::Unexpected, "the call was cut short").caused_by(e);
        if let Ok(answered) = tokio::time::timeout(HELD_UP, &mut answer).await {
            return answered.map_err(cut)?;
        }
        self.start_committer(self.pool.size());
        answer.await.map_err(cut)?
    }

    /// Starts one who commits what waits, if there are not as many as there may be.
    fn start_committer(self: &Arc<Self>, most: u32) {
        let mut state = self.queue.state();
        if state.waiting.is_empty() || state.committers >= most {
            return;
        }
        state.committers += 1;
        drop(state);
        let store = Arc::clone(self);
        tokio::spawn(async move {
            while let Some(group) = store.next_group() {
                Arc::clone(&store).commit_group(group).await;
            }
        });
    }

    /// The next group; none if nothing waits, and then its committer has ended.
    fn next_group(&self) -> Option<Vec<Waiting>> {
        let mut state = self.queue.state();
        let mut group: Vec<Waiting> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = state.waiting.pop_front() {
            let alone = next.goes_alone();
            if alone && !group.is_empty() {
                state.waiting.push_front(next);
                break;
            }
            bytes += next.prepared.bytes();
            group.push(next);
            if alone || group.len() == GROUP_BATCHES || bytes >= GROUP_BYTES {
                break;
            }
        }
        if group.is_empty() {
            state.committers -= 1;
            return None;
        }
        Some(group)
    }
}

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use memkeep_core::{Error, Feed, Receipt, Result};
use tokio::sync::broadcast;

/// How many events a slow subscriber may lag behind before it misses some.
const FEED_EVENTS: usize = 1_024;

/// Tells of commits in the order in which they took their numbers, though they may end in another.
pub(crate) struct News(Mutex<State>);

struct State {
    /// Gone once the handle is closed, so that feeds end.
    feed: Option<broadcast::Sender<Arc<Receipt>>>,
    next: u64,
    told: u64,
    /// What ended out of turn: a receipt, or none if nothing was committed.
    ended: BTreeMap<u64, Option<Arc<Receipt>>>,
}

/// The number of a commit. It is taken while the commit's locks are held: of two that touch the same
/// rows, the one that comes first takes the lower.
pub(crate) struct Ticket<'n> {
    news: &'n News,
    number: u64,
    receipt: Option<Arc<Receipt>>,
}

impl News {
    pub(crate) fn new() -> Self {
        let feed = Some(broadcast::Sender::new(FEED_EVENTS));
        Self(Mutex::new(State { feed, next: 0, told: 0, ended: BTreeMap::new() }))
    }

    pub(crate) fn ticket(&self) -> Ticket<'_> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        Ticket { news: self, number, receipt: None }
    }

    pub(crate) fn subscribe(&self) -> Result<Feed> {
        let state = self.state();
        state.feed.as_ref().map(|feed| Feed::new(feed.subscribe())).ok_or_else(Error::closed)
    }

    pub(crate) fn close(&self) {
        self.state().feed.take();
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ticket<'_> {
    /// The commit happened.
    pub(crate) fn committed(mut self, receipt: &Receipt) {
        let heard = |feed: &broadcast::Sender<_>| feed.receiver_count() > 0;
        if self.news.state().feed.as_ref().is_some_and(heard) {
            self.receipt = Some(Arc::new(receipt.clone()));
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.news.state();
        let receipt = self.receipt.take();
        state.ended.insert(self.number, receipt);
        loop {
            let turn = state.told;
            let Some(ended) = state.ended.remove(&turn) else { break };
            state.told += 1;
            if let (Some(feed), Some(receipt)) = (&state.feed, ended) {
                // An error only says that nobody listens.
                let _ = feed.send(receipt);
            }
        }
    }
}

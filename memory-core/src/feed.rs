use std::sync::Arc;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::Receipt;

/// The commits of one handle, in commit order, from the moment of subscribing (`FEED-ORDER-01`),
/// and no other's (`FEED-HANDLE-01`). It ends when the handle is closed (`FEED-END-01`), and tells how
/// many it missed (`FEED-MISSED-01`). A batch that changed nothing is not told: a receipt that is given
/// again was told when it was new.
pub struct Feed(broadcast::Receiver<Arc<Receipt>>);

/// What a [`Feed`] tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A batch was committed.
    Committed(Arc<Receipt>),
    /// The subscriber was too slow: so many commits are no longer there to be told.
    Missed(u64),
}

impl Feed {
    /// A feed of what the sender of `receipts` sends; for backends.
    pub fn new(receipts: broadcast::Receiver<Arc<Receipt>>) -> Self {
        Self(receipts)
    }

    /// The next event; `None` once the handle is closed and all has been told. Dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Event> {
        match self.0.recv().await {
            Ok(receipt) => Some(Event::Committed(receipt)),
            Err(RecvError::Lagged(missed)) => Some(Event::Missed(missed)),
            Err(RecvError::Closed) => None,
        }
    }
}

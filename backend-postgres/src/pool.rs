use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use memkeep_core::{Error, ErrorKind, Result};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, TryAcquireError};

use crate::{connect::Connector, transaction::Attempt};

/// A connection that nobody used for so long is closed: firewalls may have forgotten it.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// How many commits may wait to be answered.
const ACCEPTED: u32 = 100_000;

/// A bounded set of connections.
pub(crate) struct Pool {
    connector: Connector,
    permits: Arc<Semaphore>,
    size: u32,
    patience: Duration,
    /// One for each commit that was accepted and is not answered.
    accepted: Semaphore,
    idle: Mutex<Vec<(PgConnection, Instant)>>,
    closed: AtomicBool,
}

/// The right to use one connection at a time.
pub(crate) struct Permit(#[expect(dead_code, reason = "it is held")] OwnedSemaphorePermit);

impl Pool {
    /// At most `size` connections; a call waits `patience` long for one.
    pub(crate) fn new(connector: Connector, size: u32, patience: Duration) -> Self {
        let size = size.max(1);
        Self {
            connector,
            permits: Arc::new(Semaphore::new(size as usize)),
            size,
            patience,
            accepted: Semaphore::new(ACCEPTED as usize),
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// `Closed` once the handle is.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
    }

    /// Accepts a commit, which is then waited for when the handle is closed.
    pub(crate) fn accept(&self) -> Result<SemaphorePermit<'_>> {
        self.accepted.try_acquire().map_err(|refused| match refused {
            TryAcquireError::Closed => Error::closed(),
            TryAcquireError::NoPermits if self.check_open().is_err() => Error::closed(),
            TryAcquireError::NoPermits => {
                Error::new(ErrorKind::Timeout, "too many commits wait already")
            }
        })
    }

    /// How many connections there may be.
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Waits for a place.
    pub(crate) async fn permit(&self) -> Result<Permit> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match tokio::time::timeout(self.patience, permit).await {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            Ok(Err(_)) => Err(Error::closed()),
            Err(_) => {
                let limit = self.patience.as_millis();
                let message = format!("no connection was free within {limit} ms");
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// A connection, for who has a permit; and whether it was in use before.
    pub(crate) async fn connection(&self) -> Attempt<(PgConnection, bool)> {
        let idle = {
            let mut idle = self.idle();
            idle.retain(|(_, since)| since.elapsed() < MAX_IDLE);
            idle.pop()
        };
        match idle {
            Some((connection, _)) => Ok((connection, true)),
            None => Ok((self.connector.connect().await?, false)),
        }
    }

    /// Takes back a connection that is in no transaction.
    pub(crate) fn give_back(&self, connection: PgConnection) {
        self.idle().push((connection, Instant::now()));
    }

    /// Lets go of the connections that nobody uses.
    pub(crate) fn forget_idle(&self) {
        let idle = std::mem::take(&mut *self.idle());
        drop(idle);
    }

    /// Waits for who is there already, and closes all connections.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // Commits that were accepted are finished.
        if let Ok(all) = self.accepted.acquire_many(ACCEPTED).await {
            self.accepted.close();
            drop(all);
        }
        // Permits are given in the order in which they were asked for. A second call finds them gone.
        if let Ok(all) = self.permits.acquire_many(self.size).await {
            self.permits.close();
            drop(all);
        }
        let idle = std::mem::take(&mut *self.idle());
        for (connection, _) in idle {
            // The server finds out by itself what it cannot be told.
            let _ = connection.close().await;
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(PgConnection, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

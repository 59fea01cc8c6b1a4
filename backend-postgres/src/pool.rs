use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use memkeep_core::{Error, ErrorKind, Result};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{connect::Connector, transaction::Attempt};

/// A connection that nobody used for so long is closed: firewalls may have forgotten it.
const MAX_IDLE: Duration = Duration::from_mins(5);

/// A bounded set of connections.
pub(crate) struct Pool {
    connector: Connector,
    permits: Arc<Semaphore>,
    size: u32,
    patience: Duration,
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
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// `Closed` once the handle is.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
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

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::Row as _;
use tokio::sync::Mutex;

use crate::{
    error::Trouble,
    pool::Pool,
    statement::Statement,
    store::{Reading, Store},
    transaction::{Attempt, Mode, Transaction},
};

/// A server that answers reads and may be behind, by so much at most.
///
/// How far it is behind no server can tell by itself: one that hears nothing believes to be current. So
/// the primary is asked how far it has written, and a standby answers only if it has replayed what had
/// been written so long ago.
pub(crate) struct Standby {
    pub(crate) pool: Arc<Pool>,
    pub(crate) behind: Duration,
    pub(crate) written: Mutex<Option<(Instant, String)>>,
}

impl Store {
    /// What a standby answers; none if none is current enough, or can be reached.
    pub(crate) async fn read_standby<A: Sync, T: Send>(
        &self,
        standby: &Standby,
        about: &A,
        reading: Reading<A, T>,
    ) -> Option<memkeep_core::Result<T>> {
        let read = async {
            let written = self.written(standby).await?;
            let mode = Mode::Standby(&written);
            let later = Transaction::later(&standby.pool, &self.names, mode, self.limits);
            let mut transaction = later.await?;
            let value = reading(&mut transaction, about).await;
            transaction.end(value).await
        };
        match read.await {
            Ok(value) => Some(Ok(value)),
            Err(Trouble::Refused(error)) if !error.is_retryable() => Some(Err(error)),
            Err(_) => None,
        }
    }

    /// How far the primary had written at a moment that is not too long ago.
    async fn written(&self, standby: &Standby) -> Attempt<String> {
        let mut written = standby.written.lock().await;
        if let Some((at, place)) = &*written
            && at.elapsed() < standby.behind / 2
        {
            return Ok(place.clone());
        }
        let asked = Instant::now();
        let mut transaction = self.begin(Mode::Read, "").await?;
        let rows = transaction.rows(Statement::new("SELECT pg_current_wal_lsn()::text")).await;
        let rows = transaction.end(rows).await?;
        let place: String = rows.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
        *written = Some((asked, place.clone()));
        Ok(place)
    }
}

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::AtomicI64},
    time::Duration,
};

use memkeep_core::{
    Clock, Durability, Error, ErrorKind, RecallQuery, Result,
    recall::{Language, index::RECALLED},
};
use sqlx::Row as _;
use tokio::sync::Mutex;

use crate::{
    PostgresConfig,
    commit::Queue,
    connect::{Connector, Role},
    error::Trouble,
    names::Names,
    news::News,
    pool::Pool,
    recall::{self, Asked, Shared, Signal, Tender},
    schema,
    standby::Standby,
    statement::Statement,
    transaction::{Attempt, Limits, Mode, Transaction},
};

/// How often a batch is tried that meets others.
const MEETINGS: u32 = 12;
/// How often a call is tried whose connection breaks before anything is committed.
const LOSSES: u32 = 2;

/// How long rewriting one table may take.
const REWRITE: Duration = Duration::from_hours(24);

/// What a call waits for.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A read of one state of the store, about something.
pub(crate) type Reading<A, T> = for<'a> fn(&'a mut Transaction, &'a A) -> Pending<'a, Attempt<T>>;

/// An open store.
pub(crate) struct Store {
    pub(crate) names: Arc<Names>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) language: Language,
    pub(crate) news: News,
    pub(crate) queue: Queue,
    pub(crate) durability: Durability,
    pub(crate) limits: Limits,
    pub(crate) tender: Tender,
    pub(crate) signal: Arc<Signal>,
    recalls: Arc<Shared>,
    standby: Option<Standby>,
    /// All numbers below this one belong to transactions that have ended.
    pub(crate) settled: AtomicI64,
}

impl Store {
    pub(crate) async fn open(config: PostgresConfig, names: Names) -> Result<Arc<Self>> {
        let names = Arc::new(names);
        let connector = Connector::new(config.targets(), Role::Primary, config.connect_timeout);
        let pool = Arc::new(Pool::new(connector, config.connections, config.acquire_timeout));
        let permit = pool.permit().await?;
        let mut tries = Tries::default();
        while let Err(trouble) = schema::migrate(&pool, &names).await {
            tries.again(trouble).await?;
        }
        let limits = Limits { statement: config.statement_timeout, lock: config.lock_timeout };
        let standby = config.standby_reads.map(|behind| {
            let connector = Connector::new(config.targets(), Role::Standby, config.connect_timeout);
            // Who reads has a permit of the other pool, so there are never more connections of this.
            let pool = Pool::new(connector, config.connections, config.acquire_timeout);
            Standby { pool: Arc::new(pool), behind, written: Mutex::default() }
        });
        let durability = settings(&pool, &names, limits).await?;
        drop(permit);
        let signal = Arc::<Signal>::default();
        let store = Arc::new(Self {
            names,
            pool,
            clock: config.clock,
            language: config.language,
            news: News::new(),
            queue: Queue::default(),
            durability,
            limits,
            tender: Tender::new(config.language),
            recalls: Arc::new(Shared::new(config.language, Arc::clone(&signal))),
            signal,
            standby,
            settled: AtomicI64::new(0),
        });
        // What others have left is seen to as well, as is what has no index yet.
        store.signal.wake(RECALLED.map(|_| 1));
        recall::start(&store);
        Ok(store)
    }

    /// What a recall is told beside its transaction.
    pub(crate) fn asked(&self, query: &RecallQuery) -> Asked {
        Asked { query: query.clone(), shared: Arc::clone(&self.recalls) }
    }

    /// Makes the recall indexes anew.
    pub(crate) async fn reindex(&self) -> Result<()> {
        self.begin_anew().await?;
        for kind in RECALLED {
            self.tend_all(kind).await?;
        }
        Ok(())
    }

    pub(crate) async fn close(&self) {
        self.signal.end();
        self.pool.close().await;
        if let Some(standby) = &self.standby {
            standby.pool.close().await;
        }
        self.news.close();
    }

    /// Rewrites the tables, so that nothing is left in them of what was deleted.
    pub(crate) async fn compact(&self) -> Result<()> {
        for kind in RECALLED {
            self.merge_all(kind).await?;
        }
        let _permit = self.pool.permit().await?;
        let limits = Limits { statement: REWRITE, ..self.limits };
        for table in schema::TABLES {
            // Unlike VACUUM FULL this runs in a transaction, and so within the limit for locks.
            let sql = format!("CLUSTER @{table} USING {table}_pkey");
            let begun = Transaction::begin(&self.pool, &self.names, Mode::Write, limits, "");
            let mut transaction = begun.await?;
            let done = transaction.run(&sql).await;
            transaction.end(done).await?;
        }
        Ok(())
    }

    /// Begins a transaction, for who has a permit.
    pub(crate) async fn begin(&self, mode: Mode<'_>, first: &str) -> Attempt<Transaction> {
        Transaction::begin(&self.pool, &self.names, mode, self.limits, first).await
    }

    /// Does `work` to its end, though the caller may drop the call: what was begun leaves no lock and
    /// no open transaction behind.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        self.pool.check_open().map_err(|e| e.during(operation))?;
        let done = tokio::spawn(work).await;
        let cut = |e| Error::new(ErrorKind::Unexpected, "the call was cut short").caused_by(e);
        done.map_err(cut).and_then(|result| result).map_err(|e| e.during(operation))
    }

    /// Reads one state of the store.
    pub(crate) async fn read<A, T>(
        self: &Arc<Self>,
        operation: &'static str,
        about: A,
        reading: Reading<A, T>,
    ) -> Result<T>
    where
        A: Send + Sync + 'static,
        T: Send + 'static,
    {
        let store = Arc::clone(self);
        let work = async move {
            let _permit = store.pool.permit().await?;
            if let Some(standby) = &store.standby
                && let Some(answer) = store.read_standby(standby, &about, reading).await
            {
                return answer;
            }
            store.read_here(&about, reading).await
        };
        self.finish(operation, work).await
    }

    /// Reads one state of the store, for who has a permit.
    pub(crate) async fn read_here<A: Sync, T: Send>(
        &self,
        about: &A,
        reading: Reading<A, T>,
    ) -> Result<T> {
        let mut tries = Tries::default();
        loop {
            match self.read_once(about, reading).await {
                Ok(value) => return Ok(value),
                Err(trouble) => tries.again(trouble).await?,
            }
        }
    }

    async fn read_once<A: Sync, T: Send>(&self, about: &A, reading: Reading<A, T>) -> Attempt<T> {
        let later = Transaction::later(&self.pool, &self.names, Mode::Read, self.limits);
        let mut transaction = later.await?;
        let value = reading(&mut transaction, about).await;
        transaction.end(value).await
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.signal.end();
    }
}

/// How often a call has been tried.
#[derive(Default)]
pub(crate) struct Tries {
    meetings: u32,
    losses: u32,
}

impl Tries {
    /// Waits until the next try; fails with what went wrong if there is to be none.
    pub(crate) async fn again(&mut self, trouble: Trouble) -> Result<()> {
        if trouble.is_contention() && self.meetings < MEETINGS {
            self.meetings += 1;
            // Those who met each other are not to meet again.
            let longest = 1 << self.meetings.min(7);
            tokio::time::sleep(Duration::from_millis(fastrand::u64(0..longest))).await;
            return Ok(());
        }
        if trouble.is_lost() && self.losses < LOSSES {
            self.losses += 1;
            return Ok(());
        }
        Err(trouble.into())
    }
}

/// What the server's settings make of a commit.
async fn settings(pool: &Arc<Pool>, names: &Arc<Names>, limits: Limits) -> Result<Durability> {
    let asked = async {
        let mut transaction = Transaction::begin(pool, names, Mode::Read, limits, "").await?;
        let settings = transaction
            .rows(Statement::new(
                "SELECT current_setting('server_encoding'), current_setting('fsync'), \
                 current_setting('synchronous_commit')",
            ))
            .await;
        transaction.end(settings).await
    };
    let rows = asked.await?;
    let setting = |n| rows.first().and_then(|row| row.try_get::<String, _>(n).ok());
    if setting(0).as_deref() != Some("UTF8") {
        let message = "the database's encoding is not UTF8";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let off = |n| setting(n).as_deref() == Some("off");
    Ok(if off(1) || off(2) { Durability::Process } else { Durability::Power })
}

use std::{future::Future, io, sync::Arc, time::Duration};

use sqlx::{AssertSqlSafe, PgConnection, Row as _, postgres::PgRow};

use crate::{error::Trouble, names::Names, pool::Pool, statement::Statement};

/// What a step of a transaction comes to.
pub(crate) type Attempt<T> = Result<T, Trouble>;

/// How much longer than the server's own limit an answer is waited for: past that the server, or the
/// way to it, is gone without a word.
const GRACE: Duration = Duration::from_secs(5);

/// How a transaction begins.
#[derive(Clone, Copy)]
pub(crate) enum Mode<'w> {
    /// Each statement sees what is committed when it starts.
    Write,
    /// All statements see one state, and may change it.
    WriteSnapshot,
    /// All statements see one state.
    Read,
    /// All statements see one state of a standby, which has replayed all up to a place.
    Standby(&'w str),
}

impl Mode<'_> {
    /// What comes before the transaction begins, which fails on a standby that is not there yet.
    fn condition(self) -> String {
        match self {
            Self::Standby(place) => format!(
                "BEGIN READ ONLY; SELECT 1 / CASE WHEN pg_last_wal_replay_lsn() >= \
                 '{}'::pg_lsn THEN 1 ELSE 0 END; COMMIT; ",
                place.replace('\'', "")
            ),
            _ => String::new(),
        }
    }

    fn sql(self) -> &'static str {
        match self {
            // What a batch needs is found by indexes, whatever the statistics say of tables that grow.
            Self::Write => "READ COMMITTED READ WRITE; SET LOCAL enable_seqscan = off",
            Self::WriteSnapshot => "REPEATABLE READ READ WRITE",
            Self::Read | Self::Standby(_) => "REPEATABLE READ READ ONLY",
        }
    }
}

/// How long the server may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// For a statement.
    pub(crate) statement: Duration,
    /// For a lock that others hold.
    pub(crate) lock: Duration,
}

impl Limits {
    /// The statements that set them until the transaction ends. Whatever a pooler between us and the
    /// server hands on to others, nothing of this stays. No statement is compiled: that takes longer than
    /// to run it, and the server would compile some whose cost it cannot tell.
    fn sql(self) -> String {
        let millis = |limit: Duration| limit.as_millis().min(i32::MAX as u128);
        let (statement, lock) = (millis(self.statement), millis(self.lock));
        format!(
            "SET LOCAL statement_timeout = {statement}; SET LOCAL lock_timeout = {lock}; \
             SET LOCAL idle_in_transaction_session_timeout = {statement}; SET LOCAL jit = off"
        )
    }
}

/// A transaction on a connection of its own. Dropped unfinished, it takes the connection with it.
pub(crate) struct Transaction {
    connection: PgConnection,
    pool: Arc<Pool>,
    names: Arc<Names>,
    patience: Duration,
    /// The statements that begin it, until it has begun.
    beginning: Option<String>,
    /// Whether the connection was in use before.
    is_used: bool,
    /// Whether it is committed already.
    is_over: bool,
}

impl Transaction {
    /// Begins, and runs `first`, a list of statements, on the same trip.
    pub(crate) async fn begin(
        pool: &Arc<Pool>,
        names: &Arc<Names>,
        mode: Mode<'_>,
        limits: Limits,
        first: &str,
    ) -> Attempt<Self> {
        let mut transaction = Self::later(pool, names, mode, limits).await?;
        match transaction.run(first).await {
            Ok(()) => Ok(transaction),
            Err(trouble) => Err(transaction.give_up(trouble).await),
        }
    }

    /// A transaction that begins with its first statements, on the same trip if these are a
    /// [`list`](Self::list).
    pub(crate) async fn later(
        pool: &Arc<Pool>,
        names: &Arc<Names>,
        mode: Mode<'_>,
        limits: Limits,
    ) -> Attempt<Self> {
        let (connection, is_used) = pool.connection().await?;
        let (condition, level, sql) = (mode.condition(), mode.sql(), limits.sql());
        Ok(Self {
            connection,
            pool: Arc::clone(pool),
            names: Arc::clone(names),
            patience: limits.statement + GRACE,
            beginning: Some(format!("{condition}BEGIN ISOLATION LEVEL {level}; {sql}; ")),
            is_used,
            is_over: false,
        })
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// Runs statements without parameters and results.
    pub(crate) async fn run(&mut self, sql: &str) -> Attempt<()> {
        self.list(sql).await.map(drop)
    }

    /// Runs a list of statements without parameters on one trip; returns the rows of all, as text.
    pub(crate) async fn list(&mut self, sql: &str) -> Attempt<Vec<PgRow>> {
        let Some(beginning) = self.beginning.take() else { return self.send(sql).await };
        let sql = beginning + sql;
        match self.send(&sql).await {
            Err(trouble) if trouble.is_lost() && self.is_used => {
                // The others that waited in the pool broke with it, most likely.
                self.pool.forget_idle();
                (self.connection, _) = self.pool.connection().await?;
                self.send(&sql).await
            }
            answered => answered,
        }
    }

    /// The same for the last list: commits on the same trip.
    pub(crate) async fn last_list(&mut self, sql: &str) -> Attempt<Vec<PgRow>> {
        let rows = self.list(&format!("{sql}; COMMIT")).await?;
        self.is_over = true;
        Ok(rows)
    }

    async fn send(&mut self, sql: &str) -> Attempt<Vec<PgRow>> {
        let sql = sqlx::raw_sql(AssertSqlSafe(self.names.sql(sql)));
        within(self.patience, sql.fetch_all(&mut self.connection)).await
    }

    /// The rows that a statement finds or answers with.
    pub(crate) async fn rows(&mut self, statement: Statement) -> Attempt<Vec<PgRow>> {
        if self.beginning.is_some() {
            self.run("").await?;
        }
        let sql = AssertSqlSafe(self.names.sql(&statement.sql));
        let query = sqlx::query_with(sql, statement.arguments).persistent(false);
        within(self.patience, query.fetch_all(&mut self.connection)).await
    }

    /// The one number that a statement answers with.
    pub(crate) async fn number(&mut self, statement: Statement) -> Attempt<i64> {
        let rows = self.rows(statement).await?;
        let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
        Ok(row.try_get(0)?)
    }

    /// Commits, if that is not done, and gives the connection back.
    pub(crate) async fn commit(mut self) -> Attempt<()> {
        let committed = if self.is_open() { self.run("COMMIT").await } else { Ok(()) };
        match committed {
            Ok(()) => {
                self.pool.give_back(self.connection);
                Ok(())
            }
            Err(trouble) => Err(self.give_up(trouble).await),
        }
    }

    /// Takes everything back; returns why.
    pub(crate) async fn give_up(mut self, why: Trouble) -> Trouble {
        if why.is_lost() {
            self.pool.forget_idle();
        } else if !self.is_open() || self.run("ROLLBACK").await.is_ok() {
            self.pool.give_back(self.connection);
        }
        why
    }

    /// Whether there is anything to end.
    fn is_open(&self) -> bool {
        self.beginning.is_none() && !self.is_over
    }

    /// Ends the transaction as `result` has it.
    pub(crate) async fn end<T>(self, result: Attempt<T>) -> Attempt<T> {
        match result {
            Ok(value) => self.commit().await.map(|()| value),
            Err(trouble) => Err(self.give_up(trouble).await),
        }
    }
}

/// The error of a server that says nothing.
pub(crate) fn silence() -> sqlx::Error {
    let message = "the server did not answer in time";
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// Waits for the server no longer than `patience`.
async fn within<T>(
    patience: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Attempt<T> {
    let answered = tokio::time::timeout(patience, answer).await;
    Ok(answered.unwrap_or_else(|_| Err(silence()))?)
}

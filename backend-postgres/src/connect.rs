use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use memkeep_core::{Error, ErrorKind};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, postgres::PgConnectOptions};

use crate::{
    error::Trouble,
    transaction::{Attempt, silence},
};

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A server that takes writes.
    Primary,
    /// A server that replays another's.
    Standby,
}

/// Makes connections to that one of the hosts which has a role.
pub(crate) struct Connector {
    hosts: Vec<PgConnectOptions>,
    role: Role,
    /// The host that had the role last.
    last: AtomicUsize,
    patience: Duration,
}

impl Connector {
    pub(crate) fn new(hosts: Vec<PgConnectOptions>, role: Role, patience: Duration) -> Self {
        Self { hosts, role, last: AtomicUsize::new(0), patience }
    }

    /// Asks the hosts one after the other, first the one that had the role last.
    pub(crate) async fn connect(&self) -> Attempt<PgConnection> {
        let start = self.last.load(Ordering::Relaxed);
        let mut trouble: Option<Trouble> = None;
        for n in 0..self.hosts.len() {
            let at = (start + n) % self.hosts.len();
            match self.connect_to(&self.hosts[at]).await {
                Ok(Some(connection)) => {
                    self.last.store(at, Ordering::Relaxed);
                    return Ok(connection);
                }
                Ok(None) => {}
                Err(failed) => {
                    trouble = Some(failed);
                }
            }
        }
        Err(trouble.unwrap_or_else(|| {
            let message = match self.role {
                Role::Primary => "no host takes writes now",
                Role::Standby => "no host is a standby now",
            };
            Error::new(ErrorKind::Unavailable, message).into()
        }))
    }

    /// None if the host has another role.
    async fn connect_to(&self, host: &PgConnectOptions) -> Attempt<Option<PgConnection>> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(host).await?;
            // Without parameters, so that a pooler may send it to any server.
            let sql = "SELECT CASE WHEN pg_is_in_recovery() THEN 'standby' \
                       WHEN current_setting('transaction_read_only') = 'on' THEN 'read only' \
                       ELSE 'primary' END";
            let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut connection).await?;
            let role: String = row.try_get(0)?;
            Ok::<_, sqlx::Error>((connection, role))
        };
        let connected = tokio::time::timeout(self.patience, connecting).await;
        let (connection, role) = connected.unwrap_or_else(|_| Err(silence()))?;
        let wanted = match self.role {
            Role::Primary => "primary",
            Role::Standby => "standby",
        };
        if role == wanted {
            return Ok(Some(connection));
        }
        // The server finds out by itself what it cannot be told.
        let _ = connection.close().await;
        Ok(None)
    }
}

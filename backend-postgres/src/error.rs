//! PostgreSQL's errors as memkeep's.

use std::{error::Error as StdError, fmt, io};

use memkeep_core::{Error, ErrorKind};
use sqlx::postgres::PgDatabaseError;

/// What ended an attempt: the engine, or a refusal that no other attempt would change.
#[derive(Debug)]
pub(crate) enum Trouble {
    Engine(sqlx::Error),
    Refused(Error),
    /// Another writer came in between.
    Met,
}

impl From<sqlx::Error> for Trouble {
    fn from(error: sqlx::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Engine(error) => failed(error),
            Trouble::Refused(error) => error,
            Trouble::Met => {
                let (kind, message) = meaning("40001");
                Error::new(kind, message)
            }
        }
    }
}

impl Trouble {
    fn code(&self) -> Option<&str> {
        match self {
            Self::Engine(error) => code(error),
            Self::Refused(_) => None,
            Self::Met => Some("40001"),
        }
    }

    /// The transaction met another one; alone it may get through.
    pub(crate) fn is_contention(&self) -> bool {
        // serialization_failure, deadlock_detected, unique_violation: what was not there when it was
        // loaded is there now.
        matches!(self.code(), Some("40001" | "40P01" | "23505"))
    }

    /// Nothing can be written: the role may not, or there is no room. What is there can be read.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.code(), Some("42501" | "53100"))
    }

    /// The connection is of no more use: it broke, or its server stops or takes no writes any more.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Met => false,
            Self::Engine(sqlx::Error::Database(error)) => error.code().is_none_or(|code| {
                code.starts_with("08") || code.starts_with("57P") || code == "25006"
            }),
            Self::Engine(_) => true,
        }
    }
}

/// The SQLSTATE that a server answered with.
fn code(error: &sqlx::Error) -> Option<&str> {
    match error {
        sqlx::Error::Database(error) => {
            error.try_downcast_ref::<PgDatabaseError>().map(PgDatabaseError::code)
        }
        _ => None,
    }
}

/// A server's error without its details, which may quote what is stored.
#[derive(Debug)]
struct ServerError {
    code: String,
    message: String,
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SQLSTATE {}: {}", self.code, self.message)
    }
}

impl StdError for ServerError {}

/// What it means that there can be no connection, however often it is tried.
const REFUSED: (ErrorKind, &str) =
    (ErrorKind::InvalidArgument, "the server cannot be connected to in this way");

/// What an error means to a caller.
pub(crate) fn failed(error: sqlx::Error) -> Error {
    let (kind, message) = match code(&error) {
        Some(code) => meaning(code),
        None => match &error {
            // So are certificates told that one of both does not accept.
            sqlx::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => REFUSED,
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                (ErrorKind::Unavailable, "there is no connection to the server")
            }
            sqlx::Error::Tls(_) | sqlx::Error::Configuration(_) => REFUSED,
            _ => (ErrorKind::Unexpected, "PostgreSQL was not used as it wants to be"),
        },
    };
    let result = Error::new(kind, message);
    match &error {
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default().into_owned();
            result.caused_by(ServerError { code, message: database.message().to_owned() })
        }
        // What is said of a column that cannot be decoded may quote it.
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => result,
        _ => result.caused_by(error),
    }
}

fn meaning(code: &str) -> (ErrorKind, &'static str) {
    match code {
        "40001" | "40P01" | "23505" => {
            (ErrorKind::Timeout, "other writers came first, as often as this was tried")
        }
        "57014" | "55P03" | "25P03" => (
            ErrorKind::Timeout,
            "the server did not finish in time, or others held a lock for too long",
        ),
        "25006" => (ErrorKind::Unavailable, "the server takes no writes now"),
        "53300" => (ErrorKind::Unavailable, "the server has no connection left"),
        "53100" => (ErrorKind::StorageFull, "the server has no room left"),
        "53200" => (ErrorKind::Unavailable, "the server has no memory or locks left"),
        "42501" => (ErrorKind::ReadOnly, "the role may not do this in the schema"),
        "3D000" => (ErrorKind::NotFound, "the server has no such database"),
        "28000" | "28P01" => (ErrorKind::InvalidArgument, "the server does not let this role in"),
        "54000" | "54001" => (ErrorKind::InvalidArgument, "larger than PostgreSQL can store"),
        "42P01" | "3F000" => (ErrorKind::Corrupt, "the store has lost its tables"),
        "42P07" => (ErrorKind::Corrupt, "the schema has tables of another program"),
        "XX001" | "XX002" => (ErrorKind::Corrupt, "the database is damaged"),
        code if code.starts_with("08") || code.starts_with("57") => {
            (ErrorKind::Unavailable, "the server stops, starts, or cannot be reached")
        }
        code if code.starts_with("58") || code.starts_with("53") => {
            (ErrorKind::Unavailable, "the server's machine failed it")
        }
        _ => (ErrorKind::Unexpected, "PostgreSQL failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_what_a_caller_can_act_on() {
        for (code, kind, retryable) in [
            ("40001", ErrorKind::Timeout, true),
            ("40P01", ErrorKind::Timeout, true),
            ("57014", ErrorKind::Timeout, true),
            ("57P01", ErrorKind::Unavailable, true),
            ("57P03", ErrorKind::Unavailable, true),
            ("08006", ErrorKind::Unavailable, true),
            ("25006", ErrorKind::Unavailable, true),
            ("53300", ErrorKind::Unavailable, true),
            ("53100", ErrorKind::StorageFull, false),
            ("58030", ErrorKind::Unavailable, true),
            ("28P01", ErrorKind::InvalidArgument, false),
            ("42501", ErrorKind::ReadOnly, false),
            ("XX001", ErrorKind::Corrupt, false),
            ("42601", ErrorKind::Unexpected, false),
        ] {
            let (of, message) = meaning(code);
            let error = Error::new(of, message);
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{code}");
        }
    }
}

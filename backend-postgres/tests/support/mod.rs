//! Databases of their own for tests, each with the tables already made.

#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod meter;
pub(crate) mod plain;

use std::{fs, sync::Arc, time::Duration};

use memkeep_conformance::{Damage, Place};
use memkeep_core::{Backend as _, Clock, Error, ErrorKind, Record, RecordKind, Result};
use memkeep_postgres::{Host, PostgresBackend, PostgresConfig};
use memkeep_postgres_testing::Server;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, postgres::PgConnectOptions};
use tokio::sync::{Mutex, OnceCell};

/// The database that this process makes others from.
fn template() -> String {
    format!("memkeep_template_{}", std::process::id())
}

pub(crate) fn failed(error: sqlx::Error) -> Error {
    Error::new(ErrorKind::Unexpected, "PostgreSQL failed").caused_by(error)
}

/// A connection that is not memkeep's.
pub(crate) async fn connect(socket: &str, database: &str) -> Result<PgConnection> {
    let options = PgConnectOptions::new_without_pgpass().host(socket).username("memkeep");
    PgConnection::connect_with(&options.database(database)).await.map_err(failed)
}

pub(crate) async fn run(connection: &mut PgConnection, sql: &str) -> Result<()> {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.map_err(failed).map(drop)
}

/// How the store in a database is opened.
pub(crate) fn config(socket: &str, database: &str) -> PostgresConfig {
    PostgresConfig::new(Host::new(socket), database).user("memkeep")
}

/// Makes a database from the template.
pub(crate) async fn create(server: &Server, database: &str) -> Result<()> {
    static TEMPLATE_IS_THERE: OnceCell<()> = OnceCell::const_new();
    let socket = server.socket().display().to_string();
    let mut admin = connect(&socket, "postgres").await?;
    TEMPLATE_IS_THERE
        .get_or_try_init(|| async {
            let template = template();
            let sql = format!("CREATE DATABASE {template}");
            run(&mut connect(&socket, "postgres").await?, &sql).await?;
            config(&socket, &template).open().await?.close().await
        })
        .await?;
    run(&mut admin, &format!("CREATE DATABASE {database} TEMPLATE {}", template())).await
}

/// Opens the store of a place, which has a database of its name on the shared server.
pub(crate) async fn open(place: &Place, clock: Arc<dyn Clock>) -> Result<PostgresBackend> {
    let socket = socket(place).await?;
    open_at(&socket, place, clock).await
}

/// Opens the store of a place through a socket.
pub(crate) async fn open_at(
    socket: &str,
    place: &Place,
    clock: Arc<dyn Clock>,
) -> Result<PostgresBackend> {
    let config = config(socket, place.name()).clock(clock);
    // Long enough for many writers, short enough for the clauses whose writes must fail.
    config.lock_timeout(Duration::from_secs(2)).open().await
}

/// The socket of a place's server; its database is made if it is not there.
pub(crate) async fn socket(place: &Place) -> Result<String> {
    remembered(place, "server", async || {
        let server = Server::shared();
        create(server, place.name()).await?;
        Ok(server.socket().display().to_string())
    })
    .await
}

/// What a file in a place says, where it is known to the child of a crash clause too; `first` tells
/// what to write into it.
pub(crate) async fn remembered(
    place: &Place,
    name: &str,
    first: impl AsyncFnOnce() -> Result<String>,
) -> Result<String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
    let _one = ONE_AT_A_TIME.lock().await;
    let file = place.path().join(name);
    if let Ok(text) = fs::read_to_string(&file) {
        return Ok(text);
    }
    let text = first().await?;
    fs::write(file, &text)
        .map_err(|e| Error::new(ErrorKind::Unexpected, "no file in the place").caused_by(e))?;
    Ok(text)
}

pub(crate) async fn destroy(place: &Place) -> Result<()> {
    let socket = socket(place).await?;
    let mut admin = connect(&socket, "postgres").await?;
    run(&mut admin, &format!("DROP DATABASE {} WITH (FORCE)", place.name())).await
}

/// Keeps writers out until it is dropped.
pub(crate) async fn break_writes(place: &Place) -> Result<Box<dyn Send>> {
    let mut other = connect(&socket(place).await?, place.name()).await?;
    let tables = ["sessions", "turns", "steps", "episodes", "notes", "states", "audit", "memkeep"];
    let tables = tables.map(|table| format!("memkeep.{table}")).join(", ");
    run(&mut other, &format!("BEGIN; LOCK TABLE {tables} IN EXCLUSIVE MODE")).await?;
    Ok(Box::new(other))
}

pub(crate) async fn damage(place: &Place, damage: &Damage) -> Result<()> {
    let mut other = connect(&socket(place).await?, place.name()).await?;
    let query = match damage {
        Damage::Undecodable(record) => {
            let (table, name, json) = match record.kind() {
                RecordKind::Session => ("sessions", "id", "metadata"),
                RecordKind::Turn => ("turns", "id", "metadata"),
                RecordKind::Step => ("steps", "id", "payload"),
                RecordKind::Episode => ("episodes", "id", "metadata"),
                RecordKind::Note => ("notes", "id", "sources"),
                RecordKind::State => ("states", "key", "value"),
                RecordKind::Audit => ("audit", "id", "detail"),
            };
            let sql = format!(
                "UPDATE memkeep.{table} SET {json} = '{{' WHERE {name} = $1 AND workspace = \
                 (SELECT pk FROM memkeep.workspaces WHERE name = $2)"
            );
            sqlx::query(AssertSqlSafe(sql))
                .bind(record.id().to_owned())
                .bind(record.workspace().as_str().to_owned())
        }
        Damage::Altered(Record::Session(session)) => sqlx::query(
            "UPDATE memkeep.sessions SET turn_count = $2, step_count = $3, total_tokens = $4, \
             next_turn = $5, next_step = $6, last_active = $7 WHERE id = $1",
        )
        .bind(session.id.as_str().to_owned())
        .bind(session.turn_count.cast_signed())
        .bind(session.step_count.cast_signed())
        .bind(session.total_tokens)
        .bind(session.next_turn.cast_signed())
        .bind(session.next_step.cast_signed())
        .bind(session.last_active.as_micros()),
        Damage::Altered(Record::Audit(audit)) => {
            sqlx::query("UPDATE memkeep.audit SET decision = $2, hash = $3 WHERE id = $1")
                .bind(audit.id.as_str().to_owned())
                .bind(audit.decision.clone())
                .bind(audit.hash.0.to_vec())
        }
        Damage::Altered(_) => {
            return Err(Error::new(ErrorKind::Unsupported, "nothing is altered so"));
        }
    };
    match query.execute(&mut other).await.map_err(failed)?.rows_affected() {
        1 => Ok(()),
        _ => Err(Error::new(ErrorKind::Unexpected, "not one row was damaged")),
    }
}

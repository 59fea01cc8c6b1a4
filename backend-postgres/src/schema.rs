//! The tables, and how a schema of an older version becomes one of this version.

use std::{cmp::Ordering, sync::Arc, time::Duration};

use memkeep_core::{Error, ErrorKind};

use crate::{
    error::Trouble,
    names::Names,
    pool::Pool,
    statement::Statement,
    transaction::{Attempt, Limits, Mode, Transaction},
};

/// The steps from each version to the next: the first makes version 1 of an empty schema. A step that
/// has been released is never edited.
const MIGRATIONS: &[&[&str]] = &[VERSION_1, VERSION_2, VERSION_3];

/// How long who opens a store waits for others who migrate it.
const PATIENCE: Limits =
    Limits { statement: Duration::from_mins(10), lock: Duration::from_mins(10) };

/// The version that this program reads and writes: how many steps there are.
pub(crate) const CURRENT: i64 = 3;

/// In every table `pk` is the order of insertion. Times are microseconds since 1970. No index holds
/// two texts: one of 1 KiB may take 2 KiB escaped, and a row of an index at most 2,704 bytes.
const VERSION_1: &[&str] = &[
    "CREATE TABLE @memkeep (version bigint PRIMARY KEY)",
    "INSERT INTO @memkeep (version) VALUES (0)",
    "CREATE SEQUENCE @numbers AS bigint",
    r#"CREATE TABLE @workspaces (
        pk bigint PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE
    )"#,
    r#"CREATE TABLE @sessions (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        started_at bigint NOT NULL,
        ended_at bigint,
        last_active bigint NOT NULL,
        next_turn bigint NOT NULL,
        next_step bigint NOT NULL,
        turn_count bigint NOT NULL,
        step_count bigint NOT NULL,
        total_tokens bigint NOT NULL,
        origin bytea,
        model text COLLATE "C",
        mode text COLLATE "C",
        summary text COLLATE "C",
        metadata text COLLATE "C" NOT NULL
    )"#,
    "CREATE INDEX sessions_workspace ON @sessions (workspace, pk)",
    "CREATE INDEX sessions_started ON @sessions (started_at DESC, pk)",
    "CREATE INDEX sessions_active ON @sessions (last_active DESC, pk)",
    "CREATE INDEX sessions_workspace_started ON @sessions (workspace, started_at DESC, pk)",
    "CREATE INDEX sessions_workspace_active ON @sessions (workspace, last_active DESC, pk)",
    r#"CREATE TABLE @turns (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        session bigint NOT NULL,
        position bigint NOT NULL,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        tokens bigint,
        origin bytea,
        role text COLLATE "C" NOT NULL,
        embedding_id text COLLATE "C",
        model text COLLATE "C",
        content text COLLATE "C" NOT NULL,
        metadata text COLLATE "C" NOT NULL,
        tags text COLLATE "C",
        UNIQUE (session, position)
    )"#,
    "CREATE INDEX turns_workspace ON @turns (workspace, pk)",
    "CREATE INDEX turns_prompts ON @turns (session, position) WHERE role = 'user'",
    r#"CREATE TABLE @steps (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        session bigint NOT NULL,
        position bigint NOT NULL,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        name text COLLATE "C" NOT NULL,
        status text COLLATE "C" NOT NULL,
        payload text COLLATE "C" NOT NULL,
        UNIQUE (session, position)
    )"#,
    "CREATE INDEX steps_workspace ON @steps (workspace, pk)",
    r#"CREATE TABLE @episodes (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        open boolean NOT NULL,
        closed_at bigint,
        origin bytea,
        problem text COLLATE "C" NOT NULL,
        summary text COLLATE "C" NOT NULL,
        metadata text COLLATE "C" NOT NULL
    )"#,
    "CREATE INDEX episodes_workspace ON @episodes (workspace, pk)",
    "CREATE INDEX episodes_created ON @episodes (created_at, pk)",
    "CREATE INDEX episodes_workspace_created ON @episodes (workspace, created_at, pk)",
    "CREATE INDEX episodes_open ON @episodes (workspace, created_at, pk) WHERE open",
    r#"CREATE TABLE @notes (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        workspace bigint NOT NULL,
        created_at bigint NOT NULL,
        sources text COLLATE "C" NOT NULL,
        text text COLLATE "C" NOT NULL
    )"#,
    "CREATE INDEX notes_workspace ON @notes (workspace, pk)",
    "CREATE INDEX notes_created ON @notes (created_at, pk)",
    "CREATE INDEX notes_workspace_created ON @notes (workspace, created_at, pk)",
    r#"CREATE TABLE @states (
        pk bigint PRIMARY KEY,
        workspace bigint NOT NULL,
        key text COLLATE "C" NOT NULL,
        created_at bigint NOT NULL,
        updated_at bigint NOT NULL,
        expires_at bigint,
        version bigint NOT NULL,
        value text COLLATE "C",
        UNIQUE (workspace, key)
    )"#,
    "CREATE INDEX states_workspace ON @states (workspace, pk)",
    r#"CREATE TABLE @audit (
        pk bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        workspace bigint NOT NULL,
        seq bigint NOT NULL,
        created_at bigint NOT NULL,
        hash bytea NOT NULL,
        action text COLLATE "C" NOT NULL,
        decision text COLLATE "C" NOT NULL,
        detail text COLLATE "C" NOT NULL,
        UNIQUE (workspace, seq)
    )"#,
    "CREATE INDEX audit_workspace ON @audit (workspace, pk)",
    "CREATE TABLE @audit_heads (
        workspace bigint PRIMARY KEY,
        seq bigint NOT NULL,
        hash bytea NOT NULL
    )",
    r#"CREATE TABLE @receipts (
        key text COLLATE "C" PRIMARY KEY,
        at bigint NOT NULL,
        digest bytea NOT NULL,
        marks text COLLATE "C" NOT NULL
    )"#,
    "CREATE INDEX receipts_at ON @receipts (at)",
];

/// The recall indexes ([`recall`](crate::recall)): their blobs, and what has come since.
const VERSION_2: &[&str] = &[
    // Who writes has read the version. So what is not in the tail was there before, all of it.
    "LOCK TABLE @memkeep IN ACCESS EXCLUSIVE MODE",
    r#"CREATE TABLE @recall_blobs (
        kind text COLLATE "C" NOT NULL,
        key bytea NOT NULL,
        value bytea NOT NULL,
        PRIMARY KEY (kind, key)
    )"#,
    r#"CREATE TABLE @recall_tail (
        kind text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        pk bigint NOT NULL,
        workspace text COLLATE "C",
        created_at bigint,
        open boolean,
        session bigint,
        position bigint,
        role text COLLATE "C",
        text text COLLATE "C",
        more text COLLATE "C",
        PRIMARY KEY (kind, number, pk)
    )"#,
];

/// How far the recall indexes have come, so that a record that is new needs no row beside its own. And two
/// gates in the place of one: the value of the sequence says by which writers enter.
const VERSION_3: &[&str] = &[
    // Who writes has read the version, who indexes has read the tail: so all of them are waited for, and
    // those that come later fail.
    "LOCK TABLE @memkeep IN ACCESS EXCLUSIVE MODE",
    "DROP TABLE @recall_tail",
    "DELETE FROM @recall_blobs",
    r#"CREATE TABLE @recall_coverage (
        kind text COLLATE "C" PRIMARY KEY,
        last bigint NOT NULL
    )"#,
    r#"CREATE TABLE @recall_changes (
        kind text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        pk bigint NOT NULL,
        workspace text COLLATE "C",
        created_at bigint NOT NULL,
        open boolean NOT NULL,
        session bigint,
        position bigint,
        role text COLLATE "C",
        text text COLLATE "C" NOT NULL,
        more text COLLATE "C",
        PRIMARY KEY (kind, number, pk)
    )"#,
    "CREATE SEQUENCE @gates AS bigint",
];

/// The tables that `compact` rewrites and whose bytes count.
pub(crate) const TABLES: [&str; 13] = [
    "workspaces",
    "sessions",
    "turns",
    "steps",
    "episodes",
    "notes",
    "states",
    "audit",
    "audit_heads",
    "receipts",
    "recall_blobs",
    "recall_changes",
    "recall_coverage",
];

/// Brings the schema to [`CURRENT`], where it is not there yet. A crash leaves the version it had, and
/// opening again goes on from there. Others who migrate at the same time wait for each other.
pub(crate) async fn migrate(pool: &Arc<Pool>, names: &Arc<Names>) -> Attempt<()> {
    let mut transaction = Transaction::begin(pool, names, Mode::Read, PATIENCE, "").await?;
    let version = version(&mut transaction).await;
    let mut version = transaction.end(version).await?;
    while version < CURRENT {
        let lock = format!("SELECT {}", names.lock_migration());
        let mut transaction = Transaction::begin(pool, names, Mode::Write, PATIENCE, &lock).await?;
        let step = step(&mut transaction).await;
        version = transaction.end(step).await?;
    }
    Ok(())
}

/// Does the next step, unless somebody else has; returns the version after it.
async fn step(transaction: &mut Transaction) -> Attempt<i64> {
    let from = version(transaction).await?;
    let step = usize::try_from(from).ok().and_then(|from| MIGRATIONS.get(from));
    let Some(step) = step else { return Ok(from) };
    if from == 0 {
        let there = Statement::new(
            "SELECT count(*) FROM information_schema.schemata WHERE schema_name = $1",
        );
        let there = there.bind(transaction.names().schema().to_owned())?;
        if transaction.number(there).await? == 0 {
            transaction.run("CREATE SCHEMA @SCHEMA").await?;
        }
    }
    for sql in *step {
        transaction.run(sql).await?;
    }
    let to = from + 1;
    transaction.run(&format!("UPDATE @memkeep SET version = {to}")).await?;
    Ok(to)
}

/// The version of the schema: 0 if it is new. Nothing is written.
async fn version(transaction: &mut Transaction) -> Attempt<i64> {
    let there = Statement::new(
        "SELECT count(*) FROM information_schema.tables \
         WHERE table_schema = $1 AND table_name = 'memkeep'",
    );
    let there = there.bind(transaction.names().schema().to_owned())?;
    if transaction.number(there).await? == 0 {
        return Ok(0);
    }
    let version = transaction.number(Statement::new("SELECT version FROM @memkeep")).await?;
    if version > CURRENT { Err(too_new(version)) } else { Ok(version) }
}

/// Whether an open store, which has `version` now, still has the tables that this program knows.
pub(crate) fn still(version: Option<i64>) -> Attempt<()> {
    match version.unwrap_or_default().cmp(&CURRENT) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(too_new(version.unwrap_or_default())),
        Ordering::Less => {
            let message = "the store has lost its tables since it was opened";
            Err(Error::new(ErrorKind::Corrupt, message).into())
        }
    }
}

/// `SchemaTooNew`, for a store of `version`.
fn too_new(version: i64) -> Trouble {
    let message = format!(
        "the store has schema version {version}; this program knows versions up to {CURRENT}"
    );
    Error::new(ErrorKind::SchemaTooNew, message).into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_step_leads_to_the_next_version() {
        assert_eq!(usize::try_from(super::CURRENT), Ok(super::MIGRATIONS.len()));
    }
}

//! The contract, clause by clause.

#[cfg(test)]
use std::process::{Command, Stdio};
use std::sync::Arc;

use memkeep_conformance::{Abilities, Damage, Factory, Handle, Place};
use memkeep_core::{Clock, Result};
#[cfg(test)]
use memkeep_postgres_testing::{SHARED_SERVER, Server};

mod support;

struct Postgres;

#[async_trait::async_trait]
impl Factory for Postgres {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        Ok(Handle::new(Arc::new(support::open(place, clock).await?)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::new().reopen().second_handle().kill().faults().damage()
    }

    async fn destroy(&self, place: &Place) -> Result<()> {
        support::destroy(place).await?;
        support::plain::check();
        Ok(())
    }

    /// Another client locks the tables.
    async fn break_writes(&self, place: &Place) -> Result<Box<dyn Send>> {
        support::break_writes(place).await
    }

    async fn damage(&self, place: &Place, damage: &Damage) -> Result<()> {
        support::damage(place, damage).await
    }
}

memkeep_postgres_testing::suite!(
    Postgres,
    lacks_copy = "a server is copied with pg_dump or pg_basebackup",
);

/// Which clauses [`four_processes_run_the_suite_at_once`] runs: those whose names have this in them, or
/// all with `conformance::`.
#[cfg(test)]
const CLAUSES: &str = "MEMKEEP_FOUR_PROCESSES";

#[cfg(test)]
memkeep_postgres_testing::server_tests! {
    /// On one server, whose databases are all that keeps them apart.
    async fn four_processes_run_the_suite_at_once() {
        let clauses = std::env::var(CLAUSES).unwrap_or_else(|_| "conformance::writers".to_owned());
        let test = std::env::current_exe().unwrap();
        let processes = [(); 4].map(|()| {
            let mut process = Command::new(&test);
            process.arg(&clauses).arg("--test-threads=2").stdout(Stdio::piped());
            process.env(SHARED_SERVER, Server::shared().socket()).spawn().unwrap()
        });
        for process in processes {
            let output = process.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{told}");
            assert!(!told.contains("running 0 tests"), "{told}");
        }
    }
}

/// So the check that follows every clause means something.
#[test]
fn statements_that_use_more_than_is_listed_are_noticed() {
    for (statement, more) in [
        (
            "SELECT pk FROM \"memkeep\".turns t WHERE \"GIN\" <> E'GIN@>' AND t.id = ANY($1)",
            &[][..],
        ),
        ("SELECT jsonb_agg(t) FROM unnest($1) AS t(a)", &["jsonb_agg"]),
        ("SELECT count(*) FROM turns TABLESAMPLE SYSTEM (1)", &["TABLESAMPLE", "SYSTEM"]),
        ("CREATE TABLE \"memkeep\".x (pk bigint, value jsonb)", &["jsonb"]),
        ("SELECT $1::tsvector @@ text", &["tsvector", "@@"]),
    ] {
        assert_eq!(support::plain::unlisted(statement), more, "{statement}");
    }
}

//! A copy whose process is killed, again and again, until one comes to its end.

#![cfg(all(feature = "inmem", feature = "postgres", feature = "redb", feature = "sqlite"))]

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use memkeep::{CopyOptions, NewSession, NewTurn, Scope, copy, export, verify::Verify};
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The URLs of the stores that a child copies from and to. Without them a process is no child.
const FROM: &str = "MEMKEEP_TEST_COPY_FROM";
const TO: &str = "MEMKEEP_TEST_COPY_TO";

/// Twelve batches of them are copied.
const TURNS: usize = 48_000;

/// Not a test of its own.
#[tokio::test]
async fn child_copies() {
    let (Ok(from), Ok(to)) = (env::var(FROM), env::var(TO)) else { return };
    let from = memkeep::open(&from).await.unwrap();
    let to = memkeep::open(&to).await.unwrap();
    let options = CopyOptions::new().progress(|_| {
        println!("stored");
        std::io::stdout().flush().unwrap();
    });
    copy(&*from, &*to, options).await.unwrap();
    println!("copied");
}

/// Starts a copy, and kills it when it has told `reports` times of its progress. Whether it came to its end
/// before.
fn copy_killed(from: &str, to: &str, reports: usize) -> bool {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["child_copies", "--exact", "--nocapture"]).env(FROM, from).env(TO, to);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = 0;
    let mut is_over = false;
    for line in lines.map_while(Result::ok) {
        told += usize::from(line.ends_with("stored"));
        is_over |= line == "copied";
        if told == reports {
            child.kill().unwrap();
        }
    }
    let is_success = child.wait().unwrap().success();
    assert!(is_over || told >= reports, "it failed by itself");
    is_over && is_success
}

/// Kills copies into the store of a URL, until all is there.
async fn copy_in_pieces(to: &str) {
    let folder = tempfile::tempdir().unwrap();
    let from = format!("sqlite:{}", folder.path().join("from.db").display());
    let source = memkeep::open(&from).await.unwrap();
    source.start_session(NewSession::new().id("s")).await.unwrap();
    for part in 0..TURNS / 1_000 {
        let turns = (0..1_000).map(|n| NewTurn::new("s", "user", format!("{part} {n}")));
        source.commit(turns.collect()).await.unwrap();
    }
    let mut kills = 0;
    let mut held = 0;
    while !copy_killed(&from, to, 2 + kills % 3) {
        kills += 1;
        let store = memkeep::open(to).await.unwrap();
        let now = store.stats(&Scope::All).await.unwrap().counts.turns;
        // The last report may come before the kill by any number of batches, but not after it.
        assert!(now > held, "{to}: {now} after {held}");
        held = now;
        store.close().await.unwrap();
        if held == TURNS as u64 {
            // All is stored: from here on it is only compared.
            assert!(copy_killed(&from, to, usize::MAX));
            break;
        }
    }
    assert!(kills > 2, "{to}: {kills}");
    let store = memkeep::open(to).await.unwrap();
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    let mut exports = [Vec::new(), Vec::new()];
    export(&*source, &Scope::All, &mut exports[0]).await.unwrap();
    export(&*store, &Scope::All, &mut exports[1]).await.unwrap();
    assert!(exports[0] == exports[1], "{to}");
}

#[tokio::test]
async fn a_killed_copy_into_a_file_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    for backend in ["redb", "sqlite"] {
        copy_in_pieces(&format!("{backend}:{}", folder.path().join(backend).display())).await;
    }
}

server_tests! {
    async fn a_killed_copy_into_a_server_goes_on() {
        let server = Server::shared();
        let mut admin = PgConnection::connect(&server.url("postgres")).await.unwrap();
        let sql = AssertSqlSafe("CREATE DATABASE killed_copy".to_owned());
        sqlx::raw_sql(sql).execute(&mut admin).await.unwrap();
        copy_in_pieces(&server.url("killed_copy")).await;
    }
}

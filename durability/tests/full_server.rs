//! A PostgreSQL server without room.

#![cfg(can_watch)]

use std::{fs, path::Path};

use memkeep_core::{
    Backend as _, Batch, ErrorKind, ListTurns, NewSession, NewTurn, Op, SessionStore as _,
    verify::Verify,
};
use memkeep_postgres::{Host, PostgresBackend, PostgresConfig};
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

mod support;

/// Nothing of it can be compressed.
const TEXT_BYTES: usize = 100_000;

server_tests! {
    #[cfg_attr(not(can_mount_for_server), ignore = "no file system can be mounted here: it takes root")]
    async fn a_server_without_room_is_survived() {
        support::in_small_file_system("child_fills_a_server", "32m");
    }

    /// Not a test of its own.
    async fn child_fills_a_server() {
        if let Some(folder) = support::small_file_system() {
            fill(&folder).await;
        }
    }
}

/// `StorageFull` when there is no room; what is there is read meanwhile; with room again the store goes
/// on, and nothing that was acknowledged is missing.
async fn fill(folder: &Path) {
    let server = Server::start("");
    let [ballast, data] = ["ballast", "data"].map(|name| folder.join(name));
    fs::create_dir(&data).unwrap();
    server.give(&data);
    // The log of the server has room: without it the server would end, whatever a client does.
    let mut admin = PgConnection::connect(&server.url("postgres")).await.unwrap();
    for sql in [
        format!("CREATE TABLESPACE small LOCATION '{}'", data.display()),
        "CREATE DATABASE small TABLESPACE small".to_owned(),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut admin).await.unwrap();
    }
    let open = || {
        let host = Host::new(server.socket().display().to_string());
        PostgresConfig::new(host, "small").user("memkeep").open()
    };
    let store = open().await.unwrap();
    fs::write(&ballast, vec![1; 4 << 20]).unwrap();
    let mut acknowledged = 0;
    let refused = loop {
        match store.commit(batch(acknowledged)).await {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 5);
    assert_eq!(refused.kind(), ErrorKind::StorageFull, "{refused:?}");
    for _ in 0..3 {
        let refused = store.commit(batch(acknowledged)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::StorageFull, "{refused:?}");
        assert_eq!(turns(&store).await, acknowledged);
    }

    fs::remove_file(&ballast).unwrap();
    store.commit(batch(acknowledged)).await.unwrap();
    assert_eq!(turns(&store).await, acknowledged + 1);
    assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
    store.close().await.unwrap();
    let store = open().await.unwrap();
    assert_eq!(turns(&store).await, acknowledged + 1);
}

fn batch(number: usize) -> Batch {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let text: String = (0..TEXT_BYTES).map(|_| random.alphanumeric()).collect();
    Batch::new()
        .with(Op::EnsureSession(NewSession::new().id("s")))
        .with(NewTurn::new("s", "user", text).id(number.to_string()))
}

/// How many turns there are: the first so many.
async fn turns(store: &PostgresBackend) -> usize {
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await.unwrap().items;
    for (number, turn) in turns.iter().enumerate() {
        assert_eq!(turn.id.as_str(), number.to_string());
        assert_eq!(turn.content.len(), TEXT_BYTES);
    }
    turns.len()
}

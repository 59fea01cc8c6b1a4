//! A PostgreSQL server without room.

#![cfg(can_watch)]

use std::{fs, path::Path};

use memkeep_core::Backend as _;
use memkeep_postgres::{Host, PostgresConfig};
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use self::support::Filling;

mod support;

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

/// Nothing of it can be compressed.
fn text(number: usize) -> String {
    let mut random = fastrand::Rng::with_seed(number as u64);
    (0..100_000).map(|_| random.alphanumeric()).collect()
}

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
    let filling = Filling { name: "PostgreSQL", text };
    let store = open().await.unwrap();
    fs::write(&ballast, vec![1; 4 << 20]).unwrap();
    let acknowledged = filling.until_refused(&store).await;

    fs::remove_file(&ballast).unwrap();
    filling.goes_on(&store, acknowledged).await;
    store.close().await.unwrap();
    filling.is_whole(&open().await.unwrap(), acknowledged + 1).await;
}

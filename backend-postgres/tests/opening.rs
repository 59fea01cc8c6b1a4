//! Opening: many at once, other versions, other programs' tables, who is not let in.

use std::{fs, process::Command, time::Duration};

use memkeep_core::{
    Backend as _, EpisodicBackend as _, ErrorKind, ListEpisodes, NewEpisode, RecallQuery,
    RecordKind, Result, Scan, Scope, verify::Verify,
};
use memkeep_postgres::{Host, PostgresBackend, PostgresConfig, TlsMode};
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::Row as _;

mod support;

use support::{config, connect, run};

/// Where a process that opens a store is told its socket.
const SOCKET: &str = "MEMKEEP_TEST_SOCKET";

/// An empty database of its own on the shared server; the socket.
async fn empty(database: &str) -> String {
    let socket = Server::shared().socket().display().to_string();
    let mut admin = connect(&socket, "postgres").await.unwrap();
    run(&mut admin, &format!("CREATE DATABASE {database}")).await.unwrap();
    socket
}

async fn add(store: &PostgresBackend, id: &str) -> Result<()> {
    store.add_episode(NewEpisode::new("problem", "summary").id(id)).await.map(drop)
}

async fn ids(store: &PostgresBackend) -> Vec<String> {
    let page = store.episodes(&ListEpisodes::new()).await.unwrap();
    page.items.into_iter().map(|episode| episode.id.to_string()).collect()
}

async fn refused(config: PostgresConfig) -> memkeep_core::Error {
    config.open().await.map(|store| store.info()).unwrap_err()
}

/// What `ten_processes_open_a_new_store_at_once` starts; does nothing in a test run.
#[test]
fn opener() {
    let Ok(socket) = std::env::var(SOCKET) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = config(&socket, "ten").open().await.unwrap();
        add(&store, &std::process::id().to_string()).await.unwrap();
        store.close().await.unwrap();
    });
}

server_tests! {
    async fn ten_processes_open_a_new_store_at_once() {
        let socket = empty("ten").await;
        let opener = || {
            Command::new(std::env::current_exe().unwrap())
                .args(["opener", "--exact"])
                .env(SOCKET, &socket)
                .spawn()
                .unwrap()
        };
        let openers: Vec<_> = (0..10).map(|_| opener()).collect();
        for mut opener in openers {
            assert!(opener.wait().unwrap().success());
        }
        let store = config(&socket, "ten").open().await.unwrap();
        assert_eq!(ids(&store).await.len(), 10);
    }

    async fn a_newer_store_is_refused_and_stays_as_it_is() {
        let socket = empty("newer").await;
        let open = config(&socket, "newer").open().await.unwrap();
        add(&open, "before").await.unwrap();
        let mut other = connect(&socket, "newer").await.unwrap();
        run(&mut other, "UPDATE memkeep.memkeep SET version = 99").await.unwrap();
        assert_eq!(refused(config(&socket, "newer")).await.kind(), ErrorKind::SchemaTooNew);
        // Who had it open before does not write to it either.
        assert_eq!(add(&open, "after").await.unwrap_err().kind(), ErrorKind::SchemaTooNew);
        let version = sqlx::raw_sql("SELECT version FROM memkeep.memkeep");
        let version: i64 = version.fetch_one(&mut other).await.unwrap().try_get(0).unwrap();
        assert_eq!(version, 99);
        assert_eq!(ids(&open).await, ["before"]);
    }

    async fn another_programs_tables_are_left_alone() {
        let socket = empty("taken").await;
        let mut other = connect(&socket, "taken").await.unwrap();
        run(&mut other, "CREATE SCHEMA memkeep; CREATE TABLE memkeep.turns (x int)").await.unwrap();
        assert_eq!(refused(config(&socket, "taken")).await.kind(), ErrorKind::Corrupt);
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'memkeep'";
        let tables = sqlx::raw_sql(tables).fetch_one(&mut other).await.unwrap();
        assert_eq!(tables.try_get::<i64, _>(0).unwrap(), 1);
    }

    async fn schemas_of_one_database_are_stores_of_their_own() {
        let socket = empty("schemas").await;
        for schema in ["a", "it's \"here\" @ C:\\x", "SELECT"] {
            let store = config(&socket, "schemas").schema(schema).open().await.unwrap();
            assert_eq!(ids(&store).await, [""; 0]);
            add(&store, schema).await.unwrap();
            assert_eq!(store.stats(&Scope::All).await.unwrap().counts.episodes, 1);
            store.compact().await.unwrap();
            store.close().await.unwrap();
            let store = config(&socket, "schemas").schema(schema).open().await.unwrap();
            assert_eq!(ids(&store).await, [schema]);
        }
        let long = config(&socket, "schemas").schema("x".repeat(64));
        assert_eq!(refused(long).await.kind(), ErrorKind::InvalidArgument);
    }

    async fn who_may_only_read_reads_everything() {
        let socket = empty("read").await;
        let store = config(&socket, "read").open().await.unwrap();
        add(&store, "there").await.unwrap();
        let mut admin = connect(&socket, "read").await.unwrap();
        run(&mut admin, "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA memkeep TO reader; \
            GRANT SELECT ON ALL TABLES IN SCHEMA memkeep TO reader; \
            GRANT SELECT ON ALL SEQUENCES IN SCHEMA memkeep TO reader").await.unwrap();
        let reader = config(&socket, "read").user("reader").open().await.unwrap();
        assert_eq!(ids(&reader).await, ["there"]);
        let scan = Scan::new(RecordKind::Episode);
        assert_eq!(reader.scan(&scan).await.unwrap(), store.scan(&scan).await.unwrap());
        let query = RecallQuery::new("problem");
        assert_eq!(reader.recall(&query).await.unwrap(), store.recall(&query).await.unwrap());
        assert!(reader.verify(&Verify::new()).await.unwrap().is_clean());
        assert_eq!(add(&reader, "new").await.unwrap_err().kind(), ErrorKind::ReadOnly);
    }

    async fn what_is_not_there_is_told() {
        let socket = empty("there").await;
        assert_eq!(refused(config(&socket, "not_there")).await.kind(), ErrorKind::NotFound);
        let nobody = PostgresConfig::new(Host::new(&socket), "there").user("nobody");
        let error = refused(nobody).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidArgument, false));
        let error = refused(PostgresConfig::new(Host::new("/nowhere"), "there")).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true));
        // The server has no certificate.
        let secure = config(&socket, "there").tls(TlsMode::Require);
        let error = refused(secure).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidArgument, false));
    }

    async fn no_text_shows_a_password() {
        let server = Server::start("fsync = off\nlisten_addresses = '127.0.0.1'\n");
        let socket = server.socket().display().to_string();
        let mut admin = connect(&socket, "postgres").await.unwrap();
        run(&mut admin, "CREATE ROLE app LOGIN PASSWORD 'right-horse'").await.unwrap();
        run(&mut admin, "CREATE DATABASE app OWNER app").await.unwrap();
        fs::write(
            server.socket().join("data/pg_hba.conf"),
            "local all app scram-sha-256\nlocal all all trust\n",
        )
        .unwrap();
        run(&mut admin, "SELECT pg_reload_conf()").await.unwrap();
        let at = |hosts: &str, password: &str| {
            let hosts = hosts.replace('/', "%2F");
            let url = format!("postgres://app:{password}@{hosts}/app?connect_timeout_ms=2000");
            PostgresConfig::from_url(&url.parse().unwrap()).unwrap()
        };
        // Until the server has read its file again, anything is right.
        let error = loop {
            match at(&socket, "wrong-horse").open().await {
                Ok(store) => store.close().await.unwrap(),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::InvalidArgument, false));
        let mut told = vec![format!("{error} {error:?}")];
        let config = at(&socket, "right-horse").connect_timeout(Duration::from_secs(10));
        told.push(format!("{config:?}"));
        let store = config.open().await.unwrap();
        add(&store, "x").await.unwrap();
        for (hosts, kind) in [
            ("127.0.0.1:1", ErrorKind::Unavailable),
            ("no-such-host.invalid", ErrorKind::Unavailable),
            ("/nowhere", ErrorKind::Unavailable),
        ] {
            let error = refused(at(hosts, "wrong-horse")).await;
            assert_eq!(error.kind(), kind, "{error:?}");
            told.push(format!("{error} {error:?}"));
        }
        run(&mut admin, "ALTER ROLE app NOLOGIN; SELECT pg_terminate_backend(pid) \
            FROM pg_stat_activity WHERE usename = 'app'").await.unwrap();
        // Its connections end when the server gets round to it.
        let error = loop {
            if let Err(error) = add(&store, "y").await {
                break error;
            }
        };
        told.push(format!("{error} {error:?}"));
        for text in told {
            assert!(!text.contains("horse"), "{text}");
        }
    }
}

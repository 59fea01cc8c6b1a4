//! What happens to the server while writers run: its machine fails and a standby takes over, it is
//! restarted, its connections break.
//!
//! `MEMKEEP_FAILOVERS` sets how many times a standby takes over (2 if unset).

use std::{sync::Arc, time::Duration};

use memkeep_core::{EpisodicBackend as _, NewEpisode, Scope};
use memkeep_postgres::{Host, PostgresConfig};
use memkeep_postgres_testing::{Server, Stop, server_tests};
use sqlx::{AssertSqlSafe, Row as _};

mod support;
#[path = "support/writers.rs"]
mod writers;

use support::{config, connect, run};
use writers::{Writers, check};

/// How the store on a cluster of two is opened.
fn cluster(first: &Server, second: &Server) -> PostgresConfig {
    let host = |server: &Server| Host::new(server.socket().display().to_string());
    PostgresConfig::new(host(first), "postgres")
        .host(host(second))
        .user("memkeep")
        .connect_timeout(Duration::from_secs(5))
}

/// A standby that has all that the primary acknowledges.
async fn synchronous_standby(primary: &Server) -> Server {
    let standby = primary.standby("standby", "");
    let socket = primary.socket().display().to_string();
    let mut admin = connect(&socket, "postgres").await.unwrap();
    run(&mut admin, "ALTER SYSTEM SET synchronous_standby_names = 'standby'").await.unwrap();
    run(&mut admin, "SELECT pg_reload_conf()").await.unwrap();
    loop {
        let sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut admin).await.unwrap();
        if row.try_get::<i64, _>(0).unwrap() == 1 {
            return standby;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

server_tests! {
    async fn no_acknowledged_batch_is_lost_when_a_standby_takes_over() {
        let rounds = std::env::var("MEMKEEP_FAILOVERS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
        let mut names = std::collections::BTreeSet::new();
        let mut primary = Server::start("");
        for round in 0..rounds {
            let standby = synchronous_standby(&primary).await;
            let store = Arc::new(cluster(&primary, &standby).open().await.unwrap());
            let mut writers = Writers::start(&store, &round.to_string(), 4);
            writers.acknowledge(50).await;
            primary.kill();
            standby.promote();
            // The new primary has nobody to wait for.
            let socket = standby.socket().display().to_string();
            let mut admin = connect(&socket, "postgres").await.unwrap();
            run(&mut admin, "ALTER SYSTEM RESET synchronous_standby_names").await.unwrap();
            run(&mut admin, "SELECT pg_reload_conf()").await.unwrap();
            writers.acknowledge(50).await;
            assert!(writers.failed() > 0, "nobody noticed");
            names.extend(writers.stop().await);
            check(&store, &names).await;
            primary = standby;
        }
    }

    async fn no_acknowledged_batch_is_lost_when_the_server_restarts() {
        let server = Server::start("");
        let socket = server.socket().display().to_string();
        let store = Arc::new(config(&socket, "postgres").open().await.unwrap());
        let mut writers = Writers::start(&store, "w", 4);
        for stop in [Stop::Fast, Stop::Immediate] {
            writers.acknowledge(20).await;
            server.stop(stop);
            server.start_again();
            writers.acknowledge(20).await;
        }
        check(&store, &writers.stop().await).await;
    }

    async fn broken_connections_break_no_batch() {
        let server = Server::start("fsync = off\n");
        let socket = server.socket().display().to_string();
        let store = Arc::new(config(&socket, "postgres").open().await.unwrap());
        let mut writers = Writers::start(&store, "w", 4);
        let mut admin = connect(&socket, "template1").await.unwrap();
        for _ in 0..20 {
            writers.acknowledge(3).await;
            let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                       WHERE application_name = 'memkeep'";
            run(&mut admin, sql).await.unwrap();
        }
        writers.acknowledge(10).await;
        check(&store, &writers.stop().await).await;
    }

    async fn a_standby_answers_reads_if_it_is_current_enough() {
        let primary = Server::start("fsync = off\n");
        let standby = primary.standby("standby", "");
        let config = cluster(&primary, &standby);
        let store = config.clone().open().await.unwrap();
        let episode = store.add_episode(NewEpisode::new("problem", "")).await.unwrap();
        let reads = |behind| config.clone().standby_reads(Duration::from_millis(behind)).open();
        let mut asked = connect(&standby.socket().display().to_string(), "template1").await.unwrap();
        let mut seen = async || {
            let sql = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'memkeep'";
            let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut asked).await.unwrap();
            row.try_get::<i64, _>(0).unwrap()
        };
        assert_eq!(seen().await, 0);

        // It follows at once, so that a reader who may be a minute late finds it current.
        let late = reads(60_000).await.unwrap();
        while seen().await == 0 {
            let found = late.episode(&Scope::All, &episode.id).await.unwrap();
            assert!(found.is_none_or(|found| found == episode));
        }

        // One that has stopped to follow answers nobody who must not be late.
        let socket = standby.socket().display().to_string();
        let mut admin = connect(&socket, "postgres").await.unwrap();
        run(&mut admin, "SELECT pg_wal_replay_pause()").await.unwrap();
        let second = store.add_episode(NewEpisode::new("another", "")).await.unwrap();
        let prompt = reads(0).await.unwrap();
        assert_eq!(prompt.episode(&Scope::All, &second.id).await.unwrap(), Some(second));

        // Without a standby the primary answers.
        standby.stop(Stop::Immediate);
        assert_eq!(late.episode(&Scope::All, &episode.id).await.unwrap(), Some(episode));
    }
}

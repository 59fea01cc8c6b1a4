//! Many writers in each other's way, and what they wait for.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use memkeep_core::{
    Backend as _, Batch, Cursor, DeleteState, EpisodicBackend as _, ErrorKind, NewAudit,
    NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, PutState, Record, RecordKind,
    ReflectiveStore as _, Scan, Scope, SessionStore as _, verify::Verify,
};
use memkeep_postgres::PostgresBackend;
use memkeep_postgres_testing::{Server, server_tests};
use serde_json::json;
use sqlx::{AssertSqlSafe, Row as _};
use tokio::task::JoinSet;

mod support;

use support::{config, connect, create, run};

/// A database of its own on the shared server; the socket.
async fn database(name: &str) -> String {
    create(Server::shared(), name).await.unwrap();
    Server::shared().socket().display().to_string()
}

async fn open(socket: &str, database: &str) -> Arc<PostgresBackend> {
    Arc::new(config(socket, database).open().await.unwrap())
}

server_tests! {
    /// Each batch touches rows of all kinds in an order of its own.
    async fn batches_that_cross_each_other_all_get_through() {
        let socket = database("crossing").await;
        let stores = [open(&socket, "crossing").await, open(&socket, "crossing").await];
        for session in ["0", "1", "2", "3"] {
            stores[0].start_session(NewSession::new().id(session)).await.unwrap();
        }
        let mut tasks = JoinSet::new();
        for task in 0..8_usize {
            let store = Arc::clone(&stores[task % 2]);
            tasks.spawn(async move {
                for n in 0..20 {
                    let mut batch = Batch::new();
                    for step in 0..4 {
                        let at = if task % 2 == 0 { step } else { 3 - step };
                        let key = ((at + n) % 4).to_string();
                        batch.push(NewTurn::new(key.as_str(), "user", "x").tokens(1));
                        batch.push(PutState::new(key.as_str(), json!(n)));
                        batch.push(NewStep::new(key.as_str(), "plan", "done"));
                        // Two may create one id at once; both get the one record.
                        batch.push(NewEpisode::new("p", "s").id(format!("e{key}-{n}")));
                    }
                    store.commit(batch).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        for session in ["0", "1", "2", "3"] {
            let session = stores[0].session(&Scope::All, &session.into()).await.unwrap().unwrap();
            assert_eq!((session.turn_count, session.total_tokens), (160, 160));
            let state = stores[0].state(&"default".into(), session.id.as_str()).await.unwrap();
            assert_eq!(state.unwrap().version, 160);
        }
        assert!(stores[1].verify(&Verify::new()).await.unwrap().is_clean());
        assert_eq!(stores[1].stats(&Scope::All).await.unwrap().counts.episodes, 80);
    }

    /// Writers come back to a workspace as often as it is forgotten, and leave nothing without one.
    async fn a_workspace_is_forgotten_among_its_writers() {
        let socket = database("forgotten").await;
        let stores = [open(&socket, "forgotten").await, open(&socket, "forgotten").await];
        let mut tasks = JoinSet::new();
        for task in 0..4_usize {
            let store = Arc::clone(&stores[task % 2]);
            tasks.spawn(async move {
                for n in 0..40 {
                    let id = format!("{task}-{n}");
                    let batch: Batch = [
                        Op::EnsureSession(NewSession::new().id(id.as_str()).workspace("w")),
                        NewTurn::new(id.as_str(), "user", "x").into(),
                        NewEpisode::new("p", "s").id(id.as_str()).workspace("w").into(),
                    ]
                    .into_iter()
                    .collect();
                    store.commit(batch).await.unwrap();
                    // By now all of it may be gone.
                    for op in [
                        Op::from(NewTurn::new(id.as_str(), "user", "y")),
                        NewNote::new("n").sources([id.as_str().into()]).into(),
                        PutState::new(id.as_str(), json!(n)).workspace("w").into(),
                    ] {
                        let there = store.commit(op.into()).await;
                        assert!(there.is_ok_and(|_| true) || n < 40);
                    }
                }
            });
        }
        let forgetter = Arc::clone(&stores[0]);
        tasks.spawn(async move {
            for _ in 0..20 {
                let op = Op::ForgetWorkspace { workspace: "w".into() };
                forgetter.commit(op.into()).await.unwrap();
            }
        });
        tasks.join_all().await;
        assert!(stores[1].verify(&Verify::new()).await.unwrap().is_clean());
        let mut other = connect(&socket, "forgotten").await.unwrap();
        for table in ["sessions", "turns", "steps", "episodes", "notes", "states", "audit_heads"] {
            let sql = format!(
                "SELECT count(*) FROM memkeep.{table} WHERE workspace NOT IN \
                 (SELECT pk FROM memkeep.workspaces)"
            );
            let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(&mut other).await.unwrap();
            assert_eq!(row.try_get::<i64, _>(0).unwrap(), 0, "{table}");
        }
        let op = Op::ForgetWorkspace { workspace: "w".into() };
        stores[0].commit(op.into()).await.unwrap();
        assert_eq!(stores[1].workspaces().await.unwrap(), []);
    }

    /// Whoever reads on from a cursor misses nothing that is committed meanwhile.
    async fn nothing_appears_behind_a_cursor() {
        let socket = database("behind").await;
        let stores = [open(&socket, "behind").await, open(&socket, "behind").await];
        let mut tasks = JoinSet::new();
        for task in 0..8_usize {
            let store = Arc::clone(&stores[task % 2]);
            tasks.spawn(async move {
                for n in 0..40 {
                    let ops = (0..=n % 5).map(|k| NewEpisode::new("p", "s").id(format!("{task}-{n}-{k}")));
                    store.commit(ops.collect()).await.unwrap();
                }
            });
        }
        let mut after: Option<Cursor> = None;
        let mut seen = Vec::new();
        let mut reading = async || {
            loop {
                let scan = Scan::new(RecordKind::Episode).limit(7_usize).after(after.clone());
                let page = stores[0].scan(&scan).await.unwrap();
                match page.next {
                    // What comes after the last cursor is read again next time.
                    None => return page.items.len(),
                    next => {
                        after = next;
                        seen.extend(page.items.iter().map(Record::id).map(str::to_owned));
                    }
                }
            }
        };
        while !tasks.is_empty() {
            reading().await;
            while let Some(ended) = tasks.try_join_next() {
                ended.unwrap();
            }
        }
        let rest = reading().await;
        let once: BTreeSet<_> = seen.iter().collect();
        assert_eq!(once.len(), seen.len());
        let all = stores[1].stats(&Scope::All).await.unwrap().counts.episodes;
        assert_eq!(seen.len() as u64 + rest as u64, all);
    }

    /// Batches that wait are committed together; each sees what those before it did.
    async fn batches_that_are_committed_together_see_each_other() {
        let socket = database("together").await;
        let store = open(&socket, "together").await;
        let mut tasks = JoinSet::new();
        for task in 0..32_usize {
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                for n in 0..20_usize {
                    let id = ((task * 7 + n * 3) % 4).to_string();
                    let op: Op = match (task + n) % 9 {
                        0 | 1 => Op::EnsureSession(NewSession::new().id(id.as_str())),
                        2 => Op::DeleteSession { session: id.as_str().into(), ended_before: None },
                        3 | 4 => NewTurn::new(id.as_str(), "user", "x").tokens(1).into(),
                        5 => NewEpisode::new("p", "s").id(id.as_str()).into(),
                        6 => Op::DeleteEpisode { episode: id.as_str().into(), closed_before: None },
                        7 => PutState::new(id.as_str(), json!(n)).into(),
                        _ => DeleteState::new(id.as_str()).into(),
                    };
                    let batch = Batch::from(op).with(NewAudit::new("run", "allow"));
                    let batch = batch.key(format!("{task}-{n}"));
                    match store.commit(batch.clone()).await {
                        Ok(_) => {
                            let again = store.commit(batch).await.unwrap();
                            assert_eq!(again.outcomes.len(), 2);
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}"),
                    }
                }
            });
        }
        tasks.join_all().await;
        assert!(store.verify(&Verify::new()).await.unwrap().is_clean());
        let head = store.audit_head(&"default".into()).await.unwrap();
        assert_eq!(head.seq, store.stats(&Scope::All).await.unwrap().counts.audits);
        let mut other = connect(&socket, "together").await.unwrap();
        let orphans = "SELECT count(*) FROM memkeep.turns WHERE session NOT IN \
                       (SELECT pk FROM memkeep.sessions)";
        let row = sqlx::raw_sql(orphans).fetch_one(&mut other).await.unwrap();
        assert_eq!(row.try_get::<i64, _>(0).unwrap(), 0);
    }

    /// What one of them waits for is not waited for by the others.
    async fn a_batch_that_waits_holds_up_no_other() {
        let socket = database("held").await;
        let mut other = connect(&socket, "held").await.unwrap();
        let store = config(&socket, "held").lock_timeout(Duration::from_secs(1)).open().await;
        let store = Arc::new(store.unwrap());
        store.start_session(NewSession::new().id("s")).await.unwrap();
        run(&mut other, "BEGIN; SELECT 1 FROM memkeep.sessions FOR UPDATE").await.unwrap();
        let mut tasks = JoinSet::new();
        for n in 0..60 {
            let store = Arc::clone(&store);
            tasks.spawn(async move {
                if n % 20 == 0 {
                    let error = store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Timeout, "{error:?}");
                } else {
                    store.add_episode(NewEpisode::new("p", "s")).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        assert_eq!(store.stats(&Scope::All).await.unwrap().counts.episodes, 57);
    }

    async fn what_is_waited_for_too_long_is_a_timeout() {
        let socket = database("waiting").await;
        let mut other = connect(&socket, "waiting").await.unwrap();
        let patient = open(&socket, "waiting").await;
        patient.start_session(NewSession::new().id("s")).await.unwrap();
        run(&mut other, "BEGIN; SELECT 1 FROM memkeep.sessions FOR UPDATE").await.unwrap();
        let config = config(&socket, "waiting");
        let short = Duration::from_millis(200);
        let locked = config.clone().lock_timeout(short).open().await.unwrap();
        let slow = config.clone().statement_timeout(short).open().await.unwrap();
        for store in [&locked, &slow] {
            let error = store.record_turn(NewTurn::new("s", "user", "x")).await.unwrap_err();
            assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{error:?}");
            // Other rows are nobody's business.
            store.add_episode(NewEpisode::new("p", "s")).await.unwrap();
        }
        // One connection, which waits; the next call waits for it.
        let single = Arc::new(config.connections(1).acquire_timeout(short).open().await.unwrap());
        let first = tokio::spawn({
            let single = Arc::clone(&single);
            async move { single.record_turn(NewTurn::new("s", "user", "first")).await }
        });
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                     AND datname = 'waiting'";
        let mut admin = connect(&socket, "postgres").await.unwrap();
        while sqlx::raw_sql(waits).fetch_one(&mut admin).await.unwrap().try_get::<i64, _>(0).unwrap() == 0 {
            tokio::task::yield_now().await;
        }
        let error = single.episodes(&memkeep_core::ListEpisodes::new()).await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Timeout, true), "{error:?}");
        run(&mut other, "ROLLBACK").await.unwrap();
        first.await.unwrap().unwrap();
        assert_eq!(single.last_turns(&Scope::All, &"s".into(), 5).await.unwrap().len(), 1);
    }

    async fn a_server_without_a_connection_left_is_unavailable() {
        let server = Server::start("fsync = off\nmax_connections = 6\n");
        let socket = server.socket().display().to_string();
        let store = config(&socket, "postgres").open().await.unwrap();
        store.close().await.unwrap();
        let mut others = Vec::new();
        let error = loop {
            match connect(&socket, "postgres").await {
                Ok(other) => others.push(other),
                Err(_) => break config(&socket, "postgres").open().await.map(|s| s.info()).unwrap_err(),
            }
        };
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Unavailable, true), "{error:?}");
        drop(others);
    }
}

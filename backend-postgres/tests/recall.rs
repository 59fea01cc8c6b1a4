//! Recall by the index: how many trips it takes, and that it answers what a scan would, whatever
//! happens meanwhile.

use std::{collections::BTreeMap, time::Duration};

use memkeep_core::{
    Backend as _, Batch, EpisodeId, EpisodeRevision, EpisodicBackend as _, Hit, NewEpisode,
    NewNote, NewSession, NewTurn, Op, Outcome, RecallQuery, Record, ReflectiveStore as _, Scan,
    SessionId, SessionStore as _,
    recall::{Analyzer, Language, Ranking, Recallable, Scorer},
    verify::Verify,
};
use memkeep_postgres::PostgresBackend;
use memkeep_postgres_testing::{Server, server_tests};
use sqlx::{AssertSqlSafe, PgConnection, Row as _};

mod support;

use support::{config, connect, create, meter::Meter, run};

const WORDS: [&str; 16] = [
    "cache", "lock", "deploy", "retry", "queue", "index", "merge", "token", "snapshot", "vacuum",
    "socket", "session", "why", "failed", "again", "Anna:",
];

/// Some words.
fn text(random: &mut fastrand::Rng) -> String {
    let words: Vec<_> =
        (0..random.usize(1..9)).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    words.join(" ")
}

/// What a scan answers: ids and score bits.
async fn by_scan<T: Recallable>(
    store: &PostgresBackend,
    query: &RecallQuery,
    language: Language,
) -> Vec<(String, u64)> {
    let analyzer = Analyzer::new(language);
    let mut ranking = Ranking::<T>::new(query, &analyzer);
    let scan = Scan::new(T::KIND).scope(query.scope.clone()).limit(usize::MAX);
    store.scan(&scan).await.unwrap().items.into_iter().for_each(|record| ranking.add(record));
    let found = ranking.finish();
    found.into_iter().map(|hit| (hit.key.as_ref().to_owned(), hit.score.to_bits())).collect()
}

fn bits<T: Recallable>(hits: Vec<Hit<T>>) -> Vec<(String, u64)> {
    let bits = |hit: Hit<T>| (hit.record.id().as_ref().to_owned(), hit.score.to_bits());
    hits.into_iter().map(bits).collect()
}

/// Asks `store` for all kinds, and compares with what `other` has.
async fn check(store: &PostgresBackend, other: &PostgresBackend, query: &RecallQuery) {
    let language = store.info().language;
    let found = bits(store.recall(query).await.unwrap());
    assert_eq!(found, by_scan::<memkeep_core::Episode>(other, query, language).await, "{query:?}");
    let found = bits(store.recall_turns(query).await.unwrap());
    assert_eq!(found, by_scan::<memkeep_core::Turn>(other, query, language).await, "{query:?}");
    let found = bits(store.recall_notes(query).await.unwrap());
    assert_eq!(found, by_scan::<memkeep_core::Note>(other, query, language).await, "{query:?}");
}

/// Queries of many forms.
fn query(random: &mut fastrand::Rng) -> RecallQuery {
    let mut query = RecallQuery::new(text(random)).k(random.usize(1..30));
    if random.bool() {
        query = query.scope(["default", "other"][random.usize(..2)]);
    }
    query = match random.u8(..4) {
        0 => query.scorer(Scorer::Overlap),
        1 => query.scorer(Scorer::Bm25),
        2 => query.scorer(Scorer::Context),
        _ => query,
    };
    match random.u8(..6) {
        0 => query.open(random.bool()),
        1 => query.role("user".to_owned()),
        2 => query.session(SessionId::from(format!("s{}", random.u8(..8)))),
        3 => query.tag("kept".to_owned()),
        4 => query.source(EpisodeId::from("e7")),
        _ => query,
    }
}

/// Some turns have a tag.
fn tags(random: &mut fastrand::Rng) -> BTreeMap<String, Option<String>> {
    let tag = ("kept".to_owned(), None);
    if random.bool() { BTreeMap::from([tag]) } else { BTreeMap::new() }
}

/// A batch of something.
fn batch(random: &mut fastrand::Rng, next: &mut usize) -> Batch {
    let mut batch = Batch::default();
    let workspace = ["default", "other"][random.usize(..2)];
    for _ in 0..random.usize(1..12) {
        *next += 1;
        let (n, old) = (*next, random.usize(..*next));
        // A session stays where it was begun.
        let session = format!("s{}", random.u8(..8));
        let of = if session.as_bytes()[1] % 2 == 0 { "default" } else { "other" };
        let op = match random.u8(..12) {
            0..4 => {
                batch.push(Op::EnsureSession(NewSession::new().id(session.as_str()).workspace(of)));
                let role = ["user", "assistant"][random.usize(..2)];
                let turn = NewTurn::new(session.as_str(), role, text(random)).id(format!("t{n}"));
                turn.tags(tags(random)).into()
            }
            4..6 => NewEpisode::new(text(random), text(random))
                .id(format!("e{n}"))
                .workspace(workspace)
                .into(),
            6 => NewNote::new(text(random)).id(format!("n{n}")).workspace(workspace).into(),
            7 => Op::DeleteTurn { turn: format!("t{old}").into() },
            8 => Op::DeleteEpisode { episode: format!("e{old}").into(), closed_before: None },
            9 => Op::DeleteNote { note: format!("n{old}").into() },
            10 if random.u8(..4) == 0 => {
                Op::DeleteSession { session: session.into(), ended_before: None }
            }
            _ => NewNote::new(text(random)).id(format!("n{n}")).into(),
        };
        batch.push(op);
    }
    batch
}

/// A store with many records, all in the index; and the server's socket.
async fn many(database: &str, records: usize) -> (PostgresBackend, String) {
    let server = Server::shared();
    create(server, database).await.unwrap();
    let socket = server.socket().display().to_string();
    let store = config(&socket, database).open().await.unwrap();
    fill(&store, 0, records).await;
    store.compact().await.unwrap();
    (store, socket)
}

async fn fill(store: &PostgresBackend, from: usize, to: usize) {
    let mut random = fastrand::Rng::with_seed(from as u64);
    for from in (from..to).step_by(100) {
        let mut batch = Batch::default();
        for n in from..(from + 100).min(to) {
            let session = format!("s{}", n / 50);
            batch.push(Op::EnsureSession(NewSession::new().id(session.as_str())));
            let turn = NewTurn::new(session, "user", text(&mut random)).id(format!("t{n}"));
            batch.push(turn.tags(tags(&mut random)));
            batch.push(NewEpisode::new(text(&mut random), format!("x{n}")).id(format!("e{n}")));
            let source = EpisodeId::from(format!("e{}", n - n % 7));
            batch.push(NewNote::new(text(&mut random)).id(format!("n{n}")).sources([source]));
        }
        store.commit(batch).await.unwrap();
    }
}

/// Keeps everybody from taking in what is new, until it is dropped.
async fn hold_index(socket: &str, database: &str) -> PgConnection {
    let mut other = connect(socket, database).await.unwrap();
    run(&mut other, "BEGIN; LOCK TABLE memkeep.recall_blobs IN SHARE MODE").await.unwrap();
    other
}

async fn number(connection: &mut PgConnection, sql: &str) -> i64 {
    let row = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_one(connection).await.unwrap();
    row.try_get(0).unwrap()
}

/// The median.
fn middle(mut trips: Vec<usize>) -> usize {
    trips.sort_unstable();
    trips[trips.len() / 2]
}

/// All forms of queries, on a handle of its own each so that all are cold, and on one handle. Six trips
/// are the most; half of the recalls take three at most.
async fn check_trips(store: &PostgresBackend, socket: &str, database: &str) {
    let meter = Meter::start(socket);
    let mut random = fastrand::Rng::with_seed(7);
    let queries: Vec<_> = (0..24).map(|_| query(&mut random)).collect();
    for query in &queries {
        let cold = config(&meter.socket(), database).open().await.unwrap();
        for kind in 0..3 {
            meter.reads();
            match kind {
                0 => drop(cold.recall(query).await.unwrap()),
                1 => drop(cold.recall_turns(query).await.unwrap()),
                _ => drop(cold.recall_notes(query).await.unwrap()),
            }
            // Overlap of anything but episodes is not in the index.
            let is_scanned = kind > 0 && query.scorer == Some(Scorer::Overlap);
            for trips in meter.reads() {
                assert!(trips <= 6 || is_scanned, "{trips} trips, kind {kind}: {query:?}");
            }
        }
        cold.close().await.unwrap();
    }
    let warm = config(&meter.socket(), database).open().await.unwrap();
    let queries: Vec<_> =
        queries.into_iter().filter(|query| query.scorer != Some(Scorer::Overlap)).collect();
    for query in &queries {
        check(&warm, store, query).await;
    }
    meter.reads();
    for query in &queries {
        warm.recall(query).await.unwrap();
        warm.recall_turns(query).await.unwrap();
        warm.recall_notes(query).await.unwrap();
    }
    let trips = meter.reads();
    assert!(trips.len() >= 3 * queries.len() && middle(trips.clone()) <= 3, "{trips:?}");
    warm.close().await.unwrap();
}

server_tests! {
    async fn a_recall_takes_few_trips() {
        let (store, socket) = many("trips", 3_000).await;
        check_trips(&store, &socket, "trips").await;

        // A full tail, and some of what is in the index is not there any more.
        let held = hold_index(&socket, "trips").await;
        fill(&store, 3_000, 3_300).await;
        for n in (0..1_000).step_by(50) {
            store.commit(Batch::from_iter([
                Op::DeleteTurn { turn: format!("t{n}").into() },
                Op::DeleteEpisode { episode: format!("e{n}").into(), closed_before: None },
                EpisodeRevision::new(format!("e{}", n + 1)).problem("cache again").into(),
                Op::DeleteNote { note: format!("n{n}").into() },
            ])).await.unwrap();
        }
        check_trips(&store, &socket, "trips").await;
        drop(held);
    }

    async fn answers_are_those_of_a_scan_whatever_happens() {
        let server = Server::shared();
        create(server, "history").await.unwrap();
        let socket = server.socket().display().to_string();
        let open = || config(&socket, "history").open();
        let stores = [open().await.unwrap(), open().await.unwrap()];
        let mut random = fastrand::Rng::with_seed(3);
        let mut next = 0;
        for step in 0..150 {
            let store = &stores[random.usize(..2)];
            let batch = batch(&mut random, &mut next);
            if let Err(error) = store.commit(batch).await {
                // A session that was deleted in the same batch.
                assert_eq!(error.kind(), memkeep_core::ErrorKind::NotFound, "{error:?}");
            }
            let old = format!("e{}", random.usize(..next));
            let revision = EpisodeRevision::new(old.as_str()).summary(text(&mut random));
            if let Err(error) = store.revise_episode(revision).await {
                assert_eq!(error.kind(), memkeep_core::ErrorKind::NotFound, "{error:?}");
            }
            match step {
                40 | 90 => stores[0].compact().await.unwrap(),
                60 => stores[1].reindex().await.unwrap(),
                120 => {
                    let op = Op::ForgetWorkspace { workspace: "other".into() };
                    assert!(matches!(store.commit_one(op).await.unwrap(), Outcome::Deleted(_)));
                }
                _ => {}
            }
            let query = query(&mut random);
            check(&stores[0], &stores[1], &query).await;
            check(&stores[1], &stores[0], &query).await;
        }
        let report = stores[0].verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
        stores[0].reindex().await.unwrap();
        let report = stores[0].verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
    }

    async fn a_store_of_the_first_version_gets_an_index() {
        let (store, socket) = many("first", 500).await;
        store.close().await.unwrap();
        let mut other = connect(&socket, "first").await.unwrap();
        run(&mut other, "DROP TABLE memkeep.recall_blobs, memkeep.recall_changes, memkeep.recall_coverage; \
            DROP SEQUENCE memkeep.gates; \
            UPDATE memkeep.memkeep SET version = 1").await.unwrap();
        // Many at once.
        let opening = (0..5).map(|_| tokio::spawn(config(&socket, "first").open()));
        let mut stores = Vec::new();
        for store in opening.collect::<Vec<_>>() {
            stores.push(store.await.unwrap().unwrap());
        }
        let query = RecallQuery::new("deploy failed");
        check(&stores[0], &stores[1], &query).await;
        stores[2].add_note(NewNote::new("deploy again")).await.unwrap();
        check(&stores[3], &stores[1], &query).await;
        let begun = "SELECT count(*) FROM memkeep.recall_blobs WHERE key = decode('03', 'hex')";
        while number(&mut other, begun).await < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        check(&stores[4], &stores[1], &query).await;
        let report = stores[0].verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
        // The migration is plain SQL, too.
        support::plain::check();
    }

    /// Numbers are committed in another order than they are given out. An index waits for who has a number
    /// that it would come to, and nobody waits for the index.
    async fn a_record_that_comes_late_is_found() {
        let (store, socket) = many("late", 300).await;
        let second = config(&socket, "late").open().await.unwrap();
        store.reindex().await.unwrap();
        let [mut other, mut watch] =
            [connect(&socket, "late").await.unwrap(), connect(&socket, "late").await.unwrap()];
        run(&mut other, "BEGIN; INSERT INTO memkeep.episodes \
            (pk, id, workspace, created_at, open, problem, summary, metadata) \
            SELECT 0, 'taken', pk, 0, FALSE, '', '', '{}' FROM memkeep.workspaces").await.unwrap();
        let late = tokio::spawn(async move {
            let late = NewEpisode::new("zebra", "");
            // The first has its number while the second waits.
            let batch = [late.clone().id("late"), late.id("taken")].map(Op::from);
            let stored = store.commit(Batch::from_iter(batch)).await;
            (store, stored)
        });
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype";
        while number(&mut watch, &format!("{waits} = 'transactionid'")).await == 0 {
            tokio::task::yield_now().await;
        }
        second.add_episode(NewEpisode::new("zebra", "").id("early")).await.unwrap();
        let indexing = tokio::spawn(async move {
            let indexed = second.reindex().await;
            (second, indexed)
        });
        while number(&mut watch, &format!("{waits} = 'advisory'")).await == 0 {
            tokio::task::yield_now().await;
        }
        let third = config(&socket, "late").open().await.unwrap();
        third.add_episode(NewEpisode::new("zebra", "").id("last")).await.unwrap();
        let query = RecallQuery::new("zebra").scorer(Scorer::Bm25).k(10_usize);
        assert_eq!(bits(third.recall(&query).await.unwrap()).len(), 2);
        run(&mut other, "ROLLBACK").await.unwrap();
        let (store, stored) = late.await.unwrap();
        stored.unwrap();
        let (second, indexed) = indexing.await.unwrap();
        indexed.unwrap();
        assert_eq!(bits(third.recall(&query).await.unwrap()).len(), 4);
        check(&store, &second, &query).await;
        let report = store.verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
    }

    async fn a_handle_of_another_language_answers_in_its_own() {
        let (store, socket) = many("languages", 300).await;
        let german = config(&socket, "languages").language(Language::German).open().await.unwrap();
        let mut other = connect(&socket, "languages").await.unwrap();
        let begun = "SELECT count(*) FROM memkeep.recall_blobs WHERE key = decode('03', 'hex') \
                     AND position(convert_to('english', 'UTF8') IN value) > 0";
        for query in ["deploying caches", "failed again"].map(RecallQuery::new) {
            check(&german, &store, &query).await;
            german.add_note(NewNote::new("deploying caches")).await.unwrap();
            check(&german, &store, &query).await;
            check(&store, &german, &query).await;
        }
        assert_eq!(number(&mut other, begun).await, 3);
        german.reindex().await.unwrap();
        assert_eq!(number(&mut other, begun).await, 0);
        check(&german, &store, &RecallQuery::new("deploying caches")).await;
        check(&store, &german, &RecallQuery::new("deploying caches")).await;
    }

    async fn damage_of_the_index_is_found_and_repaired() {
        let (store, socket) = many("damaged", 300).await;
        let mut other = connect(&socket, "damaged").await.unwrap();
        for damage in [
            "UPDATE memkeep.recall_blobs SET value = set_byte(value, 20, 255 - get_byte(value, 20)) \
             WHERE kind = 'turn' AND key < decode('01', 'hex')",
            "DELETE FROM memkeep.recall_blobs WHERE kind = 'episode' AND key = \
             (SELECT key FROM memkeep.recall_blobs WHERE kind = 'episode' \
             AND key < decode('02', 'hex') ORDER BY key DESC LIMIT 1)",
            "UPDATE memkeep.notes SET created_at = created_at + 1 WHERE id = 'n7'",
            "DELETE FROM memkeep.notes WHERE id = 'n8'",
        ] {
            run(&mut other, damage).await.unwrap();
            let report = store.verify(&Verify::new()).await.unwrap();
            assert!(!report.is_clean(), "{damage}");
            let report = store.verify(&Verify::new().repair(true)).await.unwrap();
            assert!(!report.problems.is_empty() && report.is_clean(), "{damage}: {report:?}");
            check(&store, &store, &RecallQuery::new("deploy failed")).await;
            store.reindex().await.unwrap();
            check(&store, &store, &RecallQuery::new("deploy failed")).await;
        }
    }

    async fn compact_leaves_nothing_of_what_was_deleted() {
        let (store, socket) = many("wiped", 300).await;
        let mut other = connect(&socket, "wiped").await.unwrap();
        let left = "SELECT (SELECT count(*) FROM memkeep.recall_blobs \
                    WHERE position(convert_to('zqxjkv', 'UTF8') IN value) > 0) + \
                    (SELECT count(*) FROM memkeep.recall_changes WHERE text LIKE '%zqxjkv%')";
        let word = "wzqxjkv";
        store.start_session(NewSession::new().id("gone")).await.unwrap();
        store.record_turn(NewTurn::new("gone", "user", word)).await.unwrap();
        store.add_episode(NewEpisode::new(word, word).id("gone")).await.unwrap();
        store.add_note(NewNote::new(word).id("gone")).await.unwrap();
        store.compact().await.unwrap();
        assert!(number(&mut other, left).await > 0);
        store.delete_session(&"gone".into()).await.unwrap();
        store.delete_episode(&"gone".into()).await.unwrap();
        store.delete_note(&"gone".into()).await.unwrap();
        assert_eq!(store.recall(&RecallQuery::new(word)).await.unwrap(), []);
        assert_eq!(store.recall_turns(&RecallQuery::new(word)).await.unwrap(), []);
        assert_eq!(store.recall_notes(&RecallQuery::new(word)).await.unwrap(), []);
        store.compact().await.unwrap();
        assert_eq!(number(&mut other, left).await, 0);
        assert_eq!(number(&mut other, "SELECT count(*) FROM memkeep.recall_changes").await, 0);
    }

    /// A text of the tail is what it was before, however often it changes before it is taken in.
    async fn an_episode_that_is_revised_again_and_again_is_found_as_it_is() {
        let (store, socket) = many("revised", 200).await;
        let held = hold_index(&socket, "revised").await;
        for text in ["deploy", "socket", "cache cache", "deploy again"] {
            let revision = EpisodeRevision::new("e5").problem(text);
            store.revise_episode(revision).await.unwrap();
            check(&store, &store, &RecallQuery::new("deploy socket").scorer(Scorer::Bm25)).await;
        }
        drop(held);
        store.compact().await.unwrap();
        check(&store, &store, &RecallQuery::new("deploy socket").scorer(Scorer::Bm25)).await;
        let report = store.verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{report:?}");
        let scan = store.scan(&Scan::new(memkeep_core::RecordKind::Episode)).await.unwrap();
        let is_last = |record: &Record| matches!(record, Record::Episode(e) if e.problem == "deploy again");
        assert!(scan.items.iter().any(is_last));
    }
}

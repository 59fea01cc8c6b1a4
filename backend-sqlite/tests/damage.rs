//! Rows and pages that are not what they must be.

use std::{fs, path::Path};

use memkeep_core::{
    Backend, ErrorKind, ListSessions, ListTurns, NewSession, NewTurn, Op, RecordKind, Scan, Scope,
    SessionStore, TurnId, verify::Verify,
};
use memkeep_sqlite::{SqliteBackend, SqliteConfig};
use rusqlite::Connection;

/// A closed store with one session of `turns` turns.
async fn store_of(path: &Path, turns: usize) {
    let store = SqliteConfig::new(path).open().await.unwrap();
    let turn = |n| {
        let content = format!("turn {n} {}", "x".repeat(1_000));
        Op::from(NewTurn::new("s", "user", content).id(format!("t{n}")))
    };
    let start = Op::StartSession(NewSession::new().id("s"));
    store.commit([start].into_iter().chain((0..turns).map(turn)).collect()).await.unwrap();
    store.close().await.unwrap();
}

async fn broken_by(sql: &str) -> (tempfile::TempDir, SqliteBackend) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    store_of(&path, 3).await;
    let vandal = Connection::open(&path).unwrap();
    vandal.execute_batch(sql).unwrap();
    drop(vandal);
    (folder, SqliteConfig::new(path).open().await.unwrap())
}

/// A corrupt row hides the rest (openai/openai-agents-python#3304).
#[tokio::test]
async fn a_broken_row_is_named_and_the_others_can_be_read() {
    for sql in [
        "UPDATE turns SET metadata = '{\"a\":' WHERE id = 't1'",
        "UPDATE turns SET metadata = '\"a secret\"' WHERE id = 't1'",
        "UPDATE turns SET content = CAST(x'ff' AS TEXT) WHERE id = 't1'",
        "UPDATE turns SET created_at = 9223372036854775807 WHERE id = 't1'",
        "UPDATE turns SET position = -1 WHERE id = 't1'",
        "UPDATE turns SET position = 9223372036854775807 WHERE id = 't1'",
        "UPDATE turns SET origin = x'00' WHERE id = 't1'",
    ] {
        let (_folder, store) = broken_by(sql).await;
        let of_turn = async |id: &str| store.turn(&Scope::All, &id.into()).await;
        // The origin is not read by reads.
        if !sql.contains("origin") {
            let list = ListTurns::new("s");
            for error in [of_turn("t1").await.unwrap_err(), store.turns(&list).await.unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{sql}");
                assert_eq!((error.get("table"), error.get("row")), (Some("turns"), Some("t1")));
                assert!(!format!("{error:?}").contains("secret"));
            }
            let report = store.verify(&Verify::new()).await.unwrap();
            assert_eq!(report.checked.turns, 2);
            assert!(report.problems.iter().any(|p| p.location == "turns t1"), "{report:?}");
        }
        let tag = Op::UntagTurn { turn: "t1".into(), name: "x".to_owned() };
        assert_eq!(store.commit_one(tag).await.unwrap_err().kind(), ErrorKind::Corrupt);
        assert!(of_turn("t0").await.unwrap().is_some());
        assert!(of_turn("t2").await.unwrap().is_some());
        store.record_turn(NewTurn::new("s", "user", "more")).await.unwrap();
    }
}

/// What no op would have stored is not read as if it were right.
#[tokio::test]
async fn values_that_no_op_stores_are_reported_by_row() {
    let columns = "workspace, created_at";
    let episode = "INSERT INTO episodes (id, open, problem, summary, metadata, workspace, \
                   created_at) SELECT";
    for (sql, kind, location) in [
        (format!("{episode} 'e', 2, '', '', '{{}}', {columns} FROM sessions"), 3, "episodes e"),
        (format!("{episode} 'e', -1, '', '', '{{}}', {columns} FROM sessions"), 3, "episodes e"),
        (format!("{episode} '', 1, '', '', '{{}}', {columns} FROM sessions"), 3, "episodes pk 1"),
        (
            format!(
                "INSERT INTO notes (id, text, sources, {columns}) \
                 SELECT 'n', '', '[\"e\", \"\"]', {columns} FROM sessions"
            ),
            4,
            "notes n",
        ),
        (
            format!(
                "INSERT INTO audit (id, seq, hash, action, decision, detail, {columns}) \
                 SELECT 'a', 9223372036854775807, zeroblob(32), '', '', 'null', {columns} \
                 FROM sessions"
            ),
            6,
            "audit a",
        ),
        ("UPDATE turns SET id = '' WHERE id = 't1'".to_owned(), 1, "turns pk 2"),
        ("UPDATE sessions SET id = ''".to_owned(), 0, "sessions pk 1"),
    ] {
        let (_folder, store) = broken_by(&sql).await;
        let error = store.scan(&Scan::new(RecordKind::ALL[kind])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{sql}: {error:?}");
        for repair in [false, true] {
            let report = store.verify(&Verify::new().repair(repair)).await.unwrap();
            let problem = report.problems.iter().find(|p| p.location == location);
            assert!(problem.is_some_and(|p| !p.repaired), "{sql}: {report:?}");
        }
    }
}

/// The last index there is leaves none for the next turn: it is reported, and does not keep what is
/// wrong elsewhere from being repaired.
#[tokio::test]
async fn an_index_that_nothing_can_follow_does_not_stop_a_repair() {
    let sql = "UPDATE turns SET position = 9223372036854775807 WHERE id = 't1'; \
               UPDATE sessions SET next_turn = 1";
    let (_folder, store) = broken_by(sql).await;
    let report = store.verify(&Verify::new().repair(true)).await.unwrap();
    let repaired = |location| {
        report.problems.iter().find(|p| p.location == location).map(|problem| problem.repaired)
    };
    assert_eq!((repaired("turns t1"), repaired("session s")), (Some(false), Some(true)));
    assert_eq!(store.record_turn(NewTurn::new("s", "user", "more")).await.unwrap().index, 3);
}

#[tokio::test]
async fn rows_whose_parent_is_gone_are_reported() {
    let sql = "PRAGMA foreign_keys = OFF; INSERT INTO turn_tags VALUES (99, 'tag', NULL); \
               UPDATE turns SET session = 77 WHERE id = 't1'";
    let (_folder, store) = broken_by(sql).await;
    let id = TurnId::new("t1");
    let error = store.turn(&Scope::All, &id).await.unwrap_err();
    assert_eq!((error.kind(), error.get("row")), (ErrorKind::Corrupt, Some("t1")));
    let report = store.verify(&Verify::new()).await.unwrap();
    for location in ["turn_tags", "turns pk 2", "turns t1"] {
        assert!(report.problems.iter().any(|p| p.location == location), "{report:?}");
    }
    let repaired = store.verify(&Verify::new().repair(true)).await.unwrap();
    // What could be set right is told apart from what is still so.
    let state = |location| {
        let problem = repaired.problems.iter().find(|p| p.location == location);
        problem.map(|p| p.repaired)
    };
    assert_eq!((state("turn_tags"), state("turns t1")), (Some(true), Some(false)));
}

#[tokio::test]
async fn a_lost_index_entry_is_found_and_rebuilt() {
    let sql = "PRAGMA writable_schema = ON; \
               CREATE TABLE spare (workspace TEXT); CREATE INDEX spare_workspace ON spare (workspace); \
               UPDATE sqlite_schema SET rootpage = \
                   (SELECT rootpage FROM sqlite_schema WHERE name = 'spare_workspace') \
                   WHERE name = 'turns_workspace'; \
               DELETE FROM sqlite_schema WHERE name = 'spare_workspace'";
    let (_folder, store) = broken_by(sql).await;
    assert!(!store.verify(&Verify::new()).await.unwrap().is_clean());
    store.verify(&Verify::new().repair(true)).await.unwrap();
    let problems = store.verify(&Verify::new()).await.unwrap().problems;
    assert!(!problems.iter().any(|p| p.message.contains("turns_workspace")), "{problems:?}");
}

/// A report, not an end: whichever page is overwritten.
#[tokio::test]
async fn verify_reports_a_damaged_file() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.db");
    store_of(&whole, 60).await;
    let bytes = fs::read(&whole).unwrap();
    let mut reported = 0;
    for page in 1..bytes.len() / 4096 {
        let path = folder.path().join(format!("{page}.db"));
        let mut damaged = bytes.clone();
        damaged[page * 4096..][..4096].fill(0xa5);
        fs::write(&path, &damaged).unwrap();
        match SqliteConfig::new(&path).open().await {
            Ok(store) => {
                let report = store.verify(&Verify::new()).await.unwrap();
                assert!(!report.is_clean(), "page {page}");
                reported += 1;
            }
            // The tables themselves are described on the first pages.
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "page {page}"),
        }
    }
    assert!(reported > 30, "{reported}");
}

/// Listing reads everything (google/adk-python#4871): of a session's turns only the first prompt is
/// read, and of that only the beginning. What is damaged behind it shows only when it is read.
#[tokio::test]
async fn a_listing_reads_only_the_beginnings_of_first_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent.db");
    let store = SqliteConfig::new(&path).open().await.unwrap();
    store.start_session(NewSession::new().id("s")).await.unwrap();
    for (id, role) in [("t0", "system"), ("t1", "user"), ("t2", "user")] {
        let turn = NewTurn::new("s", role, "b".repeat(1 << 20)).id(id);
        store.record_turn(turn).await.unwrap();
    }
    store.close().await.unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let mut prompt_pages = 0;
    for page in bytes.chunks_mut(4096) {
        // An overflow page: the number of the next, and text.
        if page[4..].iter().all(|byte| *byte == b'b') {
            prompt_pages += 1;
            // The first page of each text is left.
            if prompt_pages % 256 > 8 {
                page.fill(0xa5);
            }
        }
    }
    assert!(prompt_pages > 700);
    fs::write(&path, bytes).unwrap();

    let store = SqliteConfig::new(&path).open().await.unwrap();
    let sessions = store.sessions(&ListSessions::new()).await.unwrap().items;
    assert_eq!(sessions[0].first_prompt, Some("b".repeat(256)));
    for id in ["t0", "t1", "t2"] {
        let error = store.turn(&Scope::All, &id.into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
}

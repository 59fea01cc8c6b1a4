//! Which statements reads and writes come to, and how SQLite carries them out.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use memkeep_core::{
    Batch, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps, ListTurns,
    NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, Position, PutState, Record,
    RecordKind, Scan, Scope, SessionId, SessionOrder, Timestamp, decide::decide, embedded::Writer,
};
use rusqlite::{
    Connection,
    trace::{TraceEvent, TraceEventCodes},
};

use crate::{SqliteConfig, SqliteWriter, connect::Connector};

type Log = Arc<Mutex<Vec<String>>>;

/// A store in memory that notes each statement that it runs.
fn traced() -> (SqliteWriter, Log) {
    let (connector, mut connection) = Connector::open(&SqliteConfig::memory()).unwrap();
    let log = Log::default();
    let notes = log.clone();
    let trace = move |event: TraceEvent<'_>| {
        if let TraceEvent::Stmt(_, sql) = event {
            notes.lock().unwrap().push(sql.to_owned());
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(trace)).unwrap();
    (SqliteWriter::new(&connector, connection), log)
}

fn take(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn commit(writer: &mut SqliteWriter, batch: Batch) {
    let prepared = batch.prepare().unwrap();
    writer.begin().unwrap();
    let loaded = writer.load(&prepared.needs()).unwrap();
    let decision = decide(&prepared, loaded, Timestamp::default()).unwrap();
    writer.apply(&decision.changes).unwrap();
    writer.commit().unwrap();
}

fn read_everything(writer: &mut SqliteWriter) {
    let view = writer.view();
    let (session, now) = (SessionId::new("s"), Timestamp::default());
    for kind in RecordKind::ALL {
        view.last_number(kind).unwrap();
        view.numbered(kind, 1).unwrap();
        if kind != RecordKind::State {
            view.number(kind, "x").unwrap();
        }
        let blobs = view.index(kind).unwrap();
        blobs.get(b"key").unwrap();
        for reverse in [false, true] {
            blobs.scan(b"a"..b"b", reverse, &mut |_, _| Ok(true)).unwrap();
        }
    }
    let times = Position::Time(now, 1);
    // The same listing from its beginning, and from a place on.
    macro_rules! read {
        ($method:ident($list:expr, $position:expr $(, $more:expr)*)) => {{
            let mut list = $list;
            view.$method(&list $(, $more)*).unwrap();
            list.after = Some(list.window().unwrap().cursor($position));
            view.$method(&list $(, $more)*).unwrap();
        }};
    }
    for scope in [Scope::All, Scope::from("default")] {
        for kind in RecordKind::ALL {
            view.each(kind, &scope, &mut |record| record.map(drop)).unwrap();
            let list = Scan::new(kind).scope(scope.clone()).limit(5_usize);
            read!(scan(list, Position::Insertion(1)));
        }
        view.newest_turns(&scope, &|_, _| true, &mut |_| Ok(true)).unwrap();
        for open in [None, Some(true)] {
            read!(episodes(ListEpisodes::new().scope(scope.clone()).open(open), times.clone()));
        }
        read!(notes(ListNotes::new().scope(scope.clone()), times.clone()));
        for order in [SessionOrder::Started, SessionOrder::Active] {
            read!(sessions(ListSessions::new().scope(scope.clone()).order(order), times.clone()));
        }
        for newest_first in [false, true] {
            read!(turns(ListTurns::new(&session).newest_first(newest_first), Position::Index(0)));
        }
        read!(steps(ListSteps::new(&session), Position::Index(0)));
        for prefix in ["", "k"] {
            let key = Position::Key("default".to_owned(), b"k".to_vec());
            read!(states(ListStates::new().scope(scope.clone()).prefix(prefix), key, now));
        }
        view.audit_log(&ListAudit::new().scope(scope.clone())).unwrap();
        view.session(&scope, &session).unwrap();
        view.turn(&scope, &"t".into()).unwrap();
        view.step(&scope, &"st".into()).unwrap();
        view.episode(&scope, &"e".into()).unwrap();
        view.note(&scope, &"n".into()).unwrap();
    }
    view.state(&"default".into(), "k").unwrap();
    view.audit_head(&"default".into()).unwrap();
    view.workspaces().unwrap();
}

fn one_of_each() -> Vec<Op> {
    vec![
        Op::StartSession(NewSession::new().id("s")),
        NewTurn::new("s", "user", "hello").id("t").into(),
        NewStep::new("s", "plan", "ok").id("st").into(),
        NewEpisode::new("p", "s").id("e").into(),
        NewNote::new("n").id("n").sources(vec!["e".into()]).into(),
        PutState::new("k", 1).into(),
        NewAudit::new("a", "d").id("a").into(),
    ]
}

/// Every kind of change: of what is there, and of what is not.
fn write_everything(writer: &mut SqliteWriter) {
    if let Some(mut blobs) = writer.index(RecordKind::Turn) {
        blobs.put(b"key", b"value").unwrap();
        blobs.delete(b"key").unwrap();
    }
    commit(writer, one_of_each().into_iter().collect());
    let records: Vec<Record> = RecordKind::ALL
        .into_iter()
        .flat_map(|kind| writer.view().scan(&Scan::new(kind)).unwrap().items)
        .collect();
    let changes = [
        Op::TagTurn { turn: "t".into(), name: "x".to_owned(), value: None },
        Op::EndSession { session: "s".into(), at: None },
        Op::SetEpisodeOpen { episode: "e".into(), open: false },
        PutState::new("k", 2).into(),
        Op::ForgetReceipts { before: Timestamp::MAX },
    ];
    commit(writer, changes.into_iter().collect::<Batch>().key("key"));
    let deletions = [
        Op::DeleteTurn { turn: "t".into() },
        Op::DeleteEpisode { episode: "e".into(), closed_before: None },
        Op::DeleteNote { note: "n".into() },
        Op::DeleteSession { session: "s".into(), ended_before: None },
        Op::ForgetWorkspace { workspace: "default".into() },
    ];
    commit(writer, deletions.into_iter().collect());
    commit(writer, records.into_iter().map(Op::from).collect());
}

/// Listing reads everything (google/adk-python#4871: 5,000 sessions took 40 s): nothing is scanned
/// and nothing is sorted, but for the counting of workspaces, which walks indexes.
#[test]
fn every_statement_goes_by_an_index_in_its_order() {
    let (mut writer, log) = traced();
    write_everything(&mut writer);
    read_everything(&mut writer);
    let statements: BTreeSet<String> = take(&log).into_iter().collect();
    assert!(statements.len() > 80, "{}", statements.len());

    let (_, connection) = Connector::open(&SqliteConfig::memory()).unwrap();
    for sql in statements.iter().filter(|sql| !sql.starts_with("PRAGMA")) {
        for step in plan(&connection, sql) {
            let counts = sql.contains("GROUP BY workspace") && step.contains(" INDEX ");
            // It has a row a table, and no index.
            let is_small = step == "SCAN sqlite_sequence";
            assert!(!step.contains("TEMP B-TREE"), "{sql}\n{step}");
            assert!(!step.starts_with("SCAN") || counts || is_small, "{sql}\n{step}");
        }
    }
}

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    // The plan does not depend on the values, which stay NULL.
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get("detail").unwrap());
    }
    steps
}

#[test]
fn a_list_of_sessions_costs_a_constant_number_of_statements() {
    let (mut writer, log) = traced();
    let mut costs = BTreeSet::new();
    for round in 0..3 {
        for n in 0..100 {
            let id = format!("s{round}-{n}");
            let ops = [
                Op::StartSession(NewSession::new().id(id.as_str())),
                NewTurn::new(id.as_str(), "system", "x").into(),
                NewTurn::new(id.as_str(), "user", format!("prompt of {id}")).into(),
            ];
            commit(&mut writer, ops.into_iter().collect());
        }
        take(&log);
        let sessions = writer.view().sessions(&ListSessions::new().limit(usize::MAX)).unwrap();
        assert_eq!(sessions.items.len(), (round + 1) * 100);
        for session in sessions.items {
            assert_eq!(session.first_prompt, Some(format!("prompt of {}", session.id)));
        }
        costs.insert(take(&log).len());
    }
    assert_eq!(costs, BTreeSet::from([1]));
}

/// A turn with a generated id takes the look-up of its session, its row and its session's row.
#[test]
fn recording_a_turn_takes_no_needless_statement() {
    let (mut writer, log) = traced();
    commit(&mut writer, Op::StartSession(NewSession::new().id("s")).into());
    take(&log);
    commit(&mut writer, NewTurn::new("s", "user", "hello").into());
    let statements = take(&log);
    assert_eq!(statements.len(), 6, "{statements:#?}");
}

//! More rows than any buffer, page or chunk of a backend's is likely to hold: all of them, in their
//! order, with all that belongs to them. The suite's model tells what is right.

use std::collections::BTreeMap;

use memkeep_core::{
    Batch, Metadata, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Note, Op,
    PutState, Record, RecordKind, Scope, Step, Turn, Workspace, verify::Verify,
};
use serde_json::json;

use super::bundle::bundle_in;
use crate::{
    Case, Verdict,
    failure::must_equal,
    model::{Command, Listing, Of, Read, Recall, follow},
};

/// More than a thousand, also without the rare ones.
const ROWS: usize = 1_030;
/// Whole, and in pages.
const LIMITS: [usize; 2] = [usize::MAX, 499];

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn metadata(n: usize) -> Metadata {
    [("n".to_owned(), json!(n))].into_iter().collect()
}

/// A few rows are unlike the others.
fn is_rare(n: usize) -> bool {
    n % 100 == 50
}

fn workspace(n: usize) -> &'static str {
    if is_rare(n) { "other" } else { "" }
}

fn commit<T: Into<Op>>(ops: impl IntoIterator<Item = T>) -> Command {
    Command::Commit(ops.into_iter().map(Into::into).collect())
}

/// A listing of all workspaces, whole, and of one, in pages.
fn list(of: Of) -> [Command; 2] {
    let [whole, pages] = LIMITS;
    let all = Listing { of: of.clone(), scope: None, limit: whole };
    let one = Listing { of, scope: Some("".into()), limit: pages };
    [all, one].map(|listing| Command::Read(Read::All(listing)))
}

/// Commits, then reads each of these listings.
async fn listed(case: &mut Case, fill: Command, listings: impl IntoIterator<Item = Of>) -> Verdict {
    let reads = listings.into_iter().flat_map(list);
    follow(case, [fill].into_iter().chain(reads)).await
}

fn start(id: &str) -> Op {
    Op::StartSession(NewSession::new().id(id).workspace(""))
}

/// A turn with metadata and tags of its own.
fn turn(session: &str, n: usize) -> NewTurn {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    let tags = [(format!("tag {n}"), Some(n.to_string())), ("all".to_owned(), None)];
    NewTurn::new(session, role, format!("the needle of haystack {n}"))
        .id(format!("{session}{n}"))
        .tokens(number(n))
        .metadata(metadata(n))
        .tags(BTreeMap::from(tags))
}

fn step(session: &str, n: usize) -> NewStep {
    NewStep::new(session, "look", "ok").id(format!("{session}{n}")).payload(json!({ "n": n }))
}

/// Two sessions whose rows are recorded in turns: many and fewer.
fn two_sessions(row: impl Fn(&str, usize) -> Op) -> Command {
    let mut ops = vec![start("s"), start("t")];
    for n in 0..ROWS {
        ops.push(row("s", n));
        if n.is_multiple_of(7) {
            ops.push(row("t", n));
        }
    }
    commit(ops)
}

fn turns_of(session: &str, newest_first: bool) -> Of {
    Of::Turns { session: session.to_owned(), newest_first }
}

fn steps_of(session: &str) -> Of {
    Of::Steps { session: session.to_owned() }
}

pub(crate) async fn turns(case: &mut Case) -> Verdict {
    let fill = two_sessions(|session, n| turn(session, n).into());
    let listings = [Of::Scan(RecordKind::Turn), turns_of("s", false), turns_of("s", true)];
    listed(case, fill, listings).await?;
    let last = case.sessions()?.last_turns(&Scope::All, &"s".into(), ROWS - 10).await?;
    let last: Vec<String> = last.into_iter().map(|turn| turn.id.into()).collect();
    let right: Vec<String> = (10..ROWS).map(|n| format!("s{n}")).collect();
    must_equal!(last, right, "the ids of the last {} turns", right.len());
    Ok(())
}

pub(crate) async fn steps(case: &mut Case) -> Verdict {
    let fill = two_sessions(|session, n| step(session, n).into());
    listed(case, fill, [Of::Scan(RecordKind::Step), steps_of("s")]).await
}

/// Sessions that began and were last active in other orders than that of insertion.
pub(crate) async fn sessions(case: &mut Case) -> Verdict {
    let mut ops = Vec::new();
    for n in 0..ROWS {
        let id = format!("s{n}");
        let started = NewSession::new().started_at(Case::at(number(n * 7 % ROWS)));
        let new = started.id(&id[..]).workspace(workspace(n)).metadata(metadata(n));
        let active = Case::at(number(ROWS + n * 11 % ROWS));
        ops.push(Op::StartSession(new));
        ops.push(NewTurn::new(&id[..], "user", format!("prompt {n}")).created_at(active).into());
    }
    let orders = [false, true].map(|by_activity| Of::Sessions { by_activity });
    listed(case, commit(ops), orders.into_iter().chain([Of::Scan(RecordKind::Session)])).await
}

/// As many open ones as closed ones.
pub(crate) async fn episodes(case: &mut Case) -> Verdict {
    let new = |n: usize| {
        let new = NewEpisode::new(format!("problem {n}"), "").id(format!("e{n}"));
        let new = new.open(n.is_multiple_of(2)).metadata(metadata(n)).workspace(workspace(n));
        new.created_at(Case::at(number(n * 7 % ROWS)))
    };
    let filters = [None, Some(true), Some(false)].map(|open| Of::Episodes { open });
    let listings = filters.into_iter().chain([Of::Scan(RecordKind::Episode)]);
    listed(case, commit((0..2 * ROWS).map(new)), listings).await
}

/// A note whose sources are not there: a copy of a store may have such.
fn note(n: usize, sources: impl IntoIterator<Item = usize>) -> Record {
    Record::Note(Note {
        id: format!("n{n}").into(),
        workspace: workspace(n).into(),
        created_at: Case::at(number(n * 7 % ROWS)),
        text: format!("the lesson {n}"),
        sources: sources.into_iter().map(|source| format!("e{source}").into()).collect(),
    })
}

pub(crate) async fn notes(case: &mut Case) -> Verdict {
    let fill = commit((0..ROWS).map(|n| note(n, [n + 2, n, n + 1])));
    listed(case, fill, [Of::Notes, Of::Scan(RecordKind::Note)]).await
}

pub(crate) async fn states(case: &mut Case) -> Verdict {
    let put = |n| PutState::new(format!("k{n}"), json!(n)).workspace(workspace(n));
    let fill = commit((0..ROWS).map(put).chain([PutState::new("l", json!(0)).workspace("")]));
    let prefixes = ["", "k"].map(|prefix| Of::States { prefix: prefix.to_owned() });
    listed(case, fill, prefixes.into_iter().chain([Of::Scan(RecordKind::State)])).await
}

pub(crate) async fn audit(case: &mut Case) -> Verdict {
    let new = |n: usize| {
        let detail = json!({ "n": n });
        NewAudit::new("act", "allow").id(format!("a{n}")).workspace(workspace(n)).detail(detail)
    };
    let mut commands = vec![commit((0..ROWS).map(new))];
    commands.extend([Of::Audit, Of::Scan(RecordKind::Audit)].into_iter().flat_map(list));
    commands.push(Command::Read(Read::AuditHead { workspace: "".into() }));
    follow(case, commands).await?;
    let report = case.backend().verify(&Verify::new()).await?;
    must_equal!(report.checked.audits, ROWS as u64, "how many audit records verify looks at");
    case.verify().await
}

/// One record in each of many workspaces, of each kind in turn that has one of its own.
pub(crate) async fn workspaces(case: &mut Case) -> Verdict {
    let handle = case.handle();
    let mut batch = Batch::new();
    for n in 0..ROWS {
        let workspace = format!("w{n}");
        let mut ops = bundle_in(&handle, &workspace, &workspace).ops;
        ops.retain(|op| !matches!(op, Op::RecordTurn(_) | Op::RecordStep(_)));
        batch.push(ops.swap_remove(n % ops.len()));
    }
    let one = Some(Workspace::new(format!("w{}", ROWS - 1)));
    let reads = [Read::Workspaces, Read::Stats { scope: None }, Read::Stats { scope: one }];
    follow(case, [Command::Commit(batch)].into_iter().chain(reads.map(Command::Read))).await
}

pub(crate) async fn find(case: &mut Case) -> Verdict {
    let fill = two_sessions(|session, n| turn(session, n).into());
    let find = |limit| Read::Find { text: "needle".to_owned(), scope: None, role: None, limit };
    let reads = LIMITS.map(find).map(Command::Read);
    follow(case, [fill].into_iter().chain(reads)).await
}

/// A question that each record of a kind answers.
async fn recalled(case: &mut Case, kind: RecordKind, fill: Command) -> Verdict {
    let recall = |k| Recall {
        kind,
        text: "needle".to_owned(),
        k,
        scorer: None,
        scope: None,
        open: None,
        role: None,
        tag: None,
        session: None,
        source: None,
        since: None,
        until: None,
    };
    let reads = LIMITS.map(|k| Command::Read(Read::Recall(recall(k))));
    follow(case, [fill].into_iter().chain(reads)).await
}

pub(crate) async fn recalled_episodes(case: &mut Case) -> Verdict {
    let new =
        |n: usize| NewEpisode::new("needle", "").id(format!("e{n}")).open(n.is_multiple_of(3));
    recalled(case, RecordKind::Episode, commit((0..ROWS).map(new))).await
}

pub(crate) async fn recalled_turns(case: &mut Case) -> Verdict {
    let fill = two_sessions(|session, n| turn(session, n).into());
    recalled(case, RecordKind::Turn, fill).await
}

pub(crate) async fn recalled_notes(case: &mut Case) -> Verdict {
    let new = |n| NewNote::new("needle").id(format!("n{n}"));
    recalled(case, RecordKind::Note, commit((0..ROWS).map(new))).await
}

fn by_id(kind: RecordKind, id: &str) -> Command {
    Command::Read(Read::ById { kind, scope: None, id: id.to_owned() })
}

/// One turn whose tags all come with it, and one that is given the last by and by.
pub(crate) async fn tags(case: &mut Case) -> Verdict {
    let name = |n| format!("tag {}", n * 7 % ROWS);
    let tags = |rows| (0..rows).map(|n| (name(n), Some(n.to_string()))).collect::<BTreeMap<_, _>>();
    let new = NewTurn::new("s", "user", "text");
    let mut ops = vec![start("s")];
    ops.push(new.clone().id("at once").tags(tags(ROWS)).into());
    ops.push(new.id("by and by").tags(tags(990)).into());
    ops.extend((990..ROWS).map(|n| {
        let turn = "by and by".into();
        Op::TagTurn { turn, name: name(n), value: None }
    }));
    let reads = ["at once", "by and by"].map(|id| by_id(RecordKind::Turn, id));
    let all = [turns_of("s", false), Of::Scan(RecordKind::Turn)].into_iter().flat_map(list);
    follow(case, [commit(ops)].into_iter().chain(reads).chain(all)).await
}

pub(crate) async fn sources(case: &mut Case) -> Verdict {
    let notes = [note(1, (0..ROWS).rev()), note(2, [5]), note(3, (0..ROWS).map(|n| n * 7 % ROWS))];
    let reads = ["n1", "n2", "n3"].map(|id| by_id(RecordKind::Note, id));
    let all = [Of::Notes, Of::Scan(RecordKind::Note)].into_iter().flat_map(list);
    follow(case, [commit(notes)].into_iter().chain(reads).chain(all)).await
}

/// Where integers of 1, 2 and 4 bytes and the whole numbers of a float end, and the greatest index
/// after which there is room for one more.
const HIGH: [u64; 14] = [
    127,
    128,
    255,
    256,
    32_768,
    65_535,
    65_536,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 53) + 1,
    (1 << 53) + 2,
    i64::MAX as u64 - 2,
];

/// Rows at high indexes, restored in another order; and after each alone the row that comes next.
async fn indexes(
    case: &mut Case,
    list: impl Fn(&str) -> Vec<Of>,
    restored: impl Fn(&str, u64) -> Record,
    recorded: impl Fn(&str) -> Op,
) -> Verdict {
    let mut ops = vec![start("s")];
    ops.extend([recorded("s"), recorded("s"), recorded("s")]);
    ops.extend((0..HIGH.len()).map(|n| Op::from(restored("s", HIGH[n * 5 % HIGH.len()]))));
    let mut commands = vec![commit(ops)];
    let read = |commands: &mut Vec<Command>, session: &str, limits: &[usize]| {
        for limit in limits {
            let all =
                list(session).into_iter().map(|of| Listing { of, scope: None, limit: *limit });
            commands.extend(all.map(|listing| Command::Read(Read::All(listing))));
        }
        commands.push(by_id(RecordKind::Session, session));
    };
    read(&mut commands, "s", &[usize::MAX, 1, 5]);
    for index in HIGH {
        let session = index.to_string();
        let ops = [start(&session), restored(&session, index).into(), recorded(&session)];
        commands.push(commit(ops));
        read(&mut commands, &session, &[usize::MAX]);
    }
    // After the greatest there is no room: this is refused.
    let full = HIGH[HIGH.len() - 1].to_string();
    commands.push(commit([recorded(&full)]));
    follow(case, commands).await
}

pub(crate) async fn turn_indexes(case: &mut Case) -> Verdict {
    let restored = |session: &str, index: u64| {
        Record::Turn(Turn {
            id: format!("{session} {index}").into(),
            workspace: "".into(),
            created_at: Case::at(0),
            session: session.into(),
            index,
            role: "user".to_owned(),
            content: index.to_string(),
            model: None,
            tokens: None,
            embedding_id: None,
            metadata: Metadata::default(),
            tags: BTreeMap::default(),
        })
    };
    let list = |session: &str| vec![turns_of(session, false), turns_of(session, true)];
    indexes(case, list, restored, |session| NewTurn::new(session, "user", "next").into()).await
}

pub(crate) async fn step_indexes(case: &mut Case) -> Verdict {
    let restored = |session: &str, index: u64| {
        Record::Step(Step {
            id: format!("{session} {index}").into(),
            workspace: "".into(),
            created_at: Case::at(0),
            session: session.into(),
            index,
            name: "look".to_owned(),
            status: "ok".to_owned(),
            payload: json!(index),
        })
    };
    let list = |session: &str| vec![steps_of(session)];
    indexes(case, list, restored, |session| NewStep::new(session, "look", "ok").into()).await
}

/// What tells how much there is, and whether anything is left.
fn counts(kinds: &[RecordKind]) -> Vec<Command> {
    let one = Read::Stats { scope: Some("".into()) };
    let mut reads = vec![Read::Workspaces, Read::Stats { scope: None }, one];
    for kind in kinds {
        let scan = Listing { of: Of::Scan(*kind), scope: None, limit: usize::MAX };
        reads.push(Read::All(scan));
    }
    if kinds.contains(&RecordKind::Turn) {
        let text = "needle".to_owned();
        reads.push(Read::Find { text, scope: None, role: None, limit: usize::MAX });
    }
    reads.into_iter().map(Command::Read).collect()
}

/// The session goes with all its rows, and begins anew under its id; the other stays.
pub(crate) async fn session_deleted(case: &mut Case) -> Verdict {
    let kinds = [RecordKind::Session, RecordKind::Turn, RecordKind::Step];
    let fill = two_sessions(|session, n| turn(session, n).into());
    let steps = (0..ROWS).map(|n| step("s", n));
    let delete = Op::DeleteSession { session: "s".into(), ended_before: None };
    let mut commands = vec![fill, commit(steps)];
    commands.extend(counts(&kinds));
    commands.push(commit([delete]));
    commands.extend(counts(&kinds));
    commands.push(commit([start("s"), turn("s", ROWS - 1).into(), step("s", ROWS - 1).into()]));
    commands.extend(counts(&kinds));
    follow(case, commands).await?;
    case.verify().await
}

/// A workspace goes with all its rows of every kind; the other stays.
pub(crate) async fn workspace_forgotten(case: &mut Case) -> Verdict {
    let handle = case.handle();
    let mut commands = Vec::new();
    for (workspace, rows) in [("", ROWS), ("other", 3)] {
        let ids = (0..rows).map(|n| format!("{workspace}{n}"));
        commands.push(commit(ids.flat_map(|id| bundle_in(&handle, &id, workspace).ops)));
    }
    let kinds = case.backend().info().kinds;
    commands.extend(counts(&kinds));
    commands.push(commit([Op::ForgetWorkspace { workspace: "".into() }]));
    commands.extend(counts(&kinds));
    follow(case, commands).await?;
    case.verify().await
}

/// What is over goes, and what is not stays, between the rows that go.
async fn pruned(case: &mut Case, kind: RecordKind, ops: impl Iterator<Item = Op>) -> Verdict {
    const LATER: i64 = 60_000_000;
    let mut commands = vec![commit(ops), Command::Clock(LATER)];
    commands.push(Command::Prune { before: LATER, scope: None });
    commands.extend(counts(&[kind]));
    follow(case, commands).await
}

pub(crate) async fn episodes_pruned(case: &mut Case) -> Verdict {
    let new = |n| NewEpisode::new("problem", "").id(format!("e{n}")).open(is_rare(n));
    pruned(case, RecordKind::Episode, (0..ROWS).map(|n| new(n).into())).await
}

pub(crate) async fn states_pruned(case: &mut Case) -> Verdict {
    let put = |n: usize| {
        let put = PutState::new(format!("k{n}"), json!(n)).workspace("");
        if is_rare(n) { put } else { put.ttl_ms(1_u64) }
    };
    pruned(case, RecordKind::State, (0..ROWS).map(|n| put(n).into())).await
}

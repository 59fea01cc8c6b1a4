//! velune's `EpisodicMemoryTier`: conversation turns and execution steps, whose sessions have no
//! rows at all.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::{
    cells::Cells,
    database::{Database, Table},
    velune::{Home, bare_session, made_session},
};
use crate::{
    Json, Record, Result, Session, Step, StepId, Timestamp, Turn, TurnId, Workspace,
    import::item::{Entry, Place, Sink},
};

pub(super) const TURNS: Table = Table {
    name: "conversation_turns",
    columns: &["session_id", "role", "content", "timestamp", "metadata"],
};
pub(super) const STEPS: Table = Table {
    name: "execution_steps",
    columns: &["session_id", "step_name", "status", "payload", "timestamp"],
};

/// Reads both tables into sessions `tier1:ID`, or `tier1:W:ID` where a workspace was given.
pub(super) fn read(
    database: &Database,
    workspace: Option<&Workspace>,
    sink: &mut Sink,
) -> Result<()> {
    let mut homes = HashMap::new();
    for (key, (first, session)) in sessions(database, workspace)? {
        homes.insert(key, Home::new(&session, true));
        sink.entry(made_session(first, session))?;
    }
    // Every row's session was made.
    database.each(&TURNS, |mut cells| match homes.get_mut(&cells.session_key()) {
        Some(home) => sink.entry(turn(&mut cells, home)),
        None => Ok(()),
    })?;
    database.each(&STEPS, |mut cells| match homes.get_mut(&cells.session_key()) {
        Some(home) => sink.entry(step(&mut cells, home)),
        None => Ok(()),
    })
}

/// The sessions that rows name, each with its first row: as begun at the earlier of the first turn
/// and the first step, and ended at the latest of all. The ids of these two rows mark it, so that
/// another source's session of the same name is not taken for it.
fn sessions(
    database: &Database,
    workspace: Option<&Workspace>,
) -> Result<BTreeMap<String, (Place, Session)>> {
    let target = workspace.cloned().unwrap_or_default();
    let mut sessions: BTreeMap<String, (Place, Session)> = BTreeMap::new();
    for (table, mark, prefix) in
        [(TURNS, "first_turn", TurnId::PREFIX), (STEPS, "first_step", StepId::PREFIX)]
    {
        database.each(&table, |mut cells| {
            let key = cells.session_key();
            let at = cells.time("timestamp", Timestamp::default());
            let (_, session) = sessions.entry(key).or_insert_with_key(|key| {
                let id = match workspace {
                    Some(workspace) => format!("tier1:{workspace}:{key}"),
                    None => format!("tier1:{key}"),
                };
                let mut session = bare_session(id.into(), target.clone(), at);
                session.metadata.insert("imported".to_owned(), json!({ "from": "velune" }));
                (cells.place, session)
            });
            if let Some(Json::Object(marks)) = session.metadata.get_mut("imported")
                && !marks.contains_key(mark)
            {
                marks.insert(mark.to_owned(), cells.made_id(prefix, target.as_str()).into());
                session.started_at = session.started_at.min(at);
                session.created_at = session.started_at;
            }
            session.ended_at = session.ended_at.max(Some(at));
            Ok(())
        })?;
    }
    Ok(sessions)
}

fn turn(cells: &mut Cells<'_>, home: &mut Home) -> Entry {
    let index = home.next_turn;
    home.next_turn += 1;
    let turn = Turn {
        id: cells.made_id(TurnId::PREFIX, home.workspace.as_str()).into(),
        workspace: home.workspace.clone(),
        created_at: cells.time("timestamp", home.started_at),
        session: home.id.clone(),
        index,
        role: cells.text("role"),
        content: cells.text("content"),
        model: None,
        tokens: None,
        embedding_id: None,
        metadata: cells.object("metadata"),
        tags: BTreeMap::new(),
    };
    placed(cells, Record::Turn(turn))
}

fn step(cells: &mut Cells<'_>, home: &mut Home) -> Entry {
    let index = home.next_step;
    home.next_step += 1;
    let step = Step {
        id: cells.made_id(StepId::PREFIX, home.workspace.as_str()).into(),
        workspace: home.workspace.clone(),
        created_at: cells.time("timestamp", home.started_at),
        session: home.id.clone(),
        index,
        name: cells.text("step_name"),
        status: cells.text("status"),
        payload: cells.json("payload"),
    };
    placed(cells, Record::Step(step))
}

fn placed(cells: &mut Cells<'_>, record: Record) -> Entry {
    let mut entry = cells.entry(record);
    entry.placed = true;
    entry
}

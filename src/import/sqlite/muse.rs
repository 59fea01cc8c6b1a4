//! `MuseEngine`'s `MemoryStore`: episodes, notes, state and an audit log.

use super::{
    cells::{Cells, from_seconds},
    database::{Database, Table},
};
use crate::{
    AuditId, AuditRecord, Episode, EpisodeId, Hash, Json, Metadata, Note, NoteId, Record, Result,
    StateSlot, Timestamp, Workspace,
    import::{excerpt, item::Sink},
};

pub(super) const EPISODES: Table =
    Table { name: "episodes", columns: &["id", "problem", "summary", "is_open", "created_at"] };
pub(super) const NOTES: Table =
    Table { name: "notes", columns: &["text", "source_episode_ids", "created_at"] };
const STATE: Table = Table { name: "state", columns: &["key", "value"] };
pub(super) const AUDIT: Table =
    Table { name: "audit", columns: &["at", "action", "decision", "detail"] };
pub(super) const TABLES: [Table; 4] = [EPISODES, NOTES, STATE, AUDIT];

/// Reads a database, all of whose records go to one workspace.
pub(super) fn read(
    database: &Database,
    workspace: Option<&Workspace>,
    sink: &mut Sink,
) -> Result<()> {
    let workspace = workspace.cloned().unwrap_or_default();
    let began = began(database)?;
    let epoch = Timestamp::default();
    let mut send = |mut cells: Cells<'_>, record: Record| {
        let mut entry = cells.entry(record);
        entry.append = matches!(entry.record, Record::Audit(_));
        entry.placed = true;
        sink.entry(entry)
    };
    database.each(&EPISODES, |mut cells| {
        let created_at = cells.time("created_at", epoch);
        let open = cells.boolean("is_open");
        let episode = Episode {
            id: cells.id(EpisodeId::PREFIX, workspace.as_str()).into(),
            workspace: workspace.clone(),
            created_at,
            problem: cells.text("problem"),
            summary: cells.text("summary"),
            open,
            closed_at: (!open).then_some(created_at),
            metadata: Metadata::new(),
        };
        send(cells, Record::Episode(episode))
    })?;
    database.each(&NOTES, |mut cells| {
        let note = Note {
            id: cells.made_id(NoteId::PREFIX, workspace.as_str()).into(),
            workspace: workspace.clone(),
            created_at: cells.time("created_at", epoch),
            text: cells.text("text"),
            sources: sources(&mut cells),
        };
        send(cells, Record::Note(note))
    })?;
    database.each(&STATE, |mut cells| {
        let slot = StateSlot {
            workspace: workspace.clone(),
            key: cells.name("key"),
            value: Some(cells.json("value")),
            version: 1,
            created_at: began,
            updated_at: began,
            expires_at: None,
        };
        send(cells, Record::State(slot))
    })?;
    database.each(&AUDIT, |mut cells| {
        let audit = AuditRecord {
            id: cells.made_id(AuditId::PREFIX, workspace.as_str()).into(),
            workspace: workspace.clone(),
            created_at: cells.time("at", epoch),
            seq: 0,
            action: cells.text("action"),
            decision: cells.text("decision"),
            detail: cells.json("detail"),
            hash: Hash::default(),
        };
        send(cells, Record::Audit(audit))
    })
}

/// The episodes that a note was drawn from: a JSON list of ids.
fn sources(cells: &mut Cells<'_>) -> Vec<EpisodeId> {
    let items = match cells.json("source_episode_ids") {
        Json::Array(items) => items,
        Json::Null => Vec::new(),
        other => {
            cells.repair("source_episode_ids is no list: taken as the only source");
            vec![other]
        }
    };
    let mut sources = Vec::with_capacity(items.len());
    for item in items {
        let id = match item {
            Json::String(id) => id,
            other => {
                let id = other.to_string();
                let shown = excerpt(&id);
                cells.repair(format!("the source {shown} is no text: stored as its JSON"));
                id
            }
        };
        if id.is_empty() {
            cells.repair("an empty source id is left out");
        } else {
            sources.push(EpisodeId::new(id));
        }
    }
    sources
}

/// When the memory began: the earliest time in it. It stands for the times of state, which has
/// none, since it stays the same when the file grows.
fn began(database: &Database) -> Result<Timestamp> {
    let times: Vec<String> = [(EPISODES, "created_at"), (NOTES, "created_at"), (AUDIT, "at")]
        .iter()
        .filter(|(table, _)| database.has(table))
        .map(|(table, column)| format!("SELECT \"{column}\" AS time FROM \"{}\"", table.name))
        .collect();
    if times.is_empty() {
        return Ok(Timestamp::default());
    }
    let sql = format!(
        "SELECT CAST(min(time) AS REAL) FROM ({}) \
         WHERE typeof(time) IN ('real', 'integer') AND time BETWEEN 0 AND 253402300799",
        times.join(" UNION ALL ")
    );
    Ok(database.real(&sql)?.and_then(from_seconds).unwrap_or_default())
}

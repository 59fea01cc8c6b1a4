//! velune's `EpisodicMemory`: sessions, turns and tags. (Its other part is [`super::tier1`].)

use std::collections::{BTreeMap, HashMap, btree_map::Entry as Slot};

use serde_json::json;

use super::{
    cells::Cells,
    database::{Database, Table},
    tier1,
};
use crate::{
    Batch, Metadata, Op, Record, RecordKind, Result, Session, SessionId, Timestamp, Turn, TurnId,
    Workspace,
    import::{
        excerpt,
        item::{Entry, Item, Kind, Place, Sink},
        loader::refused,
    },
};

pub(super) const SESSIONS: Table = Table {
    name: "sessions",
    columns: &["id", "workspace_root", "started_at", "ended_at", "model_used", "mode", "summary"],
};
pub(super) const TURNS: Table = Table {
    name: "turns",
    columns: &[
        "id",
        "session_id",
        "turn_index",
        "role",
        "content",
        "model_used",
        "tokens_used",
        "created_at",
        "embedding_id",
    ],
};
/// A column that the sessions need not have: their sum is made anew.
const TOTALS: Table = Table { name: "sessions", columns: &["id", "ended_at", "total_tokens"] };
const TAGS: Table = Table { name: "memory_tags", columns: &["turn_id", "tag", "value"] };
pub(super) const TABLES: [Table; 5] = [SESSIONS, TURNS, TAGS, tier1::TURNS, tier1::STEPS];

/// A session that turns and steps are put into.
pub(super) struct Home {
    pub(super) id: SessionId,
    pub(super) workspace: Workspace,
    pub(super) started_at: Timestamp,
    /// Whether it has no workspace of its own.
    pub(super) placed: bool,
    pub(super) next_turn: u64,
    pub(super) next_step: u64,
    tokens: i64,
}

impl Home {
    pub(super) fn new(session: &Session, placed: bool) -> Self {
        Self {
            id: session.id.clone(),
            workspace: session.workspace.clone(),
            started_at: session.started_at,
            placed,
            next_turn: 0,
            next_step: 0,
            tokens: 0,
        }
    }
}

/// The tags of each turn by name, by the turn's id as it stands in the file.
type Tags = BTreeMap<Option<String>, BTreeMap<String, Tag>>;

struct Tag {
    place: Place,
    value: Option<String>,
    repairs: Vec<(Place, String)>,
}

/// Reads a database. Sessions know their workspaces; what has none goes to `workspace`.
pub(super) fn read(
    database: &Database,
    workspace: Option<&Workspace>,
    sink: &mut Sink,
) -> Result<()> {
    let mut homes = sessions(database, sink)?;
    orphans(database, workspace, &mut homes, sink)?;
    let mut tags = tags(database, sink)?;
    // Every turn's session was found or made.
    database.each(&TURNS, |mut cells| match homes.get_mut(&cells.session_key()) {
        Some(home) => {
            let tags = tags_of(&cells, &mut tags, sink)?;
            sink.entry(turn(&mut cells, home, tags))
        }
        None => Ok(()),
    })?;
    for (turn, tags) in tags {
        for (name, tag) in tags {
            let why = "no turn of the file has this id";
            sink.push(skipped_tag(tag.place, &name, turn.clone(), why))?;
        }
    }
    tier1::read(database, workspace, sink)
}

/// Sends the sessions that have rows.
fn sessions(database: &Database, sink: &mut Sink) -> Result<HashMap<String, Home>> {
    let mut homes: HashMap<String, Home> = HashMap::new();
    let totals = wrong_totals(database)?;
    database.each(&SESSIONS, |mut cells| {
        let key = cells.key("id");
        let started_at = cells.time("started_at", Timestamp::default());
        let workspace = Workspace::new(cells.text("workspace_root"));
        let id = cells.id(SessionId::PREFIX, workspace.as_str());
        let session = Session {
            ended_at: cells.optional_time("ended_at", started_at),
            model: cells.optional_text("model_used"),
            mode: cells.optional_text("mode"),
            summary: cells.optional_text("summary"),
            ..bare_session(id.into(), workspace, started_at)
        };
        if let Some(key) = key {
            if homes.contains_key(&key) {
                let (place, id) = (cells.place, Some(key));
                let reason = "an earlier row has this id".to_owned();
                return sink.push(Item::Skip {
                    place,
                    kind: Kind::Record(RecordKind::Session),
                    id,
                    reason,
                });
            }
            homes.insert(key, Home::new(&session, false));
        }
        if let Some(reason) = totals.get(&cells.place.rowid) {
            cells.repair(reason);
        }
        sink.entry(cells.entry(Record::Session(session)))
    })?;
    Ok(homes)
}

/// Of each session by rowid, how its total differs from the sum of its turns, which is what is
/// stored. velune writes it when a session ends; until then a 0 says nothing.
fn wrong_totals(database: &Database) -> Result<HashMap<i64, String>> {
    let mut sums: HashMap<String, i64> = HashMap::new();
    database.each(&TURNS, |mut cells| {
        let sum = sums.entry(cells.session_key()).or_default();
        let tokens = cells.integer("tokens_used").unwrap_or(0);
        *sum = sum.checked_add(tokens).unwrap_or(*sum);
        Ok(())
    })?;
    let mut wrong = HashMap::new();
    database.each(&TOTALS, |cells| {
        let sum = cells.key("id").and_then(|id| sums.get(&id)).copied().unwrap_or(0);
        let is_open = cells.key("ended_at").is_none();
        if let Some(total) = cells.key("total_tokens")
            && total != sum.to_string()
            && !(is_open && total == "0")
        {
            let reason = format!("total_tokens {}, its turns make {sum}", excerpt(&total));
            wrong.insert(cells.place.rowid, reason);
        }
        Ok(())
    })?;
    Ok(wrong)
}

/// A session of which nothing is known but where and when.
pub(super) fn bare_session(id: SessionId, workspace: Workspace, started_at: Timestamp) -> Session {
    Session {
        id,
        workspace,
        created_at: started_at,
        started_at,
        ended_at: None,
        model: None,
        mode: None,
        summary: None,
        metadata: Metadata::new(),
        next_turn: 0,
        next_step: 0,
        turn_count: 0,
        step_count: 0,
        total_tokens: 0,
        last_active: started_at,
        first_prompt: None,
    }
}

/// Makes sessions for turns whose session has no row, and sends them.
fn orphans(
    database: &Database,
    workspace: Option<&Workspace>,
    homes: &mut HashMap<String, Home>,
    sink: &mut Sink,
) -> Result<()> {
    let mut made: Vec<(String, Place, Session)> = Vec::new();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    database.each(&TURNS, |mut cells| {
        let key = cells.session_key();
        if homes.contains_key(&key) {
            return Ok(());
        }
        let at = cells.time("created_at", Timestamp::default());
        if let Some((.., session)) = by_key.get(&key).and_then(|n| made.get_mut(*n)) {
            session.ended_at = session.ended_at.max(Some(at));
            return Ok(());
        }
        let target = workspace.cloned().unwrap_or_default();
        let id = match (workspace, key.is_empty()) {
            (Some(workspace), _) => format!("{workspace}:{key}"),
            (None, true) => cells.made_id(SessionId::PREFIX, target.as_str()),
            (None, false) => key.clone(),
        };
        let first_turn = cells.id(TurnId::PREFIX, target.as_str());
        let mut session = bare_session(id.into(), target, at);
        session.ended_at = Some(at);
        let mark = json!({ "from": "velune", "session_row": "missing", "first_turn": first_turn });
        session.metadata.insert("imported".to_owned(), mark);
        by_key.insert(key.clone(), made.len());
        made.push((key, cells.place, session));
        Ok(())
    })?;
    for (key, place, session) in made {
        homes.insert(key, Home::new(&session, true));
        let mut entry = made_session(place, session);
        let repair = "its session has no row: one was made, ended at its last turn";
        entry.repairs.push((place, repair.to_owned()));
        sink.entry(entry)?;
    }
    Ok(())
}

/// The entry for a session that has no row.
pub(super) fn made_session(first: Place, session: Session) -> Entry {
    let mut entry = Entry::new(first, Record::Session(session), 0);
    entry.placed = true;
    entry.is_row = false;
    entry
}

fn tags(database: &Database, sink: &mut Sink) -> Result<Tags> {
    let mut tags = Tags::new();
    database.each(&TAGS, |mut cells| {
        let turn = cells.key("turn_id");
        let (name, value) = (cells.name("tag"), cells.optional_text("value"));
        let (place, repairs) = (cells.place, cells.take_repairs());
        match tags.entry(turn.clone()).or_default().entry(name) {
            Slot::Occupied(earlier) => {
                let why = "an earlier row is the same tag";
                sink.push(skipped_tag(place, earlier.key(), turn, why))
            }
            Slot::Vacant(slot) => {
                slot.insert(Tag { place, value, repairs });
                Ok(())
            }
        }
    })?;
    Ok(tags)
}

fn skipped_tag(place: Place, name: &str, turn: Option<String>, why: &str) -> Item {
    let reason = format!("the tag `{}` is not stored: {why}", excerpt(name));
    Item::Skip { place, kind: Kind::Tag, id: turn, reason }
}

/// Takes the tags of a turn that can be stored, and tells of the others: one that cannot must not
/// cost the turn.
fn tags_of(cells: &Cells<'_>, tags: &mut Tags, sink: &mut Sink) -> Result<BTreeMap<String, Tag>> {
    // A turn without an id is not what a tag without one means.
    let key = cells.key("id");
    let mut own = BTreeMap::new();
    let all = key.as_ref().and_then(|id| tags.remove(&Some(id.clone())));
    for (name, tag) in all.unwrap_or_default() {
        let op =
            Op::TagTurn { turn: TurnId::new("t"), name: name.clone(), value: tag.value.clone() };
        match Batch::from(op).prepare() {
            Ok(_) => {
                own.insert(name, tag);
            }
            Err(e) => sink.push(skipped_tag(tag.place, &name, key.clone(), &refused(&e)))?,
        }
    }
    Ok(own)
}

fn turn(cells: &mut Cells<'_>, home: &mut Home, own_tags: BTreeMap<String, Tag>) -> Entry {
    let index = home.next_turn;
    home.next_turn += 1;
    let stored_index = cells.integer("turn_index");
    if stored_index.is_none_or(|stored| u64::try_from(stored) != Ok(index)) {
        let was = stored_index.map_or("missing".to_owned(), |stored| stored.to_string());
        cells.repair(format!("turn_index is {was}: by its place in the session it is {index}"));
    }
    let mut tokens = cells.integer("tokens_used");
    if let Some(sum) = home.tokens.checked_add(tokens.unwrap_or(0)) {
        home.tokens = sum;
    } else {
        let was = tokens.take().unwrap_or(0);
        cells.repair(format!("tokens_used {was} exceed what a session can sum: left out"));
    }
    let turn = Turn {
        id: cells.id(TurnId::PREFIX, home.workspace.as_str()).into(),
        workspace: home.workspace.clone(),
        created_at: cells.time("created_at", home.started_at),
        session: home.id.clone(),
        index,
        role: cells.text("role"),
        content: cells.text("content"),
        model: cells.optional_text("model_used"),
        tokens,
        embedding_id: cells.optional_text("embedding_id"),
        metadata: Metadata::new(),
        tags: own_tags.iter().map(|(name, tag)| (name.clone(), tag.value.clone())).collect(),
    };
    let mut entry = cells.entry(Record::Turn(turn));
    for (name, tag) in own_tags {
        entry.bytes += name.len() + tag.value.map_or(0, |value| value.len());
        entry.repairs.extend(tag.repairs);
        entry.tags.push((tag.place, name));
    }
    entry.placed = home.placed;
    entry
}

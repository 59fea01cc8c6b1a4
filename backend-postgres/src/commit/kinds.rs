use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, hash_map::Entry},
};

use memkeep_core::{
    AuditRecord, Episode, Error, ErrorKind, Json, Metadata, Note, Result, Session, SessionId,
    StateSlot, Step, StoredReceipt, Timestamp, Turn, Workspace,
    decide::{Origin, Put, Stored},
};
use serde::Serialize;

use super::insert::{Columns, Puts};
use crate::{
    recall::tail,
    transaction::{Attempt, Transaction},
};

/// What is put, by kind: rows that are new, and rows that are there.
#[derive(Default)]
pub(super) struct Kinds {
    pub(super) sessions: Rows<Stored<Session>>,
    pub(super) turns: Rows<Stored<Turn>>,
    pub(super) steps: Vec<Step>,
    pub(super) episodes: Rows<Stored<Episode>>,
    pub(super) notes: Vec<Note>,
    pub(super) states: Rows<StateSlot>,
    pub(super) audit: Vec<AuditRecord>,
    pub(super) receipts: Vec<StoredReceipt>,
    pub(super) any: bool,
}

pub(super) struct Rows<T> {
    new: Vec<T>,
    old: Vec<T>,
    /// Where each row is: among the new ones or not, and at which place.
    places: HashMap<String, (bool, usize)>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { new: Vec::new(), old: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Rows<T> {
    /// Adds a row; of one that an earlier batch of the group has put, what it is now.
    pub(super) fn add(&mut self, put: Put<T>, name: String) {
        match self.places.entry(name) {
            Entry::Occupied(place) => {
                let (new, at) = *place.get();
                let rows = if new { &mut self.new } else { &mut self.old };
                rows[at] = put.row;
            }
            Entry::Vacant(place) => {
                let rows = if put.new { &mut self.new } else { &mut self.old };
                place.insert((put.new, rows.len()));
                rows.push(put.row);
            }
        }
    }
}

impl Kinds {
    /// Rows that are there and new ones of the same table go in two statements: not every engine
    /// changes a table twice in one.
    pub(super) async fn put(self, transaction: &mut Transaction) -> Attempt<()> {
        let mut puts = Puts::default();
        self.update(&mut puts)?;
        let twice = [
            (self.sessions.old.len(), self.sessions.new.len()),
            (self.turns.old.len(), self.turns.new.len()),
            (self.episodes.old.len(), self.episodes.new.len()),
            (self.states.old.len(), self.states.new.len()),
        ];
        if twice.iter().any(|(old, new)| *old > 0 && *new > 0) {
            run(transaction, std::mem::take(&mut puts)).await?;
        }
        self.insert(&mut puts)?;
        run(transaction, puts).await
    }

    fn update(&self, puts: &mut Puts) -> Attempt<()> {
        let by_id = "r.id = v.id";
        let old: Vec<_> = self.sessions.old.iter().map(|row| &row.record).collect();
        if !old.is_empty() {
            let old = || old.iter().copied();
            puts.columns(old().len())
                .texts("id", old().map(|s| s.id.as_str()))?
                .column("ended_at", old().map(|s| s.ended_at.map(Timestamp::as_micros)))?
                .column("last_active", old().map(|s| s.last_active.as_micros()))?
                .column("next_turn", old().map(|s| number(s.next_turn)))?
                .column("next_step", old().map(|s| number(s.next_step)))?
                .column("turn_count", old().map(|s| number(s.turn_count)))?
                .column("step_count", old().map(|s| number(s.step_count)))?
                .column("total_tokens", old().map(|s| s.total_tokens))?
                .maybe_texts("summary", old().map(|s| s.summary.as_deref()))?
                .update("sessions", by_id);
        }
        let old: Vec<_> = self.turns.old.iter().map(|row| &row.record).collect();
        if !old.is_empty() {
            let old = || old.iter().copied();
            puts.columns(old().len())
                .texts("id", old().map(|t| t.id.as_str()))?
                .maybe_texts("embedding_id", old().map(|t| t.embedding_id.as_deref()))?
                .column("tags", all(old().map(|t| tags(&t.tags)))?)?
                .update("turns", by_id);
        }
        let old: Vec<_> = self.episodes.old.iter().map(|row| &row.record).collect();
        if !old.is_empty() {
            let old = || old.iter().copied();
            puts.columns(old().len())
                .texts("id", old().map(|e| e.id.as_str()))?
                .column("open", old().map(|e| e.open))?
                .column("closed_at", old().map(|e| e.closed_at.map(Timestamp::as_micros)))?
                .texts("problem", old().map(|e| e.problem.as_str()))?
                .texts("summary", old().map(|e| e.summary.as_str()))?
                .column("metadata", all(old().map(|e| object(&e.metadata)))?)?
                .beside(|rows| format!("revised AS ({})", tail::revise_episodes(rows)))
                .update("episodes", by_id);
        }
        if !self.states.old.is_empty() {
            let by_key = "r.key = v.key AND \
                          r.workspace = (SELECT pk FROM @workspaces WHERE name = v.workspace)";
            slots(puts, &self.states.old)?.update("states", by_key);
        }
        Ok(())
    }

    fn insert(&self, puts: &mut Puts) -> Attempt<()> {
        self.found(puts)?;
        self.insert_sessions(puts)?;
        self.of_sessions(puts)?;
        self.insert_turns(puts)?;
        self.insert_steps(puts)?;
        self.insert_episodes(puts)?;
        self.insert_notes(puts)?;
        if !self.states.new.is_empty() {
            slots(puts, &self.states.new)?.insert("states");
        }
        self.insert_audit(puts)?;
        self.insert_receipts(puts)
    }

    fn insert_sessions(&self, puts: &mut Puts) -> Attempt<()> {
        let new = &self.sessions.new;
        if !new.is_empty() {
            let new = || new.iter().map(|row| &row.record);
            let origins = self.sessions.new.iter().map(|row| bytes(row.origin.as_ref()));
            puts.columns(new().len())
                .texts("id", new().map(|s| s.id.as_str()))?
                .texts("workspace", new().map(|s| s.workspace.as_str()))?
                .column("created_at", new().map(|s| s.created_at.as_micros()))?
                .column("started_at", new().map(|s| s.started_at.as_micros()))?
                .column("ended_at", new().map(|s| s.ended_at.map(Timestamp::as_micros)))?
                .column("last_active", new().map(|s| s.last_active.as_micros()))?
                .column("next_turn", new().map(|s| number(s.next_turn)))?
                .column("next_step", new().map(|s| number(s.next_step)))?
                .column("turn_count", new().map(|s| number(s.turn_count)))?
                .column("step_count", new().map(|s| number(s.step_count)))?
                .column("total_tokens", new().map(|s| s.total_tokens))?
                .column("origin", origins)?
                .maybe_texts("model", new().map(|s| s.model.as_deref()))?
                .maybe_texts("mode", new().map(|s| s.mode.as_deref()))?
                .maybe_texts("summary", new().map(|s| s.summary.as_deref()))?
                .column("metadata", all(new().map(|s| object(&s.metadata)))?)?
                .insert("sessions");
        }
        Ok(())
    }

    fn insert_turns(&self, puts: &mut Puts) -> Attempt<()> {
        let new = &self.turns.new;
        if !new.is_empty() {
            let new = || new.iter().map(|row| &row.record);
            let origins = self.turns.new.iter().map(|row| bytes(row.origin.as_ref()));
            puts.columns(new().len())
                .texts("id", new().map(|t| t.id.as_str()))?
                .texts("session", new().map(|t| t.session.as_str()))?
                .column("position", new().map(|t| number(t.index)))?
                .texts("workspace", new().map(|t| t.workspace.as_str()))?
                .column("created_at", new().map(|t| t.created_at.as_micros()))?
                .column("tokens", new().map(|t| t.tokens))?
                .column("origin", origins)?
                .texts("role", new().map(|t| t.role.as_str()))?
                .maybe_texts("embedding_id", new().map(|t| t.embedding_id.as_deref()))?
                .maybe_texts("model", new().map(|t| t.model.as_deref()))?
                .texts("content", new().map(|t| t.content.as_str()))?
                .column("metadata", all(new().map(|t| object(&t.metadata)))?)?
                .column("tags", all(new().map(|t| tags(&t.tags)))?)?
                .insert("turns");
        }
        Ok(())
    }

    fn insert_steps(&self, puts: &mut Puts) -> Attempt<()> {
        if !self.steps.is_empty() {
            let new = || self.steps.iter();
            puts.columns(new().len())
                .texts("id", new().map(|s| s.id.as_str()))?
                .texts("session", new().map(|s| s.session.as_str()))?
                .column("position", new().map(|s| number(s.index)))?
                .texts("workspace", new().map(|s| s.workspace.as_str()))?
                .column("created_at", new().map(|s| s.created_at.as_micros()))?
                .texts("name", new().map(|s| s.name.as_str()))?
                .texts("status", new().map(|s| s.status.as_str()))?
                .column("payload", all(new().map(|s| json(&s.payload)))?)?
                .insert("steps");
        }
        Ok(())
    }

    fn insert_episodes(&self, puts: &mut Puts) -> Attempt<()> {
        let new = &self.episodes.new;
        if !new.is_empty() {
            let new = || new.iter().map(|row| &row.record);
            let origins = self.episodes.new.iter().map(|row| bytes(row.origin.as_ref()));
            puts.columns(new().len())
                .texts("id", new().map(|e| e.id.as_str()))?
                .texts("workspace", new().map(|e| e.workspace.as_str()))?
                .column("created_at", new().map(|e| e.created_at.as_micros()))?
                .column("open", new().map(|e| e.open))?
                .column("closed_at", new().map(|e| e.closed_at.map(Timestamp::as_micros)))?
                .column("origin", origins)?
                .texts("problem", new().map(|e| e.problem.as_str()))?
                .texts("summary", new().map(|e| e.summary.as_str()))?
                .column("metadata", all(new().map(|e| object(&e.metadata)))?)?
                .insert("episodes");
        }
        Ok(())
    }

    fn insert_notes(&self, puts: &mut Puts) -> Attempt<()> {
        if !self.notes.is_empty() {
            let new = || self.notes.iter();
            puts.columns(new().len())
                .texts("id", new().map(|n| n.id.as_str()))?
                .texts("workspace", new().map(|n| n.workspace.as_str()))?
                .column("created_at", new().map(|n| n.created_at.as_micros()))?
                .column("sources", all(new().map(|n| json(&n.sources)))?)?
                .texts("text", new().map(|n| n.text.as_str()))?
                .insert("notes");
        }
        Ok(())
    }

    fn insert_audit(&self, puts: &mut Puts) -> Attempt<()> {
        if !self.audit.is_empty() {
            let new = || self.audit.iter();
            puts.columns(new().len())
                .texts("id", new().map(|r| r.id.as_str()))?
                .texts("workspace", new().map(|r| r.workspace.as_str()))?
                .column("created_at", new().map(|r| r.created_at.as_micros()))?
                .column("seq", new().map(|r| number(r.seq)))?
                .column("hash", new().map(|r| &r.hash.0[..]))?
                .texts("action", new().map(|r| r.action.as_str()))?
                .texts("decision", new().map(|r| r.decision.as_str()))?
                .column("detail", all(new().map(|r| json(&r.detail)))?)?
                .insert("audit");
            let heads: BTreeMap<_, _> = new().map(|record| (&record.workspace, record)).collect();
            puts.columns(heads.len())
                .texts("workspace", heads.keys().map(|workspace| workspace.as_str()))?
                .column("seq", heads.values().map(|r| number(r.seq)))?
                .column("hash", heads.values().map(|r| &r.hash.0[..]))?
                .insert_plain(
                    "audit_heads",
                    "ON CONFLICT (workspace) DO UPDATE SET seq = excluded.seq, hash = excluded.hash",
                );
        }
        Ok(())
    }

    fn insert_receipts(&self, puts: &mut Puts) -> Attempt<()> {
        if !self.receipts.is_empty() {
            let new = || self.receipts.iter();
            puts.columns(new().len())
                .texts("key", new().map(|r| r.key.as_str()))?
                .column("at", new().map(|r| r.at.as_micros()))?
                .column("digest", new().map(|r| &r.digest.0[..]))?
                .column("marks", all(new().map(|r| json(&r.marks)))?)?
                .insert_plain("receipts", "");
        }
        Ok(())
    }

    /// Adds what new rows refer to: the gate, behind which they get their numbers, and the workspaces
    /// by name, which are made where they do not exist.
    fn found(&self, puts: &mut Puts) -> Attempt<()> {
        let mut names: Vec<&Workspace> = Vec::new();
        names.extend(self.sessions.new.iter().map(|row| &row.record.workspace));
        names.extend(self.turns.new.iter().map(|row| &row.record.workspace));
        names.extend(self.steps.iter().map(|row| &row.workspace));
        names.extend(self.episodes.new.iter().map(|row| &row.record.workspace));
        names.extend(self.notes.iter().map(|row| &row.workspace));
        names.extend(self.states.new.iter().map(|row| &row.workspace));
        names.extend(self.audit.iter().map(|row| &row.workspace));
        if names.is_empty() {
            return Ok(());
        }
        names.sort_unstable();
        names.dedup();
        let names = puts.texts(names.into_iter().map(Workspace::as_str))?;
        puts.with("gate AS MATERIALIZED (SELECT @GATE)".to_owned());
        puts.with(format!(
            "new_workspaces AS (INSERT INTO @workspaces (pk, name) \
             SELECT @NUMBER, v.name FROM unnest({names}) AS v(name) CROSS JOIN gate \
             WHERE NOT EXISTS (SELECT 1 FROM @workspaces WHERE name = v.name) RETURNING pk, name)"
        ));
        puts.with(format!(
            "w AS MATERIALIZED (SELECT pk, name FROM @workspaces WHERE name = ANY({names}) \
             UNION ALL SELECT pk, name FROM new_workspaces)"
        ));
        Ok(())
    }

    /// Adds the sessions, by id, of new turns and steps.
    fn of_sessions(&self, puts: &mut Puts) -> Attempt<()> {
        let turns = self.turns.new.iter().map(|row| &row.record.session);
        let mut ids: Vec<_> = turns.chain(self.steps.iter().map(|row| &row.session)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        ids.sort_unstable();
        ids.dedup();
        let ids = puts.texts(ids.into_iter().map(SessionId::as_str))?;
        let none = self.sessions.new.is_empty();
        let new = if none { "" } else { " UNION ALL SELECT pk, id FROM new_sessions" };
        puts.with(format!(
            "s AS MATERIALIZED (SELECT pk, id FROM @sessions WHERE id = ANY({ids}){new})"
        ));
        Ok(())
    }
}

/// The columns of state slots.
fn slots<'p>(puts: &'p mut Puts, slots: &[StateSlot]) -> Attempt<Columns<'p>> {
    let slots = || slots.iter();
    let value = |slot: &StateSlot| slot.value.as_ref().map(json::<Json>).transpose();
    puts.columns(slots().len())
        .texts("workspace", slots().map(|s| s.workspace.as_str()))?
        .texts("key", slots().map(|s| s.key.as_str()))?
        .column("created_at", slots().map(|s| s.created_at.as_micros()))?
        .column("updated_at", slots().map(|s| s.updated_at.as_micros()))?
        .column("expires_at", slots().map(|s| s.expires_at.map(Timestamp::as_micros)))?
        .column("version", slots().map(|s| number(s.version)))?
        .column("value", all(slots().map(value))?)
}

async fn run(transaction: &mut Transaction, puts: Puts) -> Attempt<()> {
    if puts.is_empty() {
        return Ok(());
    }
    let (statement, expected) = puts.finish();
    let put = transaction.number(statement).await?;
    if put == expected {
        return Ok(());
    }
    // A row that was loaded in this transaction is not there any more.
    let message = format!("{put} rows were put instead of {expected}");
    Err(Error::new(ErrorKind::Unexpected, message).into())
}

/// Counts, indexes and versions stay below 2^63.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// All values, or the first error.
fn all<T>(values: impl Iterator<Item = Result<T>>) -> Result<std::vec::IntoIter<T>> {
    Ok(values.collect::<Result<Vec<T>>>()?.into_iter())
}

/// JSON writes U+0000 and U+0001 as escapes of its own.
fn json<T: Serialize + ?Sized>(value: &T) -> Result<Cow<'static, str>> {
    let text = serde_json::to_string(value);
    let failed = |e| Error::new(ErrorKind::Unexpected, "JSON cannot be written").caused_by(e);
    text.map(Cow::Owned).map_err(failed)
}

/// Most records have no metadata.
fn object(map: &Metadata) -> Result<Cow<'static, str>> {
    if map.is_empty() { Ok("{}".into()) } else { json(map) }
}

/// Most turns have no tags.
fn tags(tags: &BTreeMap<String, Option<String>>) -> Result<Option<Cow<'static, str>>> {
    if tags.is_empty() { Ok(None) } else { json(tags).map(Some) }
}

fn bytes(origin: Option<&Origin>) -> Option<&[u8]> {
    origin.map(|origin| &origin.0[..])
}

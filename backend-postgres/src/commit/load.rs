use std::collections::{HashMap, HashSet};

use memkeep_core::{
    AuditHead, AuditId, AuditRecord, Episode, EpisodeId, Error, ErrorKind, Note, NoteId, Session,
    SessionId, StateSlot, Step, StepId, StoredReceipt, Turn, TurnId, Workspace,
    decide::{Change, Loaded, Needs},
};
use sqlx::postgres::PgRow;

use super::known::Known;
use crate::{
    cells::{self, Cells, Shape},
    error::Trouble,
    escape::escape,
    rows::{Table, decode, stored},
    schema,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// What a row was loaded for. The rows are locked in this order.
const RECEIPT: usize = 0;
const SESSION: usize = 1;
const TURN: usize = 2;
const STEP: usize = 3;
const EPISODE: usize = 4;
const NOTE: usize = 5;
const STATE: usize = 6;
const AUDIT: usize = 7;
const HEAD: usize = 8;
const TURN_SLOT: usize = 9;
const STEP_SLOT: usize = 10;
const VERSION: usize = 11;

/// One statement that finds rows for different needs.
#[derive(Default)]
struct Load {
    statement: Statement,
    parts: Vec<String>,
}

impl Load {
    /// Adds the rows of a table under a condition, locked one by one. A row that others changed
    /// meanwhile is waited for and read as they left it.
    fn lock<T: Table>(&mut self, part: usize, from: &str, order: &str) {
        let columns = T::SHAPE.columns(part);
        let table = T::SHAPE.table;
        self.parts.push(format!(
            "SELECT {columns} FROM @{table} r {from} ORDER BY {order} FOR UPDATE OF r"
        ));
    }

    /// Adds the rows of a table with one of some ids.
    fn by_id<'i, T: Table>(
        &mut self,
        part: usize,
        ids: impl ExactSizeIterator<Item = &'i str>,
    ) -> Attempt<()> {
        if ids.len() == 0 {
            return Ok(());
        }
        let ids = self.texts(ids)?;
        self.lock::<T>(part, &format!("WHERE r.id = ANY({ids})"), "r.pk");
        Ok(())
    }

    fn texts<'i>(&mut self, texts: impl Iterator<Item = &'i str>) -> Attempt<String> {
        self.statement.value(texts.map(escape).collect::<Vec<_>>())
    }

    /// Adds which turn or step has an index in a session. What takes an index that is free now meets
    /// the index of the table.
    fn slots<'i>(
        &mut self,
        part: usize,
        table: &str,
        slots: impl ExactSizeIterator<Item = (&'i str, u64)>,
    ) -> Attempt<()> {
        if slots.len() == 0 {
            return Ok(());
        }
        let (sessions, indexes): (Vec<_>, Vec<_>) = slots
            .map(|(session, index)| (escape(session), i64::try_from(index).unwrap_or(-1)))
            .unzip();
        let sessions = self.statement.value(sessions)?;
        let indexes = self.statement.value(indexes)?;
        let columns = Shape::bare(part, "v.n::bigint", "r.id");
        self.parts.push(format!(
            "SELECT {columns} FROM unnest({sessions}::text[], {indexes}::bigint[]) \
             WITH ORDINALITY AS v(session, index, n) JOIN @sessions s ON s.id = v.session \
             JOIN @{table} r ON r.session = s.pk AND r.position = v.index"
        ));
        Ok(())
    }

    fn finish(mut self) -> Statement {
        let names = Shape::names();
        let parts = self.parts.iter().enumerate();
        let with: Vec<_> = parts.map(|(n, sql)| format!("p{n} ({names}) AS ({sql})")).collect();
        let all: Vec<_> = (0..with.len()).map(|n| format!("SELECT * FROM p{n}")).collect();
        self.statement.sql = format!("WITH {} {}", with.join(", "), all.join(" UNION ALL "));
        self.statement
    }
}

/// Loads and locks what batches need, and the receipts under their keys, in one trip.
pub(super) async fn load(
    transaction: &mut Transaction,
    needs: &Needs,
    keys: &[&str],
) -> Attempt<Known> {
    let mut load = Load::default();
    if !keys.is_empty() {
        let keys = load.texts(keys.iter().copied())?;
        load.lock::<StoredReceipt>(RECEIPT, &format!("WHERE r.key = ANY({keys})"), "r.key");
    }
    if !needs.sessions.is_empty() || !needs.turns.is_empty() {
        let sessions = load.texts(needs.sessions.iter().map(SessionId::as_str))?;
        let turns = load.texts(needs.turns.iter().map(TurnId::as_str))?;
        let from = format!(
            "WHERE r.pk = ANY(ARRAY(SELECT pk FROM @sessions WHERE id = ANY({sessions}) UNION \
             SELECT session FROM @turns WHERE id = ANY({turns})))"
        );
        load.lock::<Session>(SESSION, &from, "r.pk");
    }
    load.by_id::<Turn>(TURN, needs.turns.iter().map(TurnId::as_str))?;
    load.by_id::<Step>(STEP, needs.steps.iter().map(StepId::as_str))?;
    load.by_id::<Episode>(EPISODE, needs.episodes.iter().map(EpisodeId::as_str))?;
    load.by_id::<Note>(NOTE, needs.notes.iter().map(NoteId::as_str))?;
    if !needs.states.is_empty() {
        let workspaces = load.texts(needs.states.iter().map(|key| key.workspace.as_str()))?;
        let keys = load.texts(needs.states.iter().map(|key| key.key.as_str()))?;
        let from = format!(
            "JOIN @workspaces w ON w.pk = r.workspace \
             JOIN unnest({workspaces}::text[], {keys}::text[]) AS v(workspace, key) \
             ON w.name = v.workspace AND r.key = v.key"
        );
        load.lock::<StateSlot>(STATE, &from, "r.pk");
    }
    load.by_id::<AuditRecord>(AUDIT, needs.audits.iter().map(AuditId::as_str))?;
    if !needs.audit_heads.is_empty() {
        let names = load.texts(needs.audit_heads.iter().map(Workspace::as_str))?;
        let from =
            format!("WHERE r.workspace IN (SELECT pk FROM @workspaces WHERE name = ANY({names}))");
        load.lock::<AuditHead>(HEAD, &from, "r.workspace");
    }
    load.slots(
        TURN_SLOT,
        "turns",
        needs.turn_slots.iter().map(|(id, index)| (id.as_str(), *index)),
    )?;
    load.slots(
        STEP_SLOT,
        "steps",
        needs.step_slots.iter().map(|(id, index)| (id.as_str(), *index)),
    )?;
    let version = Shape::bare(VERSION, "r.version", "NULL::text");
    load.parts.push(format!("SELECT {version} FROM @memkeep r"));

    let rows = transaction.rows(load.finish()).await?;
    sorted(needs, &rows)
}

/// The rows, each where it belongs.
fn sorted(needs: &Needs, rows: &[PgRow]) -> Attempt<Known> {
    let turn_slots: Vec<_> = needs.turn_slots.iter().collect();
    let step_slots: Vec<_> = needs.step_slots.iter().collect();
    let mut loaded = Loaded::default();
    let mut receipts = HashMap::new();
    let mut version = None;
    for row in rows {
        let part = usize::try_from(cells::part(row)?).unwrap_or(usize::MAX);
        match part {
            RECEIPT => {
                let receipt = decode::<StoredReceipt>(row)?;
                receipts.insert(receipt.key.clone(), receipt);
            }
            SESSION => {
                let session = stored::<Session>(row)?;
                loaded.sessions.insert(session.record.id.clone(), session);
            }
            TURN => {
                let turn = stored::<Turn>(row)?;
                loaded.turns.insert(turn.record.id.clone(), turn);
            }
            STEP => {
                let step = decode::<Step>(row)?;
                loaded.steps.insert(step.id.clone(), step);
            }
            EPISODE => {
                let episode = stored::<Episode>(row)?;
                loaded.episodes.insert(episode.record.id.clone(), episode);
            }
            NOTE => {
                let note = decode::<Note>(row)?;
                loaded.notes.insert(note.id.clone(), note);
            }
            STATE => {
                let slot = decode::<StateSlot>(row)?;
                loaded.states.insert(slot.state_key(), slot);
            }
            AUDIT => {
                let record = decode::<AuditRecord>(row)?;
                loaded.audits.insert(record.id.clone(), record);
            }
            HEAD => {
                let head = decode::<AuditHead>(row)?;
                loaded.audit_heads.insert(head.workspace.clone(), head);
            }
            TURN_SLOT => {
                let (n, cells) = slot_of(row, "turns")?;
                if let Some(slot) = turn_slots.get(n) {
                    loaded.turn_slots.insert((*slot).clone(), cells.id()?);
                }
            }
            STEP_SLOT => {
                let (n, cells) = slot_of(row, "steps")?;
                if let Some(slot) = step_slots.get(n) {
                    loaded.step_slots.insert((*slot).clone(), cells.id()?);
                }
            }
            _ => version = Some(Cells::new(row, "memkeep").number(0)?),
        }
    }
    schema::still(version)?;
    // A turn may have been given to another session while its own was waited for.
    let is_known = |turn: &Turn| loaded.sessions.contains_key(&turn.session);
    if !loaded.turns.values().all(|turn| is_known(&turn.record)) {
        return Err(Trouble::Met);
    }
    Ok(Known { rows: loaded, receipts })
}

/// Which slot a row is of.
fn slot_of<'r>(row: &'r PgRow, table: &'static str) -> Attempt<(usize, Cells<'r>)> {
    let cells = Cells::new(row, table);
    // Ordinals count from 1.
    let n = usize::try_from(cells.number(0)? - 1)
        .map_err(|_| Error::new(ErrorKind::Unexpected, "the server counts from below"))?;
    Ok((n, cells))
}

/// The names of what a batch needs and what is not there.
#[derive(PartialEq, Eq)]
pub(super) struct Absent<'n>(HashSet<Name<'n>>);

/// A kind of record, the workspace if that is a part of the name, and the id or key.
type Name<'n> = (usize, &'n str, &'n str);

impl<'n> Absent<'n> {
    pub(super) fn of(needs: &'n Needs, loaded: &Loaded) -> Self {
        fn missing<'n, K: std::hash::Hash + Eq + 'n, V>(
            kind: usize,
            needed: impl IntoIterator<Item = &'n K>,
            there: &HashMap<K, V>,
            name: impl Fn(&'n K) -> &'n str,
        ) -> impl Iterator<Item = Name<'n>> {
            let missing = needed.into_iter().filter(|id| !there.contains_key(id));
            missing.map(move |id| (kind, "", name(id)))
        }
        let mut names = HashSet::new();
        names.extend(missing(SESSION, &needs.sessions, &loaded.sessions, SessionId::as_str));
        names.extend(missing(TURN, &needs.turns, &loaded.turns, TurnId::as_str));
        names.extend(missing(STEP, &needs.steps, &loaded.steps, StepId::as_str));
        names.extend(missing(EPISODE, &needs.episodes, &loaded.episodes, EpisodeId::as_str));
        names.extend(missing(NOTE, &needs.notes, &loaded.notes, NoteId::as_str));
        names.extend(missing(AUDIT, &needs.audits, &loaded.audits, AuditId::as_str));
        let states = needs.states.iter().filter(|key| !loaded.states.contains_key(key));
        names.extend(states.map(|key| (STATE, key.workspace.as_str(), key.key.as_str())));
        Self(names)
    }

    /// Whether anything is missing that the changes do not put: what they put is put against an index
    /// in which nothing is there twice.
    pub(super) fn matters(&self, changes: &[Change]) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let put = changes.iter().filter_map(|change| match change {
            Change::PutSession(put) => Some((SESSION, "", put.row.record.id.as_str())),
            Change::PutTurn(put) => Some((TURN, "", put.row.record.id.as_str())),
            Change::PutStep(step) => Some((STEP, "", step.id.as_str())),
            Change::PutEpisode(put) => Some((EPISODE, "", put.row.record.id.as_str())),
            Change::PutNote(note) => Some((NOTE, "", note.id.as_str())),
            Change::PutAudit(record) => Some((AUDIT, "", record.id.as_str())),
            Change::PutState(put) => {
                Some((STATE, put.row.workspace.as_str(), put.row.key.as_str()))
            }
            _ => None,
        });
        let put: HashSet<Name<'_>> = put.collect();
        !self.0.is_subset(&put)
    }
}

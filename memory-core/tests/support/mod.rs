//! A store of plain maps that knows no rules: it loads rows, lets `decide` decide, and applies the
//! changes. It has only the methods that a backend must write, so the provided ones are tested too.
//! Some tests use only a part of it.
#![allow(dead_code, unreachable_pub)]

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use indexmap::IndexMap;
use memkeep_core::{
    decide::{Change, Loaded, Needs, Stored, decide},
    recall::Language,
    *,
};

#[derive(Default, Clone, PartialEq, Debug)]
pub struct Tables {
    pub sessions: IndexMap<SessionId, Stored<Session>>,
    pub turns: IndexMap<TurnId, Stored<Turn>>,
    pub steps: IndexMap<StepId, Step>,
    pub episodes: IndexMap<EpisodeId, Stored<Episode>>,
    pub notes: IndexMap<NoteId, Note>,
    pub states: IndexMap<StateKey, StateSlot>,
    pub audits: IndexMap<AuditId, AuditRecord>,
    pub receipts: IndexMap<String, StoredReceipt>,
    /// When each record was inserted, counted from 0.
    numbers: IndexMap<(RecordKind, Workspace, String), u64>,
}

fn name(record: &Record) -> (RecordKind, Workspace, String) {
    (record.kind(), record.workspace().clone(), record.id().to_owned())
}

pub struct PlainStore {
    pub clock: Arc<ManualClock>,
    pub tables: Mutex<Tables>,
    pub language: Language,
}

/// 2026-01-01T00:00:00Z.
pub const START: i64 = 1_767_225_600_000_000;

impl Default for PlainStore {
    fn default() -> Self {
        let start = Timestamp::from_micros(START).unwrap();
        let clock = Arc::new(ManualClock::new(start));
        Self { clock, tables: Mutex::default(), language: Language::default() }
    }
}

impl PlainStore {
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap()
    }

    /// Commits, blocking: nothing here waits.
    pub fn apply(&self, batch: impl Into<Batch>) -> Result<Receipt> {
        let prepared = batch.into().prepare()?;
        let mut tables = self.tables();
        let loaded = tables.load(&prepared.needs());
        let decision = decide(&prepared, loaded, self.clock.now())?;
        for change in decision.changes {
            tables.change(change);
        }
        Ok(decision.receipt)
    }

    /// Commits one op that must succeed.
    pub fn done(&self, op: impl Into<Op>) -> Outcome {
        self.apply(Batch::new().with(op)).unwrap().into_first().unwrap()
    }
}

fn pick<K: std::hash::Hash + Eq + Clone, V: Clone>(
    keys: impl IntoIterator<Item = K>,
    rows: &IndexMap<K, V>,
) -> std::collections::HashMap<K, V> {
    let row = |key: K| rows.get(&key).cloned().map(|row| (key, row));
    keys.into_iter().filter_map(row).collect()
}

impl Tables {
    fn load(&self, needs: &Needs) -> Loaded {
        let turns = pick(needs.turns.clone(), &self.turns);
        let of_turns = turns.values().map(|t| t.record.session.clone());
        let sessions = needs.sessions.iter().cloned().chain(of_turns);
        let mut loaded = Loaded {
            receipt: needs.receipt.as_ref().and_then(|key| self.receipts.get(key).cloned()),
            sessions: pick(sessions, &self.sessions),
            steps: pick(needs.steps.clone(), &self.steps),
            episodes: pick(needs.episodes.clone(), &self.episodes),
            notes: pick(needs.notes.clone(), &self.notes),
            states: pick(needs.states.clone(), &self.states),
            audits: pick(needs.audits.clone(), &self.audits),
            turns,
            ..Loaded::default()
        };
        for workspace in &needs.audit_heads {
            let last = self.audits.values().rfind(|a| a.workspace == *workspace);
            loaded.audit_heads.extend(last.map(|a| (workspace.clone(), a.head())));
        }
        for slot in &needs.turn_slots {
            let is = |t: &&Stored<Turn>| t.record.session == slot.0 && t.record.index == slot.1;
            let turn = self.turns.values().find(is);
            loaded.turn_slots.extend(turn.map(|t| (slot.clone(), t.record.id.clone())));
        }
        for slot in &needs.step_slots {
            let step = self.steps.values().find(|s| s.session == slot.0 && s.index == slot.1);
            loaded.step_slots.extend(step.map(|s| (slot.clone(), s.id.clone())));
        }
        for workspace in &needs.workspaces {
            loaded.workspaces.insert(workspace.clone(), self.counts(workspace));
        }
        loaded
    }

    pub fn counts(&self, workspace: &Workspace) -> Counts {
        let of = |kind| {
            let records = self.records(kind);
            records.iter().filter(|r| r.workspace() == workspace).count() as u64
        };
        let valued =
            self.states.values().filter(|s| s.workspace == *workspace && s.value.is_some());
        Counts {
            sessions: of(RecordKind::Session),
            turns: of(RecordKind::Turn),
            steps: of(RecordKind::Step),
            episodes: of(RecordKind::Episode),
            notes: of(RecordKind::Note),
            states: valued.count() as u64,
            audits: of(RecordKind::Audit),
        }
    }

    pub fn records(&self, kind: RecordKind) -> Vec<Record> {
        match kind {
            RecordKind::Session => {
                self.sessions.values().map(|s| Record::Session(s.record.clone())).collect()
            }
            RecordKind::Turn => {
                self.turns.values().map(|t| Record::Turn(t.record.clone())).collect()
            }
            RecordKind::Step => self.steps.values().cloned().map(Record::Step).collect(),
            RecordKind::Episode => {
                self.episodes.values().map(|e| Record::Episode(e.record.clone())).collect()
            }
            RecordKind::Note => self.notes.values().cloned().map(Record::Note).collect(),
            RecordKind::State => self.states.values().cloned().map(Record::State).collect(),
            RecordKind::Audit => self.audits.values().cloned().map(Record::Audit).collect(),
        }
    }

    fn change(&mut self, change: Change) {
        let inserted = match &change {
            Change::PutSession(p) if p.new => Some(Record::Session(p.row.record.clone())),
            Change::PutTurn(p) if p.new => Some(Record::Turn(p.row.record.clone())),
            Change::PutStep(row) => Some(Record::Step(row.clone())),
            Change::PutEpisode(p) if p.new => Some(Record::Episode(p.row.record.clone())),
            Change::PutNote(row) => Some(Record::Note(row.clone())),
            Change::PutState(p) if p.new => Some(Record::State(p.row.clone())),
            Change::PutAudit(row) => Some(Record::Audit(row.clone())),
            _ => None,
        };
        if let Some(record) = inserted {
            let number = self.numbers.values().last().map_or(0, |last| last + 1);
            self.numbers.shift_remove(&name(&record));
            self.numbers.insert(name(&record), number);
        }
        self.store(change);
    }

    fn store(&mut self, change: Change) {
        /// Every change names what is there, or is new, as it says.
        fn put<K: std::hash::Hash + Eq, V>(rows: &mut IndexMap<K, V>, key: K, row: V, new: bool) {
            assert_eq!(rows.insert(key, row).is_none(), new);
        }
        match change {
            Change::DeleteWorkspace(w) => {
                self.sessions.retain(|_, r| r.record.workspace != w);
                self.turns.retain(|_, r| r.record.workspace != w);
                self.steps.retain(|_, r| r.workspace != w);
                self.episodes.retain(|_, r| r.record.workspace != w);
                self.notes.retain(|_, r| r.workspace != w);
                self.states.retain(|_, r| r.workspace != w);
                self.audits.retain(|_, r| r.workspace != w);
            }
            Change::DeleteSession(id) => {
                assert!(self.sessions.shift_remove(&id).is_some());
                self.turns.retain(|_, t| t.record.session != id);
                self.steps.retain(|_, s| s.session != id);
            }
            Change::DeleteTurn(id) => assert!(self.turns.shift_remove(&id).is_some()),
            Change::DeleteEpisode(id) => assert!(self.episodes.shift_remove(&id).is_some()),
            Change::DeleteNote(id) => assert!(self.notes.shift_remove(&id).is_some()),
            Change::DeleteReceipts(before) => self.receipts.retain(|_, r| r.at >= before),
            Change::PutSession(p) => {
                put(&mut self.sessions, p.row.record.id.clone(), p.row, p.new);
            }
            Change::PutTurn(p) => put(&mut self.turns, p.row.record.id.clone(), p.row, p.new),
            Change::PutStep(row) => put(&mut self.steps, row.id.clone(), row, true),
            Change::PutEpisode(p) => {
                put(&mut self.episodes, p.row.record.id.clone(), p.row, p.new);
            }
            Change::PutNote(row) => put(&mut self.notes, row.id.clone(), row, true),
            Change::PutState(p) => put(&mut self.states, p.row.state_key(), p.row, p.new),
            Change::PutAudit(row) => put(&mut self.audits, row.id.clone(), row, true),
            Change::PutReceipt(row) => {
                self.receipts.insert(row.key.clone(), row);
            }
        }
    }
}

fn seen<T: Clone>(scope: &Scope, workspace: &Workspace, record: &T) -> Option<T> {
    scope.includes(workspace).then(|| record.clone())
}

fn by_time<T>(rows: &[T], time: impl Fn(&T) -> Timestamp) -> impl Iterator<Item = (&T, Position)> {
    rows.iter().enumerate().map(move |(n, row)| (row, Position::Time(time(row), n as u64)))
}

#[async_trait]
impl Backend for PlainStore {
    fn info(&self) -> BackendInfo {
        BackendInfo::new("plain", Durability::Volatile, Sharing::Handle).language(self.language)
    }

    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.apply(batch)
    }

    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        let tables = self.tables();
        let mut records = tables.records(scan.kind);
        records.retain(|record| scan.scope.includes(record.workspace()));
        let number = |record| Position::Insertion(tables.numbers[&name(record)]);
        let rows = records.iter().map(|record| (record, number(record)));
        Ok(scan.window()?.sorted(rows, false))
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl EpisodicBackend for PlainStore {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        let tables = self.tables();
        let row = tables.episodes.get(id);
        Ok(row.and_then(|e| seen(scope, &e.record.workspace, &e.record)))
    }

    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        let tables = self.tables();
        let mut rows: Vec<_> = tables.episodes.values().map(|e| e.record.clone()).collect();
        rows.retain(|e| list.scope.includes(&e.workspace));
        rows.retain(|e| list.open.is_none_or(|open| open == e.open));
        Ok(list.window()?.sorted(by_time(&rows, |e| e.created_at), false))
    }
}

impl PlainStore {
    fn must_see(&self, scope: &Scope, id: &SessionId) -> Result<()> {
        let tables = self.tables();
        let there = tables.sessions.get(id).filter(|s| scope.includes(&s.record.workspace));
        there.map(|_| ()).ok_or_else(|| Error::not_found("session", id))
    }
}

#[async_trait]
impl SessionStore for PlainStore {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        let tables = self.tables();
        let row = tables.sessions.get(id);
        Ok(row.and_then(|s| seen(scope, &s.record.workspace, &s.record)))
    }

    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        let tables = self.tables();
        let mut rows: Vec<_> = tables.sessions.values().map(|s| s.record.clone()).collect();
        rows.retain(|s| list.scope.includes(&s.workspace));
        let time = |s: &Session| match list.order {
            SessionOrder::Started => s.started_at,
            SessionOrder::Active => s.last_active,
        };
        Ok(list.window()?.sorted(by_time(&rows, time), true))
    }

    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        let tables = self.tables();
        let row = tables.turns.get(id);
        Ok(row.and_then(|t| seen(scope, &t.record.workspace, &t.record)))
    }

    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        self.must_see(&list.scope, &list.session)?;
        let tables = self.tables();
        let rows = tables.turns.values().map(|t| &t.record).filter(|t| t.session == list.session);
        let rows = rows.map(|t| (t, Position::Index(t.index)));
        Ok(list.window()?.sorted(rows, list.newest_first))
    }

    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        let tables = self.tables();
        Ok(tables.steps.get(id).and_then(|s| seen(scope, &s.workspace, s)))
    }

    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        self.must_see(&list.scope, &list.session)?;
        let tables = self.tables();
        let rows = tables.steps.values().filter(|s| s.session == list.session);
        Ok(list.window()?.sorted(rows.map(|s| (s, Position::Index(s.index))), false))
    }
}

#[async_trait]
impl ReflectiveStore for PlainStore {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        let tables = self.tables();
        Ok(tables.notes.get(id).and_then(|n| seen(scope, &n.workspace, n)))
    }

    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        let mut rows: Vec<_> = self.tables().notes.values().cloned().collect();
        rows.retain(|n| list.scope.includes(&n.workspace));
        Ok(list.window()?.sorted(by_time(&rows, |n| n.created_at), false))
    }

    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        let key = StateKey { workspace: workspace.clone(), key: key.to_owned() };
        let slot = self.tables().states.get(&key).cloned();
        Ok(slot.and_then(|slot| slot.live(self.clock.now())))
    }

    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        let now = self.clock.now();
        let slots: Vec<_> = self.tables().states.values().cloned().collect();
        let mut rows: Vec<_> = slots.into_iter().filter_map(|slot| slot.live(now)).collect();
        rows.retain(|s| list.scope.includes(&s.workspace) && s.key.starts_with(&list.prefix));
        let place = |s: &StateEntry| {
            Position::Key(s.workspace.as_str().to_owned(), s.key.clone().into_bytes())
        };
        Ok(list.window()?.sorted(rows.iter().map(|s| (s, place(s))), false))
    }

    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        let mut rows: Vec<_> = self.tables().audits.values().cloned().collect();
        rows.retain(|a| list.scope.includes(&a.workspace));
        let place = |a: &AuditRecord| match list.scope {
            Scope::Workspace(_) => Position::Index(a.seq),
            Scope::All => {
                Position::Key(a.workspace.as_str().to_owned(), a.seq.to_be_bytes().to_vec())
            }
        };
        Ok(list.window()?.sorted(rows.iter().map(|a| (a, place(a))), false))
    }

    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        let tables = self.tables();
        let last = tables.audits.values().rfind(|a| a.workspace == *workspace);
        Ok(last.map_or_else(|| AuditHead::empty(workspace.clone()), AuditRecord::head))
    }
}

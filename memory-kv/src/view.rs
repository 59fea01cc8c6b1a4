use std::sync::Arc;

use memkeep_core::{
    AuditHead, AuditRecord, Episode, EpisodeId, Error, ListAudit, ListEpisodes, ListNotes,
    ListSessions, ListStates, ListSteps, ListTurns, Note, NoteId, Page, Position, Record,
    RecordKind, Result, Scan, Scope, Session, SessionId, SessionOrder, StateEntry, StateSlot, Step,
    StepId, Timestamp, Turn, TurnId, Window, Workspace, WorkspaceCounts, decide::Stored,
    embedded::View, first_prompt, recall::index::Blobs, verify::Problem,
};

use crate::{
    OrderedEngine, Snapshot,
    blobs::IndexBlobs,
    check,
    key::{self, Key, Keys, Table},
    records::{Records, counted_workspace, read_counts},
    rows::{Row, by_kind, place},
};

/// A [`View`] over a snapshot or a transaction.
pub(crate) struct KvView<E, S> {
    pub(crate) engine: Arc<E>,
    pub(crate) keys: S,
}

/// The keys under `prefix`, or those of them that come after a place, which `at` appends to it.
fn rest<P>(prefix: Key, after: Option<P>, at: impl FnOnce(Key, P) -> Key) -> Keys {
    let keys = prefix.clone().all();
    match after {
        Some(after) => keys.after(at(prefix, after).into_bytes()),
        None => keys,
    }
}

impl<E, S: Snapshot> KvView<E, S> {
    fn with_first_prompt(&self, mut session: Session) -> Result<Session> {
        let prompts =
            Key::of(Table::UserTurn).kind(RecordKind::Turn).text(session.id.as_str()).all();
        if let Some((key, value)) = self.keys.end_of(&prompts, false)? {
            let (_, turn) = self.keys.row_at::<Stored<Turn>>(&key, &value)?;
            session.first_prompt = Some(first_prompt(&turn.record.content).to_owned());
        }
        Ok(session)
    }

    /// A page of a listing by time: what `pick` makes of the records, with the times that they are
    /// sorted by; `at` appends such a time to a key.
    fn by_time<T: Row, R>(
        &self,
        prefix: Key,
        at: fn(Key, Timestamp) -> Key,
        window: &Window,
        pick: impl Fn(T) -> Option<(R, Timestamp)>,
    ) -> Result<Page<R>> {
        let keys = rest(prefix, window.time(), |key, (time, number)| at(key, time).number(number));
        self.keys.page(keys, false, window, |key, value| {
            let (number, row) = self.keys.row_at::<T>(key, value)?;
            Ok(pick(row).map(|(record, time)| (record, Position::Time(time, number))))
        })
    }

    /// A page of the records of a session at their indexes.
    fn places<T: Row>(
        &self,
        scope: &Scope,
        session: &SessionId,
        reverse: bool,
        window: &Window,
        index: impl Fn(&T) -> u64,
    ) -> Result<Page<T>> {
        if self.keys.row_in::<Stored<Session>>(scope, session.as_str())?.is_none() {
            return Err(Error::not_found("session", session));
        }
        let mut keys = Key::of(Table::Place).kind(T::KIND).text(session.as_str()).all();
        if let Some(after) = window.index() {
            let at = place(Table::Place, T::KIND, session.as_str(), after);
            keys = if reverse { keys.before(at) } else { keys.after(at) };
        }
        self.keys.page(keys, reverse, window, |key, value| {
            let (_, row) = self.keys.row_at::<T>(key, value)?;
            let position = Position::Index(index(&row));
            Ok(Some((row, position)))
        })
    }
}

impl<E: OrderedEngine, S: Snapshot> View for KvView<E, S> {
    fn each(
        &mut self,
        kind: RecordKind,
        scope: &Scope,
        f: &mut dyn FnMut(Result<Record>) -> Result<()>,
    ) -> Result<()> {
        let f = |_, record| f(record).map(|()| true);
        by_kind!(kind, Kept => self.keys.each_row::<Kept>(scope, None, f))
    }

    fn newest_turns(
        &mut self,
        scope: &Scope,
        _: &dyn Fn(&str, &str) -> bool,
        f: &mut dyn FnMut(Turn) -> Result<bool>,
    ) -> Result<()> {
        let keys = Key::of(Table::Time).kind(RecordKind::Turn).scope(scope).all();
        self.keys.walk(keys, false, |key, value| {
            f(self.keys.row_at::<Stored<Turn>>(key, value)?.1.record)
        })
    }

    fn index(&self, kind: RecordKind) -> Option<Box<dyn Blobs + '_>> {
        Some(Box::new(IndexBlobs { keys: &self.keys, kind }))
    }

    fn number(&self, kind: RecordKind, id: &str) -> Result<Option<u64>> {
        let key = key::id(kind, id);
        let value = self.keys.get(&key)?;
        value.map(|value| Ok(key::target(&key, &value)?.1)).transpose()
    }

    fn numbered(&self, kind: RecordKind, number: u64) -> Result<Option<Record>> {
        let value = self.keys.get(&key::record(kind, number))?;
        by_kind!(kind, Kept => {
            value.map(|value| Ok(Kept::open(number, &value, number)?.into_record())).transpose()
        })
    }

    fn last_number(&self, kind: RecordKind) -> Result<u64> {
        by_kind!(kind, Kept => self.keys.last_number::<Kept>())
    }

    fn scan(&mut self, scan: &Scan) -> Result<Page<Record>> {
        let window = scan.window()?;
        let mut rows = Vec::new();
        if scan.limit > 0 {
            let f = |number, record: Result<Record>| {
                rows.push((record?, Position::Insertion(number)));
                Ok(rows.len() <= scan.limit)
            };
            by_kind!(scan.kind, Kept => self.keys.each_row::<Kept>(&scan.scope, window.insertion(), f))?;
        }
        Ok(window.cut(rows))
    }

    fn workspaces(&mut self) -> Result<Vec<WorkspaceCounts>> {
        let mut rows = Vec::new();
        self.keys.walk(Key::of(Table::Count).all(), false, |key, value| {
            let counts = read_counts(key, value)?;
            rows.push(WorkspaceCounts { workspace: counted_workspace(key)?, counts });
            Ok(true)
        })?;
        Ok(rows)
    }

    fn bytes(&mut self) -> Result<Option<u64>> {
        self.engine.bytes()
    }

    fn integrity(&mut self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        check::compare(&self.keys, &mut |difference| {
            problems.push(difference.problem);
            Ok(())
        })?;
        Ok(problems)
    }

    fn episode(&mut self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        let row = self.keys.row_in::<Stored<Episode>>(scope, id.as_str())?;
        Ok(row.map(|row| row.record))
    }

    fn episodes(&mut self, list: &ListEpisodes) -> Result<Page<Episode>> {
        let ListEpisodes { scope, open, .. } = list;
        let prefix = Key::of(Table::Time).kind(RecordKind::Episode).scope(scope);
        let pick = |row: Stored<Episode>| {
            let (time, episode) = (row.record.created_at, row.record);
            open.is_none_or(|open| open == episode.open).then_some((episode, time))
        };
        self.by_time(prefix, Key::time, &list.window()?, pick)
    }

    fn session(&mut self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        let row = self.keys.row_in::<Stored<Session>>(scope, id.as_str())?;
        row.map(|row| self.with_first_prompt(row.record)).transpose()
    }

    fn sessions(&mut self, list: &ListSessions) -> Result<Page<Session>> {
        let ListSessions { scope, order, .. } = list;
        let table = match order {
            SessionOrder::Started => Table::Time,
            SessionOrder::Active => Table::Active,
        };
        let prefix = Key::of(table).kind(RecordKind::Session).scope(scope);
        let pick = |row: Stored<Session>| {
            let time = match order {
                SessionOrder::Started => row.record.started_at,
                SessionOrder::Active => row.record.last_active,
            };
            Some((row.record, time))
        };
        let mut page = self.by_time(prefix, Key::newest, &list.window()?, pick)?;
        let sessions = page.items.into_iter().map(|session| self.with_first_prompt(session));
        page.items = sessions.collect::<Result<_>>()?;
        Ok(page)
    }

    fn turn(&mut self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        let row = self.keys.row_in::<Stored<Turn>>(scope, id.as_str())?;
        Ok(row.map(|row| row.record))
    }

    fn turns(&mut self, list: &ListTurns) -> Result<Page<Turn>> {
        let ListTurns { session, scope, newest_first, .. } = list;
        let index = |row: &Stored<Turn>| row.record.index;
        let page = self.places(scope, session, *newest_first, &list.window()?, index)?;
        Ok(page.map(|row| row.record))
    }

    fn step(&mut self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        self.keys.row_in(scope, id.as_str())
    }

    fn steps(&mut self, list: &ListSteps) -> Result<Page<Step>> {
        let index = |step: &Step| step.index;
        self.places(&list.scope, &list.session, false, &list.window()?, index)
    }

    fn note(&mut self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        self.keys.row_in(scope, id.as_str())
    }

    fn notes(&mut self, list: &ListNotes) -> Result<Page<Note>> {
        let prefix = Key::of(Table::Time).kind(RecordKind::Note).scope(&list.scope);
        self.by_time(prefix, Key::time, &list.window()?, |note: Note| {
            let time = note.created_at;
            Some((note, time))
        })
    }

    fn state(&mut self, workspace: &Workspace, key: &str) -> Result<Option<StateSlot>> {
        let id_key = key::state(workspace.as_str(), key);
        Ok(self.keys.row_of::<StateSlot>(&id_key, key)?.map(|(_, slot)| slot))
    }

    fn states(&mut self, list: &ListStates, now: Timestamp) -> Result<Page<StateEntry>> {
        let window = list.window()?;
        let table = Key::of(Table::Id).kind(RecordKind::State);
        let mut keys = match &list.scope {
            Scope::All => table.clone().all(),
            Scope::Workspace(w) => table.clone().text(w.as_str()).bytes(&list.prefix).all(),
        };
        if let Some((workspace, key)) = window.state() {
            keys = keys.after(table.text(workspace).bytes(key).into_bytes());
        }
        self.keys.page(keys, false, &window, |key, value| {
            // Over all workspaces the prefix does not bound the range.
            let in_prefix = key
                .get(2..)
                .and_then(key::split_text)
                .is_none_or(|(_, key)| key.starts_with(list.prefix.as_bytes()));
            if !in_prefix {
                return Ok(None);
            }
            let (_, slot) = self.keys.row_at::<StateSlot>(key, value)?;
            Ok(slot.live(now).map(|entry| {
                let position = Position::Key(
                    entry.workspace.as_str().to_owned(),
                    entry.key.as_bytes().to_vec(),
                );
                (entry, position)
            }))
        })
    }

    fn audit_log(&mut self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        let window = list.window()?;
        let table = Key::of(Table::Place).kind(RecordKind::Audit);
        let keys = match &list.scope {
            Scope::Workspace(workspace) => {
                let prefix = table.text(workspace.as_str());
                rest(prefix, window.index(), Key::number)
            }
            Scope::All => {
                rest(table, window.audit(), |key, (workspace, seq)| key.text(workspace).number(seq))
            }
        };
        self.keys.page(keys, false, &window, |key, value| {
            let (_, record) = self.keys.row_at::<AuditRecord>(key, value)?;
            let position = match &list.scope {
                Scope::Workspace(_) => Position::Index(record.seq),
                Scope::All => Position::Key(
                    record.workspace.as_str().to_owned(),
                    record.seq.to_be_bytes().to_vec(),
                ),
            };
            Ok(Some((record, position)))
        })
    }

    fn audit_head(&mut self, workspace: &Workspace) -> Result<AuditHead> {
        let head = self.keys.head(workspace)?;
        Ok(head.unwrap_or_else(|| AuditHead::empty(workspace.clone())))
    }
}

//! Reads, over one connection.

mod integrity;
mod prompts;
mod select;
mod workspaces;

use std::sync::Arc;

use memkeep_core::{
    AuditHead, AuditRecord, Episode, EpisodeId, Error, ErrorKind, Hash, ListAudit, ListEpisodes,
    ListNotes, ListSessions, ListStates, ListSteps, ListTurns, Note, NoteId, Page, Position,
    Record, RecordKind, Result, Scan, Scope, Session, SessionId, SessionOrder, StateEntry,
    StateSlot, Step, StepId, Timestamp, Turn, TurnId, Window, Workspace, WorkspaceCounts,
    embedded::View, recall::index::Blobs, verify::Problem,
};
use rusqlite::{Connection, OptionalExtension, Params, params_from_iter, types::Value};

use self::{
    prompts::Prompts,
    select::{Direction, Rows, Select},
};
use crate::{
    blobs::IndexBlobs,
    connect::keep_log,
    error::failed,
    place::Place,
    rows::{Cells, IntoRecord, Prompted, Table},
    schema,
};

/// A connection, and what it sees.
pub(crate) struct SqliteView {
    connection: Connection,
    /// None in memory.
    place: Option<Arc<Place>>,
}

impl Drop for SqliteView {
    /// What closing would write or delete by the path may be another store's, if the files are not
    /// those that were opened.
    fn drop(&mut self) {
        if self.place.as_ref().is_some_and(|place| place.look().is_err()) {
            // Nobody is left to be told.
            let _ = keep_log(&self.connection, true);
        }
    }
}

impl SqliteView {
    pub(crate) fn new(connection: Connection, place: Option<Arc<Place>>) -> Self {
        Self { connection, place }
    }

    /// Begins a transaction with `sql`, if the files are those that were opened and hold the tables
    /// that this program knows.
    pub(crate) fn begin(&self, sql: &str) -> Result<()> {
        if let Some(place) = &self.place {
            place.look_at_file()?;
        }
        self.run(sql)?;
        let checked = self.check();
        if checked.is_err() {
            // If it cannot be taken back, the next one does not begin.
            let _ = self.rollback();
        }
        checked
    }

    fn check(&self) -> Result<()> {
        // Another process may have migrated the store, or emptied it, since it was opened.
        let version = self.value("PRAGMA user_version", ())?.unwrap_or_default();
        if let Some(place) = &self.place {
            place.holds(self.value("PRAGMA page_count", ())?.unwrap_or_default())?;
        }
        match schema::still(version) {
            Err(error) => Err(match &self.place {
                Some(place) => error.with("path", place.path().display()),
                None => error,
            }),
            same => same,
        }
    }

    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_deref()
    }

    /// Whether the files of the store are those that were opened.
    pub(crate) fn look(&self) -> Result<()> {
        self.place.as_ref().map_or(Ok(()), |place| place.look().map(drop))
    }

    /// Ends the transaction, if SQLite has not done that by itself, as it does after some errors.
    pub(crate) fn rollback(&self) -> Result<()> {
        if self.connection.is_autocommit() { Ok(()) } else { self.run("ROLLBACK") }
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Runs a statement without parameters and results.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.execute(sql, ()).map(drop)
    }

    /// Runs a statement without results; returns how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.connection.prepare_cached(sql).and_then(|mut s| s.execute(params)).map_err(failed)
    }

    /// The one row that `sql` finds, if there is one.
    pub(crate) fn find<T: Table, U>(
        &self,
        sql: &str,
        params: impl Params,
        decode: impl FnOnce(&Cells<'_>) -> Result<U>,
    ) -> Result<Option<U>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params).map_err(failed)?;
        let row = rows.next().map_err(failed)?;
        row.map(|row| decode(&Cells::new(&self.connection, row, T::TABLE))).transpose()
    }

    /// The value that `sql` finds, if there is one.
    pub(crate) fn value<T: rusqlite::types::FromSql>(
        &self,
        sql: &str,
        params: impl Params,
    ) -> Result<Option<T>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut s| s.query_row(params, |row| row.get(0)).optional())
            .map_err(failed)
    }

    fn by_id<T: Table>(
        &self,
        scope: &Scope,
        id: &str,
        workspace: impl Fn(&T) -> &Workspace,
    ) -> Result<Option<T>> {
        let found = self.find::<T, T>(T::BY_ID, [id], T::decode)?;
        Ok(found.filter(|row| scope.includes(workspace(row))))
    }

    /// The place of a record in the order of insertion.
    fn pk_of<T: Table>(&self, id: &str) -> Result<Option<u64>> {
        self.value(&format!("SELECT pk FROM {} WHERE id = ?1", T::TABLE), [id])
    }

    fn by_pk<T: IntoRecord>(&self, pk: u64) -> Result<Option<Record>> {
        let sql = format!("SELECT {} FROM {} WHERE pk = ?1", T::COLUMNS, T::TABLE);
        Ok(self.find::<T, T>(&sql, [pk], T::decode)?.map(T::into_record))
    }

    /// The last `pk` that was given: those of deleted rows are not given again.
    fn last_pk<T: Table>(&self) -> Result<u64> {
        let last = self.value("SELECT seq FROM sqlite_sequence WHERE name = ?1", [T::TABLE])?;
        Ok(last.unwrap_or_default())
    }

    fn scan_table<T: IntoRecord>(&self, scan: &Scan) -> Result<Page<Record>> {
        let select = Select::<T>::in_scope(&self.connection, &scan.scope);
        let page = select.by_insertion(&scan.window()?)?;
        Ok(page.map(T::into_record))
    }

    fn each_of_table<T: IntoRecord>(
        &self,
        scope: &Scope,
        f: &mut dyn FnMut(Result<Record>) -> Result<()>,
    ) -> Result<()> {
        let mut refused = false;
        let read = Select::<T>::in_scope(&self.connection, scope).each(&mut |cells| {
            let told = f(T::decode(cells).map(T::into_record));
            refused = told.is_err();
            told.map(|()| true)
        });
        match read {
            // Where a page of the file is damaged, what lies behind it cannot be reached.
            Err(error) if error.kind() == ErrorKind::Corrupt && !refused => {
                f(Err(error.with("table", T::TABLE)))
            }
            read => read,
        }
    }

    /// The `pk` of a session, which must be in scope.
    fn session_in_scope(&self, scope: &Scope, id: &SessionId) -> Result<i64> {
        let sql = "SELECT pk, id, workspace FROM sessions WHERE id = ?";
        let found = self.find::<Session, _>(sql, [id.as_str()], |cells| {
            Ok((cells.pk()?, Workspace::new(cells.get::<String>(2)?)))
        })?;
        match found {
            Some((pk, workspace)) if scope.includes(&workspace) => Ok(pk),
            _ => Err(Error::not_found("session", id)),
        }
    }

    /// A page of what belongs to a session, in order of position.
    fn of_session<T: Table>(
        &self,
        (scope, session): (&Scope, &SessionId),
        direction: Direction,
        window: &Window,
        index: impl Fn(&T) -> u64,
    ) -> Result<Page<T>> {
        let session = self.session_in_scope(scope, session)?;
        let mut page = Rows::new(window);
        Select::<T>::new(&self.connection).only("session = ?", session).fill_by_number(
            &mut page,
            "position",
            direction,
            window.index(),
            &|_, row| Position::Index(index(row)),
        )?;
        Ok(page.page())
    }
}

/// Calls a generic method with the type of a kind's records.
macro_rules! of_kind {
    ($kind:expr, $self:ident.$method:ident $args:tt) => {
        match $kind {
            RecordKind::Session => $self.$method::<Session> $args,
            RecordKind::Turn => $self.$method::<Turn> $args,
            RecordKind::Step => $self.$method::<Step> $args,
            RecordKind::Episode => $self.$method::<Episode> $args,
            RecordKind::Note => $self.$method::<Note> $args,
            RecordKind::State => $self.$method::<StateSlot> $args,
            RecordKind::Audit => $self.$method::<AuditRecord> $args,
        }
    };
}

impl View for SqliteView {
    fn each(
        &mut self,
        kind: RecordKind,
        scope: &Scope,
        f: &mut dyn FnMut(Result<Record>) -> Result<()>,
    ) -> Result<()> {
        of_kind!(kind, self.each_of_table(scope, f))
    }

    fn newest_turns(
        &mut self,
        scope: &Scope,
        wanted: &dyn Fn(&str, &str) -> bool,
        f: &mut dyn FnMut(Turn) -> Result<bool>,
    ) -> Result<()> {
        // Few turns are wanted: only of those the rest of the row, and the tags, are read.
        let sql = match scope {
            Scope::All => {
                "SELECT pk, role, content FROM turns WHERE created_at < ?1 \
                 ORDER BY created_at DESC, pk"
            }
            Scope::Workspace(_) => {
                "SELECT pk, role, content FROM turns WHERE created_at < ?1 AND workspace = ?2 \
                 ORDER BY created_at DESC, pk"
            }
        };
        let by_pk = format!("SELECT {} FROM turns WHERE pk = ?", Turn::COLUMNS);
        let workspace = scope.workspace().map(|workspace| workspace.as_str().to_owned());
        let values = [Value::Integer(i64::MAX)].into_iter().chain(workspace.map(Value::Text));
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            // What is no text is for the decoding of the whole row to tell.
            let text = |column| row.get_ref(column).ok()?.as_str().ok();
            if let (Some(role), Some(content)) = (text(1), text(2))
                && !wanted(role, content)
            {
                continue;
            }
            let pk: i64 = row.get(0).map_err(failed)?;
            if let Some(turn) = self.find::<Turn, _>(&by_pk, [pk], Turn::decode)?
                && !f(turn)?
            {
                break;
            }
        }
        Ok(())
    }

    fn index(&self, kind: RecordKind) -> Option<Box<dyn Blobs + '_>> {
        Some(Box::new(IndexBlobs::new(&self.connection, kind)))
    }

    fn number(&self, kind: RecordKind, id: &str) -> Result<Option<u64>> {
        of_kind!(kind, self.pk_of(id))
    }

    fn numbered(&self, kind: RecordKind, number: u64) -> Result<Option<Record>> {
        of_kind!(kind, self.by_pk(number))
    }

    fn last_number(&self, kind: RecordKind) -> Result<u64> {
        of_kind!(kind, self.last_pk())
    }

    fn scan(&mut self, scan: &Scan) -> Result<Page<Record>> {
        of_kind!(scan.kind, self.scan_table(scan))
    }

    fn workspaces(&mut self) -> Result<Vec<WorkspaceCounts>> {
        self.count_workspaces()
    }

    fn bytes(&mut self) -> Result<Option<u64>> {
        let Some(place) = &self.place else { return Ok(None) };
        let (file, log) = place.look()?;
        Ok(Some(file + log))
    }

    fn integrity(&mut self) -> Result<Vec<Problem>> {
        self.check_integrity()
    }

    fn episode(&mut self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        self.by_id(scope, id.as_str(), |episode: &Episode| &episode.workspace)
    }

    fn episodes(&mut self, list: &ListEpisodes) -> Result<Page<Episode>> {
        let mut select = Select::in_scope(&self.connection, &list.scope);
        if let Some(open) = list.open {
            select = select.only("open = ?", open);
        }
        select.by_time("created_at", Direction::Up, &list.window()?, |e: &Episode| e.created_at)
    }

    fn session(&mut self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        let found = self.by_id(scope, id.as_str(), |row: &Prompted| &row.session.workspace)?;
        found.map(|row| Prompts::new(&self.connection).complete(row)).transpose()
    }

    fn sessions(&mut self, list: &ListSessions) -> Result<Page<Session>> {
        type At = fn(&Prompted) -> Timestamp;
        let (column, at): (_, At) = match list.order {
            SessionOrder::Started => ("started_at", |row| row.session.started_at),
            SessionOrder::Active => ("last_active", |row| row.session.last_active),
        };
        let page = Select::in_scope(&self.connection, &list.scope).by_time(
            column,
            Direction::Down,
            &list.window()?,
            at,
        )?;
        let mut prompts = Prompts::new(&self.connection);
        let sessions = page.items.into_iter().map(|row| prompts.complete(row));
        Ok(Page { items: sessions.collect::<Result<_>>()?, next: page.next })
    }

    fn turn(&mut self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        self.by_id(scope, id.as_str(), |turn: &Turn| &turn.workspace)
    }

    fn turns(&mut self, list: &ListTurns) -> Result<Page<Turn>> {
        let direction = if list.newest_first { Direction::Down } else { Direction::Up };
        let of = (&list.scope, &list.session);
        self.of_session(of, direction, &list.window()?, |turn: &Turn| turn.index)
    }

    fn step(&mut self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        self.by_id(scope, id.as_str(), |step: &Step| &step.workspace)
    }

    fn steps(&mut self, list: &ListSteps) -> Result<Page<Step>> {
        let of = (&list.scope, &list.session);
        self.of_session(of, Direction::Up, &list.window()?, |step: &Step| step.index)
    }

    fn note(&mut self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        self.by_id(scope, id.as_str(), |note: &Note| &note.workspace)
    }

    fn notes(&mut self, list: &ListNotes) -> Result<Page<Note>> {
        Select::in_scope(&self.connection, &list.scope).by_time(
            "created_at",
            Direction::Up,
            &list.window()?,
            |note: &Note| note.created_at,
        )
    }

    fn state(&mut self, workspace: &Workspace, key: &str) -> Result<Option<StateSlot>> {
        let params = [workspace.as_str(), key];
        self.find::<StateSlot, _>(StateSlot::BY_ID, params, StateSlot::decode)
    }

    fn states(&mut self, list: &ListStates, now: Timestamp) -> Result<Page<StateEntry>> {
        self.live_states(list, now)
    }

    fn audit_log(&mut self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        self.audit_records(list)
    }

    fn audit_head(&mut self, workspace: &Workspace) -> Result<AuditHead> {
        let sql = "SELECT pk, id, seq, hash FROM audit WHERE workspace = ? \
                   ORDER BY seq DESC LIMIT 1";
        let head = self.find::<AuditRecord, _>(sql, [workspace.as_str()], |cells| {
            let (seq, hash) = (cells.get(2)?, Hash(cells.get(3)?));
            Ok(AuditHead { workspace: workspace.clone(), seq, hash })
        })?;
        Ok(head.unwrap_or_else(|| AuditHead::empty(workspace.clone())))
    }
}

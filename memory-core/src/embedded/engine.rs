use std::path::Path;

use crate::{
    AuditHead, AuditRecord, BackendInfo, Episode, EpisodeId, Error, ErrorKind, ListAudit,
    ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps, ListTurns, Note, NoteId, Page,
    Record, RecordKind, Result, Scan, Scope, Session, SessionId, StateEntry, StateSlot, Step,
    StepId, Timestamp, Turn, TurnId, Workspace, WorkspaceCounts,
    decide::{Change, Loaded, Needs},
    recall::index::{Blobs, BlobsMut},
    verify::Problem,
};

/// A storage engine with blocking calls.
pub trait Engine: Send + Sync + 'static {
    /// A connection that reads.
    type Reader: Reader;
    /// The one connection that writes.
    type Writer: Writer;

    /// What kind of store it is.
    fn info(&self) -> BackendInfo;

    /// How many callers may read at once; with 0 the writer reads too. Else there is one reader more, by
    /// which the recall indexes are worked out.
    fn readers(&self) -> usize;

    /// Opens a reader. Called on a thread of its own.
    fn reader(&self) -> Result<Self::Reader>;
}

/// A connection that reads.
pub trait Reader: Send + 'static {
    /// Calls `read` with a view of one consistent state of the store.
    fn snapshot(&mut self, read: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()>;
}

/// The one connection that writes. Calls come as `begin`, any number of `load` and `apply`, then
/// `commit` or `rollback`.
pub trait Writer: Send + 'static {
    /// Begins a transaction that keeps other writers out.
    fn begin(&mut self) -> Result<()>;

    /// Loads the rows that a batch needs, as this transaction sees them.
    fn load(&mut self, needs: &Needs) -> Result<Loaded>;

    /// Applies changes in order. The new records of a kind get consecutive numbers, after
    /// [`View::last_number`].
    fn apply(&mut self, changes: &[Change]) -> Result<()>;

    /// Commits, durably as declared.
    fn commit(&mut self) -> Result<()>;

    /// Takes everything since `begin` back. It has no error of its own: whatever went wrong, the
    /// next `begin` must find a clean connection or fail.
    fn rollback(&mut self);

    /// Reads what this connection sees.
    fn view(&mut self) -> &mut dyn View;

    /// The map for the recall index of a kind, in the open transaction; see [`View::index`].
    fn index(&mut self, kind: RecordKind) -> Option<Box<dyn BlobsMut + '_>> {
        let _ = kind;
        None
    }

    /// Rebuilds what the engine derives from records (secondary keys, …). Called in a transaction
    /// by `verify` with `repair`, when [`View::integrity`] found something.
    fn rebuild(&mut self) -> Result<()> {
        Ok(())
    }

    /// Looks at what can only be looked at while nobody writes. Called in a transaction that has
    /// written nothing, by `verify` with `repair`, which repairs nothing then but tells what is found,
    /// and by `compact`, which refuses.
    fn inspect(&mut self) -> Result<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// See [`Backend::compact`](crate::Backend::compact).
    fn compact(&mut self) -> Result<()> {
        Err(Error::new(ErrorKind::Unsupported, "this backend has no compact"))
    }

    /// See [`Backend::backup`](crate::Backend::backup).
    fn backup(&mut self, path: &Path) -> Result<()> {
        let _ = path;
        Err(Error::new(ErrorKind::Unsupported, "this backend has no backup"))
    }
}

/// Reads of one state of the store. They mean what the traits of the same names say; a row that
/// cannot be decoded is `Corrupt` with its table and row.
pub trait View {
    /// Calls `f` with every record of a kind in scope, in order of insertion; with the error of
    /// each that cannot be decoded. An error of `f` ends the reading and is returned.
    fn each(
        &mut self,
        kind: RecordKind,
        scope: &Scope,
        f: &mut dyn FnMut(Result<Record>) -> Result<()>,
    ) -> Result<()>;

    /// Calls `f` with turns in scope, newest first by `created_at`, ties by insertion, until it
    /// returns false. A turn whose role and content are not `wanted` may be passed over unread.
    fn newest_turns(
        &mut self,
        scope: &Scope,
        wanted: &dyn Fn(&str, &str) -> bool,
        f: &mut dyn FnMut(Turn) -> Result<bool>,
    ) -> Result<()>;

    /// The map that this engine keeps for the recall index of a kind: apart from all else, empty at
    /// first. An engine that has none is scanned; the other has [`number`](Self::number),
    /// [`numbered`](Self::numbered) and [`last_number`](Self::last_number), too.
    fn index(&self, kind: RecordKind) -> Option<Box<dyn Blobs + '_>> {
        let _ = kind;
        None
    }

    /// The number of a record in the order of insertion of its kind, from 1; never given twice.
    fn number(&self, kind: RecordKind, id: &str) -> Result<Option<u64>> {
        let _ = (kind, id);
        Ok(None)
    }

    /// The record of a number.
    fn numbered(&self, kind: RecordKind, number: u64) -> Result<Option<Record>> {
        let _ = (kind, number);
        Ok(None)
    }

    /// The last number that was given to a record of a kind, or 0.
    fn last_number(&self, kind: RecordKind) -> Result<u64> {
        let _ = kind;
        Ok(0)
    }

    /// See [`Backend::scan`](crate::Backend::scan).
    fn scan(&mut self, scan: &Scan) -> Result<Page<Record>>;
    /// See [`Backend::workspaces`](crate::Backend::workspaces).
    fn workspaces(&mut self) -> Result<Vec<WorkspaceCounts>>;
    /// What the store takes on its medium, if it has one.
    fn bytes(&mut self) -> Result<Option<u64>>;
    /// What is wrong with the engine's own structures: pages, secondary keys, orphans.
    fn integrity(&mut self) -> Result<Vec<Problem>>;

    /// See [`EpisodicBackend::episode`](crate::EpisodicBackend::episode).
    fn episode(&mut self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>>;
    /// See [`EpisodicBackend::episodes`](crate::EpisodicBackend::episodes).
    fn episodes(&mut self, list: &ListEpisodes) -> Result<Page<Episode>>;

    /// See [`SessionStore::session`](crate::SessionStore::session).
    fn session(&mut self, scope: &Scope, id: &SessionId) -> Result<Option<Session>>;
    /// See [`SessionStore::sessions`](crate::SessionStore::sessions).
    fn sessions(&mut self, list: &ListSessions) -> Result<Page<Session>>;
    /// See [`SessionStore::turn`](crate::SessionStore::turn).
    fn turn(&mut self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>>;
    /// See [`SessionStore::turns`](crate::SessionStore::turns).
    fn turns(&mut self, list: &ListTurns) -> Result<Page<Turn>>;
    /// See [`SessionStore::step`](crate::SessionStore::step).
    fn step(&mut self, scope: &Scope, id: &StepId) -> Result<Option<Step>>;
    /// See [`SessionStore::steps`](crate::SessionStore::steps).
    fn steps(&mut self, list: &ListSteps) -> Result<Page<Step>>;

    /// See [`ReflectiveStore::note`](crate::ReflectiveStore::note).
    fn note(&mut self, scope: &Scope, id: &NoteId) -> Result<Option<Note>>;
    /// See [`ReflectiveStore::notes`](crate::ReflectiveStore::notes).
    fn notes(&mut self, list: &ListNotes) -> Result<Page<Note>>;
    /// The slot under a key, live or not.
    fn state(&mut self, workspace: &Workspace, key: &str) -> Result<Option<StateSlot>>;
    /// See [`ReflectiveStore::states`](crate::ReflectiveStore::states); `now` tells what has expired.
    fn states(&mut self, list: &ListStates, now: Timestamp) -> Result<Page<StateEntry>>;
    /// See [`ReflectiveStore::audit_log`](crate::ReflectiveStore::audit_log).
    fn audit_log(&mut self, list: &ListAudit) -> Result<Page<AuditRecord>>;
    /// See [`ReflectiveStore::audit_head`](crate::ReflectiveStore::audit_head).
    fn audit_head(&mut self, workspace: &Workspace) -> Result<AuditHead>;
}

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use memkeep_core::{
    AuditHead, AuditRecord, Backend, BackendInfo, Batch, Clock, Durability, Episode, EpisodeId,
    EpisodicBackend, Error, ErrorKind, ListAudit, ListEpisodes, ListNotes, ListSessions,
    ListStates, ListSteps, ListTurns, Note, NoteId, Page, Position, Receipt, Record,
    ReflectiveStore, Result, Scan, Scope, Session, SessionId, SessionOrder, SessionStore, Sharing,
    StateEntry, StateSlot, Step, StepId, Turn, TurnId, Workspace,
};
use tokio::task::spawn_blocking;

use crate::{kind::Kind, shared::Shared, tables::Tables};

/// A memory in a log. It is used on a tokio runtime.
pub struct LogStore(Arc<Shared>);

/// Runs what waits for the disk on a thread that may wait. It runs to its end even if the caller
/// drops the future.
async fn blocking<T: Send + 'static>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let panicked = |e| Error::new(ErrorKind::Unexpected, "the call was cut short").caused_by(e);
    spawn_blocking(work).await.map_err(panicked)?.map_err(|e| e.during(operation))
}

impl LogStore {
    /// Opens the log in the file `path`, which is made with its folder if it is not there.
    ///
    /// Errors: `AlreadyOpen` while another handle or process has it; `SchemaTooNew`; `Corrupt` with
    /// the line that is not what was written, or for a file that is no log.
    pub async fn open(path: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Result<Self> {
        let path = path.into();
        let shared = blocking("open", move || Shared::open(&path, clock)).await?;
        Ok(Self(Arc::new(shared)))
    }

    fn read<T>(&self, read: impl FnOnce(&Tables) -> Result<T>) -> Result<T> {
        self.0.read(read)
    }
}

#[async_trait]
impl Backend for LogStore {
    fn info(&self) -> BackendInfo {
        BackendInfo::new("log", Durability::Power, Sharing::Handle)
    }

    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        let prepared = batch.prepare()?;
        let shared = self.0.clone();
        blocking("commit", move || shared.commit(&prepared)).await
    }

    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        self.read(|tables| tables.scan(scan))
    }

    async fn close(&self) -> Result<()> {
        let shared = self.0.clone();
        blocking("close", move || {
            shared.close();
            Ok(())
        })
        .await
    }

    async fn compact(&self) -> Result<()> {
        let shared = self.0.clone();
        blocking("compact", move || shared.compact()).await
    }
}

/// The record `id`, if it is there and in scope.
fn get<'t, T: Kind>(tables: &'t Tables, scope: &Scope, id: &str) -> Option<&'t T> {
    tables.get(id).filter(|record: &&T| scope.includes(record.workspace()))
}

#[async_trait]
impl EpisodicBackend for LogStore {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        self.read(|tables| Ok(get(tables, scope, id.as_str()).cloned()))
    }

    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        let window = list.window()?;
        self.read(|tables| {
            let rows = tables.seen::<Episode>(&list.scope);
            let rows = rows.filter(|(_, row)| list.open.is_none_or(|open| open == row.open));
            let rows = rows.map(|(number, row)| (row, Position::Time(row.created_at, number)));
            Ok(window.sorted(rows, false))
        })
    }
}

/// A listing of what belongs to a session, which must be in scope.
fn must_see(tables: &Tables, scope: &Scope, id: &SessionId) -> Result<()> {
    let session: Option<&Session> = get(tables, scope, id.as_str());
    session.map(|_| ()).ok_or_else(|| Error::not_found("session", id))
}

#[async_trait]
impl SessionStore for LogStore {
    async fn session(&self, scope: &Scope, id: &SessionId) -> Result<Option<Session>> {
        self.read(|tables| {
            let session = get(tables, scope, id.as_str());
            Ok(session.map(|session| tables.shown(session)))
        })
    }

    async fn sessions(&self, list: &ListSessions) -> Result<Page<Session>> {
        let window = list.window()?;
        self.read(|tables| {
            let rows = tables.seen(&list.scope).map(|(number, row): (_, &Session)| {
                let time = match list.order {
                    SessionOrder::Started => row.started_at,
                    SessionOrder::Active => row.last_active,
                };
                (row, Position::Time(time, number))
            });
            let page = window.sorted(rows, true);
            Ok(page.map(|session| tables.shown(&session)))
        })
    }

    async fn turn(&self, scope: &Scope, id: &TurnId) -> Result<Option<Turn>> {
        self.read(|tables| Ok(get(tables, scope, id.as_str()).cloned()))
    }

    async fn turns(&self, list: &ListTurns) -> Result<Page<Turn>> {
        let window = list.window()?;
        self.read(|tables| {
            must_see(tables, &list.scope, &list.session)?;
            let rows = tables.placed::<Turn>(list.session.as_str());
            let rows = rows.map(|(index, row)| (row, Position::Index(index)));
            Ok(window.sorted(rows, list.newest_first))
        })
    }

    async fn step(&self, scope: &Scope, id: &StepId) -> Result<Option<Step>> {
        self.read(|tables| Ok(get(tables, scope, id.as_str()).cloned()))
    }

    async fn steps(&self, list: &ListSteps) -> Result<Page<Step>> {
        let window = list.window()?;
        self.read(|tables| {
            must_see(tables, &list.scope, &list.session)?;
            let rows = tables.placed::<Step>(list.session.as_str());
            let rows = rows.map(|(index, row)| (row, Position::Index(index)));
            Ok(window.sorted(rows, false))
        })
    }
}

#[async_trait]
impl ReflectiveStore for LogStore {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        self.read(|tables| Ok(get(tables, scope, id.as_str()).cloned()))
    }

    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        let window = list.window()?;
        self.read(|tables| {
            let rows = tables.seen::<Note>(&list.scope);
            let rows = rows.map(|(number, row)| (row, Position::Time(row.created_at, number)));
            Ok(window.sorted(rows, false))
        })
    }

    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        let slot =
            self.read(|tables| Ok(tables.find::<StateSlot>(Some(workspace), key).cloned()))?;
        Ok(slot.and_then(|slot| slot.live(self.0.clock.now())))
    }

    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        let window = list.window()?;
        let now = self.0.clock.now();
        self.read(|tables| {
            let rows = tables.seen::<StateSlot>(&list.scope).map(|(_, slot)| slot);
            let rows = rows.filter(|slot| slot.is_live(now) && slot.key.starts_with(&list.prefix));
            let rows = rows.map(|slot| {
                let workspace = slot.workspace.as_str().to_owned();
                (slot, Position::Key(workspace, slot.key.clone().into_bytes()))
            });
            let page = window.sorted(rows, false);
            let entries = page.items.into_iter().filter_map(|slot| slot.live(now));
            Ok(Page { items: entries.collect(), next: page.next })
        })
    }

    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        let window = list.window()?;
        let of_one = list.scope.workspace().is_some();
        self.read(|tables| {
            let rows = tables.seen(&list.scope).map(|(_, record): (_, &AuditRecord)| {
                let workspace = record.workspace.as_str().to_owned();
                let position = if of_one {
                    Position::Index(record.seq)
                } else {
                    Position::Key(workspace, record.seq.to_be_bytes().to_vec())
                };
                (record, position)
            });
            Ok(window.sorted(rows, false))
        })
    }

    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        self.read(|tables| Ok(tables.audit_head(workspace)))
    }
}

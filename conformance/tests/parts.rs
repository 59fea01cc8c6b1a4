//! Backends with some parts of the contract only, tested as their authors would: one part, by the
//! macro of its name, and two, with the third declared as lacking.

use std::sync::Arc;

use async_trait::async_trait;
use memkeep_conformance::{Factory, Handle, Place};
use memkeep_core::*;
use memkeep_inmem::InmemConfig;

/// The in-memory backend, less of it; with the required methods alone, so that all others are as the
/// traits provide them.
struct Some {
    store: Arc<dyn MemoryBackend>,
    kinds: &'static [RecordKind],
}

impl Some {
    async fn open(clock: Arc<dyn Clock>, kinds: &'static [RecordKind]) -> Result<Arc<Self>> {
        let store = Arc::new(InmemConfig::new().clock(clock).open().await?);
        Ok(Arc::new(Self { store, kinds }))
    }
}

#[async_trait]
impl Backend for Some {
    fn info(&self) -> BackendInfo {
        let mut info = BackendInfo::new("some", Durability::Volatile, Sharing::Handle);
        info.kinds = self.kinds.to_vec();
        info
    }
    async fn commit(&self, batch: Batch) -> Result<Receipt> {
        self.store.commit(batch).await
    }
    async fn scan(&self, scan: &Scan) -> Result<Page<Record>> {
        self.store.scan(scan).await
    }
    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}

#[async_trait]
impl EpisodicBackend for Some {
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>> {
        self.store.episode(scope, id).await
    }
    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>> {
        self.store.episodes(list).await
    }
}

#[async_trait]
impl ReflectiveStore for Some {
    async fn note(&self, scope: &Scope, id: &NoteId) -> Result<Option<Note>> {
        self.store.note(scope, id).await
    }
    async fn notes(&self, list: &ListNotes) -> Result<Page<Note>> {
        self.store.notes(list).await
    }
    async fn state(&self, workspace: &Workspace, key: &str) -> Result<Option<StateEntry>> {
        self.store.state(workspace, key).await
    }
    async fn states(&self, list: &ListStates) -> Result<Page<StateEntry>> {
        self.store.states(list).await
    }
    async fn audit_log(&self, list: &ListAudit) -> Result<Page<AuditRecord>> {
        self.store.audit_log(list).await
    }
    async fn audit_head(&self, workspace: &Workspace) -> Result<AuditHead> {
        self.store.audit_head(workspace).await
    }
}

mod one {
    use super::*;

    struct Episodes;

    #[async_trait]
    impl Factory for Episodes {
        async fn open(&self, _: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
            Ok(Handle::episodic(Some::open(clock, &[RecordKind::Episode]).await?))
        }
    }

    memkeep_conformance::episodic!(
        Episodes,
        lacks_faults = "a map does not fail",
        lacks_kill = "volatile",
        lacks_reopen = "volatile",
        lacks_second_handle = "one handle has the map for itself",
        lacks_damage = "nothing else reaches the map",
        lacks_copy = "there is no backup of what is volatile",
    );
}

mod two {
    use super::*;

    struct EpisodesAndNotes;

    const KINDS: &[RecordKind] =
        &[RecordKind::Episode, RecordKind::Note, RecordKind::State, RecordKind::Audit];

    #[async_trait]
    impl Factory for EpisodesAndNotes {
        async fn open(&self, _: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
            let store = Some::open(clock, KINDS).await?;
            Ok(Handle::episodic(store.clone()).with_reflective(store))
        }
    }

    memkeep_conformance::suite!(
        EpisodesAndNotes,
        lacks_sessions = "keeps what was learned, not what was said",
        lacks_second_handle = "one handle has the map for itself",
        lacks_reopen = "volatile",
        lacks_kill = "volatile",
        lacks_faults = "a map does not fail",
        lacks_damage = "nothing else reaches the map",
        lacks_copy = "there is no backup of what is volatile",
    );
}

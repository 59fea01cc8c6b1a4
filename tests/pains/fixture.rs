use std::sync::Arc;

use memkeep::{
    ManualClock, MemoryBackend, Scope, Timestamp, inmem::InmemConfig, sqlite::SqliteConfig,
    verify::Verify,
};

/// 2026-01-01T00:00:00Z.
pub const START: i64 = 1_767_225_600_000_000;

/// A backend to run a test on.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Inmem,
    Sqlite,
}

/// A fresh store of its own, and what a test may do to it from outside.
pub struct Fixture {
    pub clock: Arc<ManualClock>,
    pub store: Arc<dyn MemoryBackend>,
    kind: Kind,
    folder: tempfile::TempDir,
}

impl Fixture {
    pub async fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(START).unwrap()));
        let store = open(kind, &folder, clock.clone()).await;
        Self { clock, store, kind, folder }
    }

    /// Closes the store and opens it again, where what it held can be opened again.
    pub async fn reopen(&mut self) {
        if self.kind == Kind::Sqlite {
            self.store.close().await.unwrap();
            self.store = open(self.kind, &self.folder, self.clock.clone()).await;
        }
    }

    /// Another handle on the same store, or the same one where there can be only one.
    pub async fn second_handle(&self) -> Arc<dyn MemoryBackend> {
        match self.kind {
            Kind::Inmem => self.store.clone(),
            Kind::Sqlite => open(self.kind, &self.folder, self.clock.clone()).await,
        }
    }

    /// Nothing in the store contradicts anything else.
    pub async fn verify(&self) {
        let report = self.store.verify(&Verify::new()).await.unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    }

    /// How many records there are of all kinds.
    pub async fn total(&self) -> u64 {
        self.store.stats(&Scope::All).await.unwrap().counts.total()
    }
}

async fn open(
    kind: Kind,
    folder: &tempfile::TempDir,
    clock: Arc<ManualClock>,
) -> Arc<dyn MemoryBackend> {
    match kind {
        Kind::Inmem => Arc::new(InmemConfig::new().clock(clock).open().await.unwrap()),
        Kind::Sqlite => {
            let path = folder.path().join("memory.db");
            Arc::new(SqliteConfig::new(path).clock(clock).open().await.unwrap())
        }
    }
}

/// Each function becomes a test on each backend.
macro_rules! on_every_backend {
    ($($(#[$attribute:meta])* async fn $name:ident($fixture:ident: $ty:ty) $body:block)*) => {
        $($(#[$attribute])* #[allow(unused_mut)] async fn $name(mut $fixture: $ty) $body)*

        mod inmem {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::fixture::Fixture::new($crate::fixture::Kind::Inmem).await).await;
            })*
        }

        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::fixture::Fixture::new($crate::fixture::Kind::Sqlite).await).await;
            })*
        }
    };
}
pub(crate) use on_every_backend;

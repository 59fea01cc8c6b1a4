use std::{cell::RefCell, sync::Arc};

use memkeep::{
    ManualClock, MemoryBackend, Scope, Timestamp, export, inmem::InmemConfig, sqlite::SqliteConfig,
    verify::Verify,
};
use tokio::runtime::{Builder, Runtime};

/// A store of any backend.
pub type Store = Arc<dyn MemoryBackend>;

thread_local! {
    static RUNTIME: RefCell<Runtime> =
        RefCell::new(Builder::new_current_thread().build().expect("a runtime"));
}

/// Waits for `future`.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with_borrow(|runtime| runtime.block_on(future))
}

/// The instant at which the clocks of all stores stand.
pub fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000).expect("a year before 10000")
}

/// A new store in memory.
pub async fn inmem() -> Store {
    let config = InmemConfig::new().readers(0).clock(ManualClock::new(now()));
    Arc::new(config.open().await.expect("a store in memory"))
}

/// A new store of SQLite, in memory.
pub async fn sqlite() -> Store {
    let config = SqliteConfig::memory().clock(ManualClock::new(now()));
    Arc::new(config.open().await.expect("a store of SQLite in memory"))
}

/// Everything in a store, as an export has it.
pub async fn dump(store: &Store) -> String {
    let mut lines = Vec::new();
    export(store.as_ref(), &Scope::All, &mut lines).await.expect("a sound store is exported");
    String::from_utf8(lines).expect("an export is UTF-8")
}

/// The records of a store must agree with each other.
pub async fn assert_clean(store: &Store) {
    let report = store.verify(&Verify::new()).await.expect("a sound store is verified");
    assert_eq!(report.problems, [], "{}", store.info().name);
}

//! The calls that a failure showed, in the frame that makes a test of them; see `docs/run-the-suite.md`.

use std::sync::Arc;

use example_backend_log::LogStore;
use memkeep_conformance::{Place, from_json};
use memkeep_core::*;

async fn open(place: &Place, clock: Arc<ManualClock>) -> Result<LogStore> {
    LogStore::open(place.path().join("memory.log"), clock).await
}

#[tokio::test]
#[allow(unused_must_use)]
async fn pasted() -> Result<()> {
    let place = Place::new()?;
    let clock = Arc::new(ManualClock::new("2026-01-01T00:00:00Z".parse()?));

    let store = open(&place, clock.clone()).await?;
    store.commit(from_json(r#"{"ops":[{"op":"start_session","id":"gone"},{"op":"record_step","session":"gone","name":"look","status":"ok","id":"gone3"}]}"#)).await;
    store.delete_session(&"gone".into()).await;
    assert_eq!(store.step(&Scope::All, &"gone3".into()).await?, None);

    Ok(())
}

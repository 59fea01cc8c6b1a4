//! Batches of any content, decoded from JSON and committed to a store in memory and one of SQLite: both
//! answer alike and come to hold the same, `verify` is clean, and an export of it makes an equal store.

#![no_main]

use libfuzzer_sys::fuzz_target;
use memkeep::{Batch, ErrorKind, ImportOptions, Json, import};
use memkeep_fuzz::{Folder, Listing, Store, assert_clean, batches, dump, inmem, run, sqlite};

thread_local! {
    static FOLDER: Folder = Folder::new();
}

fn decoded(json: Json) -> Batch {
    let batch: Batch = serde_json::from_value(json).expect("all fields are of the right kind");
    let written = serde_json::to_string(&batch).expect("a batch can be written");
    let again: Batch = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(again, batch);
    batch
}

/// What a store answers to a batch, as text: the receipt, or what and where it refused.
async fn answer(store: &Store, batch: Batch) -> Result<String, (ErrorKind, Option<String>)> {
    let receipt = store.commit(batch).await.map_err(|error| {
        let refusals = [ErrorKind::InvalidArgument, ErrorKind::NotFound, ErrorKind::Conflict];
        assert!(refusals.contains(&error.kind()), "{error:?}");
        (error.kind(), error.get("op").map(str::to_owned))
    })?;
    Ok(format!("{receipt:?}"))
}

async fn listed(store: &Store) -> Vec<String> {
    let mut rows = Vec::new();
    for scope in [memkeep::Scope::All, "acme".into()] {
        for listing in Listing::all("a") {
            let page = listing.page(store.as_ref(), &scope, usize::MAX, None).await;
            match page {
                Ok(page) => rows.extend(page.items),
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}"),
            }
        }
    }
    rows
}

async fn check(batches: Vec<Json>, folder: &Folder) {
    let (first, second) = (inmem().await, sqlite().await);
    for json in batches {
        let batch = decoded(json);
        let answers = [answer(&first, batch.clone()).await, answer(&second, batch.clone()).await];
        assert_eq!(answers[0], answers[1], "{batch:?}");
    }
    assert_clean(&first).await;
    assert_clean(&second).await;
    let held = dump(&first).await;
    assert_eq!(dump(&second).await, held);
    assert_eq!(listed(&first).await, listed(&second).await);

    let copy = inmem().await;
    let path = folder.write(held.as_bytes());
    let report = import(copy.as_ref(), &path, ImportOptions::new()).await;
    assert_eq!(report.expect("an export is imported").issues, []);
    assert_eq!(dump(&copy).await, held, "an export makes an equal store");
}

fuzz_target!(|input: &[u8]| {
    // Bytes that do not say more are no batch.
    let Ok(batches) = batches(input) else { return };
    FOLDER.with(|folder| run(check(batches, folder)));
});

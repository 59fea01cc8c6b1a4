//! Any JSON for what is kept or sent as JSON: each value comes back as it was written, and a batch is
//! committed or refused.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use memkeep::{
    Batch, Cursor, ErrorKind, Op, Receipt, Record, StoredReceipt,
    decide::{Change, Loaded, decide},
};
use memkeep_fuzz::{assert_clean, inmem, now, run};
use serde::{Serialize, de::DeserializeOwned};

fn read<T: DeserializeOwned + Serialize + PartialEq + Debug>(input: &[u8]) -> Option<T> {
    let value: T = serde_json::from_slice(input).ok()?;
    let written = serde_json::to_string(&value).expect("what was read can be written");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    assert_eq!(again, value, "{written}");
    assert_eq!(serde_json::to_string(&again).expect("it was written before"), written);
    Some(value)
}

async fn commit(batch: Batch) {
    let refusals = [ErrorKind::InvalidArgument, ErrorKind::NotFound, ErrorKind::Conflict];
    match batch.clone().prepare() {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
            return;
        }
        Ok(prepared) => {
            let decided =
                |prepared: &_| decide(prepared, Loaded::default(), now()).map_err(|e| e.kind());
            assert_eq!(decided(&prepared), decided(&prepared), "it is decided alike");
        }
    }
    let store = inmem().await;
    let ops = batch.ops.len();
    match store.commit(batch).await {
        Ok(receipt) => {
            assert_eq!(receipt.outcomes.len(), ops);
            let written = serde_json::to_vec(&receipt).expect("a receipt can be written");
            assert_eq!(read::<Receipt>(&written), Some(receipt));
        }
        Err(error) => {
            assert!(refusals.contains(&error.kind()), "{error:?}");
            assert!(error.get("op").is_some(), "{error:?}");
        }
    }
    assert_clean(&store).await;
}

fuzz_target!(|input: &[u8]| {
    let (Some((which, input)), mut batch) = (input.split_first(), None) else { return };
    match which % 6 {
        0 => batch = read::<Batch>(input),
        1 => batch = read::<Op>(input).map(Batch::from),
        2 => batch = read::<Record>(input).map(|record| Op::from(record).into()),
        3 => drop(read::<Change>(input)),
        4 => drop(read::<StoredReceipt>(input)),
        _ => drop(read::<Cursor>(input)),
    }
    if let Some(batch) = batch {
        run(commit(batch));
    }
});

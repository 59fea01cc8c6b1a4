use memkeep_core::{Error, Hash, Mark, Result, StoredReceipt, Timestamp};
use serde::{Deserialize, Serialize};

use super::{audit::HashRow, field};
use crate::{
    codec,
    key::{Key, Table},
};

#[derive(Serialize, Deserialize)]
#[serde(remote = "StoredReceipt")]
struct ReceiptRow {
    key: String,
    #[serde(with = "HashRow")]
    digest: Hash,
    #[serde(with = "field::micros")]
    at: Timestamp,
    #[serde(with = "field::json")]
    marks: Vec<Mark>,
}

/// The keys of the receipt of a batch that was committed at `at` under the idempotency key `key`:
/// its own, and the one by time, which has no value.
pub(crate) fn receipt_keys(key: &str, at: Timestamp) -> (Vec<u8>, Vec<u8>) {
    let own = Key::of(Table::Receipt).bytes(key).into_bytes();
    (own, Key::of(Table::ReceiptTime).time(at).bytes(key).into_bytes())
}

/// A receipt's value, to stand under `key`.
pub(crate) fn receipt_value(key: &[u8], receipt: &StoredReceipt) -> Result<Vec<u8>> {
    codec::seal(key, |to| ReceiptRow::serialize(receipt, to))
}

/// The receipt whose value this is.
pub(crate) fn read_receipt(key: &[u8], value: &[u8]) -> Result<StoredReceipt> {
    let read = codec::open(key, value, |from| ReceiptRow::deserialize(from));
    let own = read.and_then(|receipt| {
        let is_own = receipt_keys(&receipt.key, receipt.at).0 == key;
        is_own.then_some(receipt).ok_or_else(|| "it is of another idempotency key".to_owned())
    });
    own.map_err(|message| {
        let name = String::from_utf8_lossy(key.get(1..).unwrap_or_default());
        Error::corrupt("receipt", name, message)
    })
}

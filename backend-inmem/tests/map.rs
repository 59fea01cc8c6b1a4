//! The map as an engine: what a snapshot and a transaction see, and when.

use memkeep_core::Result;
use memkeep_inmem::InmemMap;
use memkeep_kv::{OrderedEngine, Snapshot, Transaction};

fn keys(from: &impl Snapshot, reverse: bool) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    from.scan(b"b"..b"d", reverse, &mut |key, _| {
        keys.push(key.to_vec());
        Ok(true)
    })
    .unwrap();
    keys
}

#[test]
fn a_snapshot_stays_and_a_transaction_shows_at_its_commit() -> Result<()> {
    let map = InmemMap::new();
    let before = map.snapshot()?;
    let mut transaction = map.begin()?;
    for key in [&b"a"[..], b"b", b"bb", b"c", b"d"] {
        transaction.put(key, key)?;
    }
    transaction.delete(b"bb")?;
    transaction.delete(b"not there")?;
    assert_eq!(keys(&transaction, false), [b"b", b"c"]);
    assert_eq!(map.snapshot()?.get(b"b")?, None);
    transaction.commit()?;

    let after = map.snapshot()?;
    assert_eq!((before.get(b"b")?, after.get(b"b")?), (None, Some(b"b".to_vec())));
    assert_eq!(keys(&after, true), [b"c", b"b"]);
    Ok(())
}

#[test]
fn a_dropped_transaction_leaves_nothing() -> Result<()> {
    let map = InmemMap::new();
    let mut transaction = map.begin()?;
    transaction.put(b"b", b"")?;
    drop(transaction);
    assert_eq!(map.snapshot()?.get(b"b")?, None);
    assert_eq!(map.begin()?.get(b"b")?, None);
    Ok(())
}

#[test]
fn a_scan_ends_where_it_is_told_to() -> Result<()> {
    let map = InmemMap::new();
    let mut transaction = map.begin()?;
    transaction.put(b"b", b"1")?;
    transaction.put(b"c", b"2")?;
    let mut seen = Vec::new();
    transaction.scan(b"a"..b"z", true, &mut |_, value| {
        seen.push(value.to_vec());
        Ok(false)
    })?;
    assert_eq!(seen, [b"2"]);
    let stopped = || memkeep_core::Error::invalid("field", "stopped");
    let error = transaction.scan(b"a"..b"z", false, &mut |_, _| Err(stopped())).unwrap_err();
    assert_eq!(error.message(), stopped().message());
    Ok(())
}

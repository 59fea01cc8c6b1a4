//! Damage to what is stored, for tests of what a store does then (feature `test-util`).

use memkeep_core::{Error, Record, RecordKind, Result, decide::Stored};

use crate::{OrderedEngine, Snapshot, Transaction, key, rows::Row};

/// Makes what is stored of a record undecodable: a bit of it is flipped.
///
/// Errors: `NotFound`; those of the engine.
pub fn spoil(engine: &impl OrderedEngine, record: &Record) -> Result<()> {
    overwrite(engine, record, |_, mut value| {
        if let Some(byte) = value.last_mut() {
            *byte ^= 1;
        }
        Ok(value)
    })
}

/// Stores `record` in the place of the one of its kind and id, and nothing that follows from it:
/// secondary keys and counts stay those of the old one.
///
/// Errors: `NotFound`; `Corrupt` if the old one cannot be decoded; those of the engine.
pub fn alter(engine: &impl OrderedEngine, record: &Record) -> Result<()> {
    overwrite(engine, record, |number, value| match record.clone() {
        Record::Session(record) => with_origin(number, &value, record),
        Record::Turn(record) => with_origin(number, &value, record),
        Record::Step(record) => record.value(number),
        Record::Episode(record) => with_origin(number, &value, record),
        Record::Note(record) => record.value(number),
        Record::State(record) => record.value(number),
        Record::Audit(record) => record.value(number),
    })
}

/// The value of `record` with the origin of the one that `value` holds.
fn with_origin<T>(number: u64, value: &[u8], record: T) -> Result<Vec<u8>>
where
    Stored<T>: Row,
{
    let Stored { origin, .. } = Stored::<T>::open(number, value, number)?;
    Stored { record, origin }.value(number)
}

/// Puts what `change` makes of the number and the value of a stored record in the value's place.
fn overwrite(
    engine: &impl OrderedEngine,
    record: &Record,
    change: impl FnOnce(u64, Vec<u8>) -> Result<Vec<u8>>,
) -> Result<()> {
    let (kind, id) = (record.kind(), record.id());
    let id_key = match kind {
        RecordKind::State => key::state(record.workspace().as_str(), id),
        _ => key::id(kind, id),
    };
    let missing = || Error::not_found(kind.as_str(), id);
    let mut transaction = engine.begin()?;
    let target = transaction.get(&id_key)?.ok_or_else(missing)?;
    let (_, number) = key::target(&id_key, &target)?;
    let key = key::record(kind, number);
    let value = transaction.get(&key)?.ok_or_else(missing)?;
    transaction.put(&key, &change(number, value)?)?;
    transaction.commit()
}

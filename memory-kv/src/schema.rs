use memkeep_core::{Error, ErrorKind, Result};

use crate::{
    OrderedEngine, Snapshot, Transaction,
    key::{Key, Keys, Table},
    records::Records,
};

/// The version of the key layout and the formats that this program writes.
pub const SCHEMA_VERSION: u32 = 2;

fn schema_key() -> Vec<u8> {
    Key::of(Table::Schema).into_bytes()
}

/// Makes an empty store one of this version; refuses, with nothing written, what is not memkeep's
/// or was written by a newer program.
pub(crate) fn prepare<E: OrderedEngine>(engine: &E) -> Result<()> {
    let key = schema_key();
    {
        let snapshot = engine.snapshot()?;
        if let Some(value) = snapshot.get(&key)? {
            if known(&value)? == SCHEMA_VERSION {
                return Ok(());
            }
            // Version 2 added the recall indexes, which are made by and by of what is there.
        } else if snapshot.end_of(&Keys::everything(), false)?.is_some() {
            let message = "the store holds something that memkeep has not written";
            return Err(Error::corrupt("schema", "version", message));
        }
    }
    let mut transaction = engine.begin()?;
    transaction.put(&key, &SCHEMA_VERSION.to_be_bytes())?;
    transaction.commit()
}

/// The version, if this program knows it.
fn known(value: &[u8]) -> Result<u32> {
    let version = value.try_into().map(u32::from_be_bytes).unwrap_or_default();
    match version {
        0 => Err(Error::corrupt("schema", "version", "the schema version cannot be read")),
        1..=SCHEMA_VERSION => Ok(version),
        _ => {
            let message =
                format!("the store has schema version {version}, known is {SCHEMA_VERSION}");
            Err(Error::new(ErrorKind::SchemaTooNew, message))
        }
    }
}

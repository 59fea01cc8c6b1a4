#![doc = include_str!("../README.md")]

mod apply;
mod blobs;
mod check;
mod codec;
mod engine;
mod key;
mod kv_engine;
mod overlay;
mod records;
mod rows;
mod schema;
#[cfg(feature = "test-util")]
pub mod test_util;
mod view;
mod writer;

pub use engine::{MAX_KEY_BYTES, OrderedEngine, Snapshot, Transaction, Visit};
pub use kv_engine::{KvEngine, KvReader};
pub use overlay::{Changes, Overlay};
pub use schema::SCHEMA_VERSION;
pub use writer::KvWriter;

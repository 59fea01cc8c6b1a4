#![doc = include_str!("../README.md")]

mod config;
mod durability;
mod engine;
mod error;
mod medium;
mod open_database;
mod snapshot;
mod store_file;

#[cfg(test)]
mod faults;

pub use config::RedbConfig;
pub use durability::RedbDurability;
pub use engine::RedbEngine;
pub use snapshot::RedbSnapshot;

use memkeep_core::embedded::Embedded;
use memkeep_kv::KvEngine;

/// A memory in a redb file. [`RedbConfig`] opens it.
pub type RedbBackend = Embedded<KvEngine<RedbEngine>>;

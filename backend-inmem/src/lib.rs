#![doc = include_str!("../README.md")]

mod config;
mod map;

pub use config::InmemConfig;
pub use map::{InmemMap, InmemSnapshot, InmemTransaction};

use memkeep_core::embedded::Embedded;
use memkeep_kv::KvEngine;

/// The in-memory backend. [`InmemConfig`] opens it.
pub type InmemBackend = Embedded<KvEngine<InmemMap>>;

//! What every engine that lives in this process shares: one writer thread that commits all waiting
//! batches as one transaction, a bounded set of reader threads, recall and find over one snapshot,
//! verification, the change feed.
//!
//! An engine implements three blocking traits ([`Engine`], [`View`], [`Writer`]) and knows neither
//! rules nor async; [`Embedded`] makes a [`MemoryBackend`](crate::MemoryBackend) of it.

pub mod file;

mod analysis;
mod backend;
mod background;
mod engine;
mod find;
mod group;
mod indexer;
mod pace;
mod pool;
mod recall;
mod recent;
mod tender;
mod tending;
mod timeout;
mod verify;
mod worker;

pub use backend::{Embedded, EmbeddedOptions};
pub use engine::{Engine, Reader, View, Writer};

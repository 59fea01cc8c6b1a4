#![doc = include_str!("../README.md")]

mod blobs;
mod config;
mod connect;
mod engine;
mod error;
mod place;
mod rows;
mod schema;
mod synchronous;
mod view;
mod writer;

#[cfg(test)]
mod statements;

pub use config::SqliteConfig;
pub use engine::{SqliteBackend, SqliteEngine, SqliteReader};
pub use synchronous::Synchronous;
pub use writer::SqliteWriter;

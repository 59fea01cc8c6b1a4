#![doc = include_str!("../README.md")]

mod backend;
mod cells;
mod commit;
mod config;
mod connect;
mod error;
mod escape;
mod names;
mod news;
mod pool;
mod read;
mod recall;
mod rows;
mod schema;
mod standby;
mod statement;
mod store;
mod transaction;
mod url;
mod verify;

pub use backend::PostgresBackend;
pub use config::{Host, PostgresConfig, TlsMode};

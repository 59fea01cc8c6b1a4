//! The `memkeep` binary as a person and a script use it, over real SQLite files.

mod batch;
mod copy;
mod errors;
mod files;
mod hostile;
mod maintain;
mod memory;
mod recall;
mod scope;
mod sessions;
mod state;
mod support;
mod transfer;

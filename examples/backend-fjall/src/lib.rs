//! memkeep over [fjall](https://docs.rs/fjall), a log-structured merge tree in pure Rust.
//!
//! `memkeep-kv` brings the whole contract; what is left to write is an [`OrderedEngine`]. The store is
//! a folder, held by one process at a time; what is committed survives a power cut.
//!
//! There is no `compact`: fjall keeps deleted text in its journal until that is rotated, which a
//! caller cannot ask for, so it could not keep its promise to wipe the text.

mod engine;
mod error;

use std::path::PathBuf;

use memkeep_core::{
    Result,
    embedded::{Embedded, EmbeddedOptions},
};
use memkeep_kv::KvEngine;

pub use engine::{FjallEngine, FjallSnapshot};

#[cfg(doc)]
use memkeep_kv::OrderedEngine;

/// A memory in fjall.
pub type FjallBackend = Embedded<KvEngine<FjallEngine>>;

/// How many threads read at once.
const READERS: usize = 4;

/// Opens the store in the folder `path`, which is made if it is not there.
///
/// Errors: `AlreadyOpen` while another handle or process has it; `SchemaTooNew`; `Corrupt`.
pub async fn open(path: impl Into<PathBuf>, options: EmbeddedOptions) -> Result<FjallBackend> {
    let path = path.into();
    Embedded::open(options, move |_| KvEngine::open(FjallEngine::open(&path)?, READERS)).await
}

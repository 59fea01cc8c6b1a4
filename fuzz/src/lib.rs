//! What the fuzz targets in `fuzz_targets/` share: stores to work on, and what must hold of them whatever
//! was read. See `docs/fuzzing.md`.

mod grammar;
mod imports;
mod reads;
mod stores;

pub use grammar::batches;
pub use imports::{Folder, check_import};
pub use reads::{Listing, read_everything};
pub use stores::{Store, assert_clean, dump, inmem, now, run, sqlite};

//! Importing the files of other systems and exports, and exporting, on every backend.
#![cfg(all(feature = "import", feature = "inmem", feature = "redb", feature = "sqlite"))]

mod jsonl;
mod muse;
mod odd_rows;
mod source_files;
mod support;
mod two_sources;
mod velune;

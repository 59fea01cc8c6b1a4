//! memkeep in an append-only file of JSON lines: the traits, and nothing else.
//!
//! A line is a commit: a checksum and the changes that `decide` made of a batch. Opening the file
//! applies them all again; reads go to tables in memory. So it is for stores that fit there, and its
//! files can be read with `less`.
//!
//! One process has the file at a time. What is committed survives a power cut: a line is synced to
//! the disk before the commit returns, and a last line that a crash has torn is cut off.

mod kind;
mod log;
mod shared;
mod store;
mod tables;

pub use store::LogStore;

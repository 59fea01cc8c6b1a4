//! The rules of memory, written once, as pure code.
//!
//! [`Batch::prepare`](crate::Batch::prepare) checks a batch's words; [`Needs`] says which rows it
//! touches; [`decide`] turns batch and rows into a [`Decision`]: the receipt and the [`Change`]s to
//! store, or the error that refuses the whole batch. No I/O happens here, so nothing can half-happen.

mod build;
mod change;
mod decider;
mod episodes;
mod loaded;
mod needs;
mod prepared;
mod reflection;
mod replay;
mod restore;
mod rows;
mod sessions;
mod turns;

pub use change::{Change, Put};
pub use decider::{Decision, decide};
pub use loaded::{Loaded, Origin, Stored};
pub use needs::Needs;
pub use prepared::Prepared;

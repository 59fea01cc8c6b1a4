//! Proof of what memkeep's stores survive.
//!
//! [`disk`] models a disk that loses power; [`calls`] puts it below a store; [`power`] cuts the power at
//! every place of a recorded [`workload`] and looks at what is left; [`faults`] makes each call to the
//! files fail once. `docs/durability.md` tells what is promised and what was run.

#![cfg(can_watch)]

pub mod calls;
pub mod disk;
pub mod faults;
mod history;
pub mod power;
mod subject;
pub mod workload;

pub use history::{History, Known};
pub use subject::{Place, STORE, Subject, now};

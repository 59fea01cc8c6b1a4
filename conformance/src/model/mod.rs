//! What a store must do, once more: a naive memory of plain lists, and random programs that are run
//! against it and the store side by side.
//!
//! The [`Memory`](memory::Memory) is written from the contract's text and shares no code with
//! memkeep-core's `decide`. Recall is scored by memkeep-core's `Ranker`, which is part of the
//! contract, over the memory's own lists.

mod answer;
mod check;
mod command;
mod knowledge;
mod memory;
mod ops;
mod play;
mod reads;
mod regressions;
mod restore;
mod row;
mod sessions;
mod strategy;
mod words;

pub(crate) use answer::page;
pub(crate) use check::{Beyond, check};
pub(crate) use command::{Command, Listing, Of, Read, Recall};
pub(crate) use play::follow;

//! The tests of the clauses. What each shows is its rule in the table.

pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod bounds;
mod bundle;
pub(crate) mod cancel;
pub(crate) mod closing;
pub(crate) mod episodes;
pub(crate) mod errors;
pub(crate) mod faults;
pub(crate) mod feed;
pub(crate) mod fidelity;
pub(crate) mod forgetting;
pub(crate) mod hostile;
pub(crate) mod kills;
pub(crate) mod linear;
pub(crate) mod notes;
pub(crate) mod programs;
pub(crate) mod random;
pub(crate) mod restore;
pub(crate) mod retries;
mod sample;
pub(crate) mod state;
mod support;
pub(crate) mod turns;
pub(crate) mod upkeep;
pub(crate) mod writers;

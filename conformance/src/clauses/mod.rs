//! The tests of the clauses. What each shows is its rule in the table.

pub(crate) mod kills;
pub(crate) mod linear;
pub(crate) mod programs;
pub(crate) mod random;
pub(crate) mod turns;
pub(crate) mod batches;
pub(crate) mod bounds;
pub(crate) mod cancel;
pub(crate) mod closing;
pub(crate) mod errors;
pub(crate) mod faults;
pub(crate) mod feed;
pub(crate) mod forgetting;
pub(crate) mod restore;
pub(crate) mod retries;
pub(crate) mod writers;
mod bundle;

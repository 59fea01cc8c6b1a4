//! The tests of the clauses. What each shows is its rule in the table.

pub(crate) mod kills;
pub(crate) mod linear;
pub(crate) mod programs;
pub(crate) mod random;
pub(crate) mod turns;

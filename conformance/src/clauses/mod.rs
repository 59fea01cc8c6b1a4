//! The tests of the clauses. What each shows is its rule in the table.

pub(crate) mod turns;

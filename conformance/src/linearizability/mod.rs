//! Whether concurrent calls happened one after the other: each at some instant between its beginning
//! and its end.
//!
//! Several tasks call the store at once, and every call is written down with when it began and
//! ended. The [checker] then looks for an order of the calls that fits these times and in which a
//! simple [object](object::Object), done one call after the other, would have answered the same
//! (Wing & Gong, "Testing and Verifying Concurrent Objects", 1993, with the memoisation of Lowe,
//! "Testing for linearizability", 2017).

mod audit;
mod checker;
mod history;
mod index;
mod object;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use audit::AuditChain;
pub(crate) use history::check_histories;
pub(crate) use index::TurnIndexes;
pub(crate) use state::StateKeys;

//! What all measurements share: the [corpus](Corpus), [statistics](Samples), and how a peer that
//! needs a process of its own is [run](ingest).

pub mod ingest;

mod corpus;
mod random;
mod samples;

pub use corpus::Corpus;
pub use random::Random;
pub use samples::{Samples, median};

//! Memory for AI agents.

pub use memkeep_core::*;

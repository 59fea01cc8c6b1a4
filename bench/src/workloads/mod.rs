//! What is measured, one module each.

pub(crate) mod commits;
pub(crate) mod find;
pub(crate) mod import;
pub(crate) mod listings;
pub(crate) mod locomo;
pub(crate) mod published;
pub(crate) mod recall;

//! Recall by the index of `memory-core`, which is kept in two tables: the blobs of the indexes, and the
//! tail of what has come since.
//!
//! A commit only adds rows to the tail ([`tail`]). A task of each handle ([`background`]) makes segments of
//! it, and merges them ([`tender`]). A recall reads one state of both: first what there is of roots and
//! tail, then the pages that it needs and that no other recall of the handle has read, at last the records
//! ([`asking`]).

mod asking;
mod background;
mod check;
mod desk;
mod lists;
mod pages;
pub(crate) mod tail;
mod tender;

pub(crate) use self::{
    asking::{Asked, Shared, recall},
    background::{Counts, Signal, start},
    check::check,
    tender::{Tender, at, drop_index},
};

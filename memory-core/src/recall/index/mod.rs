//! The index by which recall finds without reading everything: the same documents, in the same order,
//! with the same scores, bit for bit, as a [`Ranker`](super::Ranker) over all of them.
//!
//! Pure code over a small ordered map ([`Blobs`]) that an engine keeps in a table of its own, one for
//! each kind of record. It is a log-structured merge tree of *segments*:
//!
//! - [`append`] adds a segment: documents in analysed form, and those of older segments that are removed.
//!   A revised document is removed and added. A small segment is one blob.
//! - A commit appends what it removes, since that must be found no more. What is new may wait: up to which
//!   record the index goes is its [`Coverage`], and a search takes the records after that as one more
//!   segment, in [`Memory`].
//! - A [`Keeper`] merges adjacent segments, in small steps. Segments never change, so commits go on
//!   meanwhile, and whoever reads one state of the map sees whole segments. A removal goes when it meets
//!   what it removes.
//! - A [`Step`], of a merge or of what is new, is worked out from one state of the map and written in a
//!   later one, which takes much less time. It is refused if what it was worked out from no longer holds.
//! - [`search`] adds up the statistics of all segments (those of removed documents taken away), then
//!   looks for the best documents in each, passing over blocks of postings that cannot have any.
//!
//! So answers are exact at every moment: a removed document is found no more from its commit on.
//!
//! Within a segment documents are sorted by workspace and place, so that a workspace is one stretch of
//! every list, whose statistics are known by its ends; a turn's neighbours are beside it.

mod ahead;
mod blobs;
mod block;
mod bytes;
mod cache;
mod changes;
mod check;
mod column;
mod context;
mod counting;
mod coverage;
mod cursor;
mod document;
mod draft;
mod find;
mod formula;
mod keeper;
mod lengths;
mod lists;
mod loose;
mod max_score;
mod memory;
mod merge;
mod packed;
mod page;
mod part;
mod part_writer;
mod places;
mod postings;
mod query_term;
mod root;
mod search;
mod segment;
mod set;
mod step;
mod table;
mod terms;
mod top;
mod upkeep;
mod values;
mod words;

pub use blobs::{Blobs, BlobsMut, Far, MAX_KEY_BYTES, Visit};
pub use cache::Cache;
pub use changes::Changes;
pub use check::{Listed, documents};
pub use coverage::{Coverage, clear};
pub use document::Analysed;
pub use find::{Sought, find};
pub use keeper::{Keeper, append};
pub use memory::Memory;
pub use search::{Eligible, Question, search};
pub use segment::{PAGE_KEY, first_pages};
pub use step::Step;
pub use upkeep::{
    ATTEMPTS, BULK, CACHE_BYTES, RECALLED, STEP, difference, disturbed, lost, missing,
};

#[cfg(test)]
mod tests;

//! A disk that loses power.
//!
//! A [`Recorder`] stands between a store and its files and writes down what the store does to them: a
//! [`Trace`]. From the trace a [`Replay`] makes the [`Image`]s that a power cut between any two of its
//! steps could leave, by the rule that only what was synced is promised.
//!
//! # What is modelled
//!
//! - **Sync is the only promise.** A sync of a file puts down all that was written to it, and its size,
//!   before the sync began. It puts down no name: a file that was made, deleted or renamed is so for
//!   certain only after a sync of the folder.
//! - **Everything else may or may not have happened**, in any order, over all files: each write, each
//!   change of a size, each change of a name. Which of it is there is drawn by a [`Loss`].
//! - **Writes tear at sectors** of 512 bytes. Within a sector the bytes that one write covers are there or
//!   not, all together; the bytes that it does not cover stay.
//! - **A size may be there without its data**: what was not written then reads as zeros, or as what lay on
//!   that place of the disk before: pieces of earlier writes to any file.
//! - **A sync that failed** promises nothing for what was written before it, and neither does any later
//!   sync: the system may have dropped those writes and forgotten that they were ever dirty.
//! - **A disk that lies** ([`Recorder::lying`]) says that it synced and did not.
//!
//! # What is not
//!
//! - Sectors that change without being written to, bit rot, and a sector that is half old and half new:
//!   disks promise that this does not happen, by their own checksums.
//! - Folders in the folder, but for their names, which are there or not as those of files are. What is in
//!   one has a recorder of its own.
//! - What is in a file that is mapped into memory (SQLite's `-shm`): after a power cut it is anything.

mod loss;
mod lot;
mod recorder;
mod replay;
mod trace;

#[cfg(test)]
mod tests;

pub use loss::Loss;
pub(crate) use lot::SECTOR;
pub use recorder::{Call, Errno, Recorder};
pub use replay::{Image, Replay};
pub use trace::{Event, FileId, Mark, Trace};

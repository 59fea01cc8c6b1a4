//! Memory for AI agents that does not depend on where it is kept.
//!
//! [`open`] a store by its URL, or build one from a backend's own configuration in [`sqlite`],
//! [`redb`], [`postgres`] or [`inmem`]; either way it is a [`MemoryBackend`]: sessions with turns and steps,
//! episodes with lexical recall, notes, state and an audit log. [`export`](fn@export) writes all of
//! it as JSON lines; [`import`](fn@import) reads them back, and with the feature `import` also the
//! files of the systems that memkeep replaces. [`copy`](fn@copy) takes everything to another backend.
//!
//! ```no_run
//! # async fn example() -> memkeep::Result<()> {
//! use memkeep::{NewEpisode, RecallQuery};
//!
//! let store = memkeep::open("sqlite:agent.db").await?;
//! store.add_episode(NewEpisode::new("the build ran out of memory", "split the link step")).await?;
//! let hits = store.recall(&RecallQuery::new("out of memory again")).await?;
//! assert_eq!(hits[0].record.summary, "split the link step");
//! # Ok(())
//! # }
//! ```

pub mod copy;
pub mod export;
pub mod import;

mod open;

pub use copy::{CopyOptions, CopyProgress, CopyReport, CopyStage, copy};
pub use export::{EXPORT_VERSION, export, export_lines};
pub use import::{
    ImportAction, ImportCounts, ImportIssue, ImportOptions, ImportProgress, ImportReport,
    ImportTally, SourceFormat, import,
};
pub use memkeep_core::*;
#[cfg(feature = "inmem")]
pub use memkeep_inmem as inmem;
#[cfg(feature = "postgres")]
pub use memkeep_postgres as postgres;
#[cfg(feature = "redb")]
pub use memkeep_redb as redb;
#[cfg(feature = "sqlite")]
pub use memkeep_sqlite as sqlite;
pub use open::open;

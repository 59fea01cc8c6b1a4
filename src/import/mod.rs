//! Reading files into a store: exports of memkeep, and with the feature `import` the databases of
//! the systems that it replaces. See [`import`](fn@import).

mod format;
mod item;
mod json;
mod jsonl;
mod judge;
mod loader;
mod lookup;
mod options;
mod report;
mod source;
mod source_file;
#[cfg(feature = "import")]
mod sqlite;

use std::{borrow::Cow, path::Path};

use crate::{MemoryBackend, Result};

pub use format::SourceFormat;
pub use options::{ImportOptions, ImportProgress, Progress};
pub use report::{ImportAction, ImportCounts, ImportIssue, ImportReport, ImportTally};

/// Reads the file `path` into `store`.
///
/// What the file is shows in its content: a database by its tables and columns, an export by its
/// first line. It is only ever read. Of a database a private copy is made, with what a running
/// program has written but not yet folded into it, so that no lock is taken and no file appears
/// beside it. The copy is in the folder for temporary files, and gone afterwards; that of an import
/// that was killed goes when the next begins. The file must not be open in this very process at the
/// same time: on Unix, closing a file lets go of all locks that the process has on it.
///
/// # What becomes of a row
///
/// Every row is stored, stored with a repair, found to be there already, or skipped; the report
/// says so of each, with table, rowid and reason where it is not simply stored. A row that cannot
/// be used never hides another. Repairs:
///
/// - NaN, infinities and integers beyond 64 bits become strings, lone surrogates and bytes that are
///   not UTF-8 become U+FFFD, JSON that cannot be read or nests too deep becomes a string (of a
///   turn's metadata: under `imported.metadata`).
/// - A time that is no instant in the years 0 to 9999 becomes that of the session's start, or 1970.
/// - A missing text becomes empty; a missing or empty id is made from the row.
///
/// A tag that exceeds the bounds is skipped, and its turn stored without it.
///
/// # Twice, and two files
///
/// Records keep their ids, and rows without one get an id made from their content. So a second
/// import of a file adds nothing, also when its records have been changed in the store since, and
/// an import of a file that has grown adds what is new. (Of an export whose lines were put in another
/// order, it may add lines that the first skipped because what they need came after them.) What the file has otherwise than the store
/// is left as the store has it, and reported.
///
/// Two files never mix. An id or state key that another source took is reported and skipped, with
/// the turns and steps of such a session. [`ImportOptions::workspace`] places what has no workspace
/// of its own in one for this file alone: ids that are made then have the workspace in them, and an
/// episode whose id another source or workspace took is stored as `W:ID`, which the notes drawn
/// from it follow. Sessions that have a workspace in the file, turns of velune, and what is in an
/// export keep their ids in any case: both sides of a conflict are only kept in two stores. Audit
/// records go to the end of the workspace's chain, in
/// the file's order, after those that are there.
///
/// # From velune
///
/// - A row of `sessions` is a session in the workspace that `workspace_root` names, as it is.
///   Turns follow in order of rowid, which also numbers them; the session's total is the sum of
///   their tokens, and a `total_tokens` that is another is told as a repair.
/// - Turns whose session has no row get one: ended, under the same id, marked in its metadata.
/// - Rows of `conversation_turns` and `execution_steps` make sessions `tier1:ID`. The source keeps
///   no end for them: each is stored as ended at its last row, so that nothing but a later import
///   adds to it.
/// - With [`ImportOptions::workspace`] `W`, those made sessions are called `W:ID` and `tier1:W:ID`.
///
/// # From muse
///
/// - Everything of `MuseEngine` goes to one workspace. Ids of notes and audit records are made from the rows.
/// - State has no time in the source: it gets the earliest of the other rows, and version 1.
///
/// # From an export
///
/// Records are restored as they are, into their own workspaces; [`ImportOptions::workspace`] does
/// not apply, and a remark says so. Of a file that was cut short, what is there is imported, and a remark says so.
///
/// # Dry run
///
/// Reads and checks everything and looks each record up in the store, but commits nothing. Only
/// what a commit alone can find is not foreseen: an export without the session of a turn or with a
/// gap in an audit chain, an index that another turn took, an episode that is known although both
/// of its texts were revised.
///
/// # Errors
///
/// `NotFound`: there is no such file. `InvalidArgument`: it is not of the format that was forced,
/// or of none that is known, or a table of it is WITHOUT ROWID; the message says so. `SchemaTooNew`: an export of a
/// newer memkeep. `Corrupt`: the database is damaged; then nothing is stored. `Unavailable`: a
/// running program writes to it without a pause. `Unsupported`: a database, without the feature
/// `import`. Errors of the store end the import; what is stored by then stays, and the same import
/// goes on from there.
pub async fn import(
    store: &dyn MemoryBackend,
    path: impl AsRef<Path>,
    options: ImportOptions,
) -> Result<ImportReport> {
    let path = path.as_ref().to_owned();
    loader::load(store, path, options).await.map_err(|e| e.during("import"))
}

/// A value of a file as a reason shows it: cut, for it may be of any length.
fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()).into(),
        None => text.into(),
    }
}

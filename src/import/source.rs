use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use super::{SourceFormat, item::Sink, jsonl, source_file::SourceFile};
use crate::{Error, ErrorKind, Result, Workspace};

/// What the first bytes of every SQLite database are.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// What a store of the `sqlite` backend has as its application id, and where in the file.
const OWN_STORE: (&[u8], usize) = (b"memk", 68);

/// Reads a file to its end, on a thread of its own.
pub(super) fn read(
    path: &Path,
    from: Option<SourceFormat>,
    workspace: Option<&Workspace>,
    sink: &mut Sink,
) -> Result<()> {
    let meta = fs::metadata(path).map_err(|e| unreadable(path, e))?;
    if !meta.is_file() {
        return Err(foreign(path, "not a regular file"));
    }
    let head = head(path).map_err(|e| unreadable(path, e))?;
    let is_sqlite = head.starts_with(SQLITE);
    if is_sqlite && head.get(OWN_STORE.1..).is_some_and(|rest| rest.starts_with(OWN_STORE.0)) {
        return Err(foreign(path, "a store of memkeep itself; open it, or copy from it"));
    }
    match from {
        None if is_sqlite => sqlite(path, None, workspace, sink),
        None | Some(SourceFormat::Jsonl) if !is_sqlite => jsonl::read(path, &head, sink),
        Some(SourceFormat::Jsonl) => Err(foreign(path, "a SQLite database, not an export")),
        from if is_sqlite => sqlite(path, from, workspace, sink),
        _ => Err(foreign(path, &format!("{}, not a SQLite database", looks_like(&head)))),
    }
}

#[cfg(feature = "import")]
use super::sqlite::read as sqlite;

#[cfg(not(feature = "import"))]
fn sqlite(path: &Path, _: Option<SourceFormat>, _: Option<&Workspace>, _: &mut Sink) -> Result<()> {
    let message = "a SQLite database can be imported with the feature `import` of memkeep";
    Err(Error::new(ErrorKind::Unsupported, message).with("path", path.display()))
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    SourceFile::open(path)?.take(100).read_to_end(&mut head)?;
    Ok(head)
}

/// What a file seems to be that is no database.
pub(super) fn looks_like(head: &[u8]) -> &'static str {
    match head.strip_prefix(jsonl::BOM).unwrap_or(head) {
        [] => "an empty file",
        [0x1f, 0x8b, ..] => "a gzip file",
        [b'P', b'K', 3, 4, ..] => "a zip file",
        [b'{' | b'[', ..] => "a JSON file",
        text if text.iter().all(|b| *b >= b' ' || b.is_ascii_whitespace()) => "a text file",
        _ => "a file of an unknown format",
    }
}

/// `InvalidArgument`: the file is something else than can be imported.
pub(super) fn foreign(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the file cannot be imported: it is {what}"))
        .with("path", path.display())
}

/// A file that cannot be read.
pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    let (kind, message) = match error.kind() {
        io::ErrorKind::NotFound => (ErrorKind::NotFound, "there is no such file"),
        _ => (ErrorKind::Unexpected, "the file cannot be read"),
    };
    Error::new(kind, message).with("path", path.display()).caused_by(error)
}

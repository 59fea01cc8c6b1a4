use std::{
    io::{BufRead, BufReader, Read as _},
    path::Path,
};

use super::{
    SourceFormat, excerpt,
    item::{Entry, Item, Kind, Place, Sink},
    json,
    source::{foreign, looks_like, unreadable},
    source_file::SourceFile,
};
use crate::{
    Error, ErrorKind, Json, Result,
    bounds::MAX_JSON_DEPTH,
    export::{END_KEY, EXPORT_VERSION, VERSION_KEY},
};

/// The longest line that is read: a text of the largest size, all of it escaped, fits.
const MAX_LINE_BYTES: u64 = 1 << 30;
/// The JSON of a record is one level inside its line.
const MAX_LINE_DEPTH: usize = MAX_JSON_DEPTH + 1;

/// What may come before the text of a file in UTF-8.
pub(super) const BOM: &[u8] = "\u{feff}".as_bytes();

/// Reads an export, line by line.
pub(super) fn read(path: &Path, head: &[u8], sink: &mut Sink) -> Result<()> {
    let file = SourceFile::open(path).map_err(|e| unreadable(path, e))?;
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut rowid = 0;
    let mut version_seen = false;
    let mut records: u64 = 0;
    let mut announced = None;
    while next_line(&mut lines, &mut line).map_err(|e| unreadable(path, e))? {
        rowid += 1;
        // Editors of some systems put a byte order mark before everything.
        if rowid == 1 && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        if version_seen {
            if let Some(number) = end(&line) {
                announced = Some(number);
                continue;
            }
            records += 1;
            let place = Place { table: "lines", rowid };
            match entry(&line, place) {
                Ok(entry) => sink.entry(entry)?,
                Err(reason) => {
                    sink.push(Item::Skip { place, kind: Kind::Line, id: None, reason })?;
                }
            }
        } else {
            check_version(&line).ok_or_else(|| {
                let what = format!("{}, not an export of memkeep", looks_like(head));
                foreign(path, &what)
            })??;
            version_seen = true;
            sink.push(Item::Format { format: SourceFormat::Jsonl, rows: None })?;
        }
    }
    if !version_seen {
        return Err(foreign(path, "an empty file"));
    }
    let remark = match announced {
        Some(number) if number == records => return Ok(()),
        Some(number) => format!(
            "the export was of {number} records and the file has {records}: it is not as it was written"
        ),
        None => format!(
            "the export has no line that ends it: it may have been cut short after its {records} records"
        ),
    };
    sink.push(Item::Remark(remark))
}

/// The number of records that the line says there are, if it is the one that ends an export.
fn end(line: &[u8]) -> Option<u64> {
    let key = line.trim_ascii_start().strip_prefix(b"{")?.trim_ascii_start();
    // Records are many and long: they are not read twice.
    key.strip_prefix(b"\"")?.strip_prefix(END_KEY.as_bytes())?;
    serde_json::from_slice::<Json>(line).ok()?.get(END_KEY)?.as_u64()
}

/// Reads a line without its end into `line`; of one that is too long, the rest is passed over.
/// Returns whether there was one.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    line.clear();
    lines.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 == MAX_LINE_BYTES {
        lines.skip_until(b'\n')?;
    } else if line.is_empty() {
        return Ok(false);
    }
    Ok(true)
}

/// Whether the line says that the file is an export, and one that can be read.
fn check_version(line: &[u8]) -> Option<Result<()>> {
    let header: Json = serde_json::from_slice(line).ok()?;
    let version = header.get(VERSION_KEY)?;
    let shown = version.to_string();
    let shown = excerpt(&shown);
    let message = format!("the export has format version {shown}, known are 1 to {EXPORT_VERSION}");
    Some(match version.as_u64() {
        Some(1..=EXPORT_VERSION) => Ok(()),
        Some(EXPORT_VERSION..) => Err(Error::new(ErrorKind::SchemaTooNew, message)),
        _ => Err(Error::new(ErrorKind::InvalidArgument, message)),
    })
}

/// The record of a line, or why there is none.
fn entry(line: &[u8], place: Place) -> Result<Entry, String> {
    if line.len() as u64 >= MAX_LINE_BYTES {
        return Err(format!("longer than {MAX_LINE_BYTES} bytes"));
    }
    let text = str::from_utf8(line).map_err(|e| format!("not UTF-8: {e}"))?;
    let json = json::parse(text, MAX_LINE_DEPTH)?;
    let record = serde_json::from_value(json.value)
        .map_err(|e: serde_json::Error| format!("not a record: {}", excerpt(&e.to_string())))?;
    let mut entry = Entry::new(place, record, line.len());
    entry.repairs = json.repairs.into_iter().map(|repair| (place, repair)).collect();
    Ok(entry)
}

//! The statements of a recall. Each list of them takes one trip, so they have no parameters.

use std::{collections::BTreeSet, fmt::Write as _};

use memkeep_core::{
    EpisodeId, RecallQuery, RecordKind,
    recall::index::{PAGE_KEY, first_pages},
};

use super::{pages::FIRST, tail};
use crate::{escape::escape, rows::Table};

/// If more has come since the index was written, all records are read instead.
pub(super) const TAIL: usize = 16_384;

/// What a row of a list is.
pub(super) const BLOB: i32 = 0;
pub(super) const COUNT: i32 = 1;
pub(super) const CHANGE: i32 = 2;
pub(super) const SESSION: i32 = 3;
pub(super) const RECORD: i32 = 4;

/// A text in a list of statements.
fn text(text: &str) -> String {
    let mut sql = "convert_from(decode('".to_owned();
    hex(&mut sql, escape(text).as_bytes());
    sql + "', 'hex'), 'UTF8')"
}

/// Bytes in a list of statements.
fn bytes(bytes: &[u8]) -> String {
    let mut sql = "decode('".to_owned();
    hex(&mut sql, bytes);
    sql + "', 'hex')"
}

fn hex(to: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(to, "{byte:02x}");
    }
}

/// The list that a recall begins with.
pub(super) fn first(kind: RecordKind, query: &RecallQuery, known: &BTreeSet<Vec<u8>>) -> String {
    let (name, most) = (kind.as_str(), TAIL + 1);
    let mut list = vec![tail::BY_KEY.to_owned()];
    list.extend(FIRST.map(|first| {
        let end = first + 1;
        format!(
            "SELECT {BLOB}, key, value FROM @recall_blobs WHERE kind = '{name}' \
             AND key >= decode('{first:02x}', 'hex') AND key < decode('{end:02x}', 'hex')"
        )
    }));
    list.push(new_segments(kind, known));
    list.push(tail::count(kind, &COUNT.to_string(), most));
    let workspace = query.scope.workspace().map(|workspace| text(workspace.as_str()));
    list.extend(tail::select(kind, &CHANGE.to_string(), most, workspace.as_deref()));
    let session = query.session.as_ref().filter(|_| kind == RecordKind::Turn);
    list.extend(session.map(|session| {
        let id = text(session.as_str());
        format!("SELECT {SESSION}, pk FROM @sessions WHERE id = {id}")
    }));
    list.join("; ")
}

/// The statement that reads what a search reads first of the segments that are not `known`.
fn new_segments(kind: RecordKind, known: &BTreeSet<Vec<u8>>) -> String {
    let (name, root, ([page], length)) = (kind.as_str(), FIRST[0], PAGE_KEY);
    let end = root + 1;
    let ends: Vec<_> = first_pages().iter().map(|page| bytes(page)).collect();
    let known: Vec<_> = known.iter().map(|name| bytes(name)).collect();
    format!(
        "SELECT {BLOB}, p.key, p.value FROM (SELECT substr(value, 1, {length}) AS name \
         FROM @recall_blobs WHERE kind = '{name}' AND key >= decode('{root:02x}', 'hex') \
         AND key < decode('{end:02x}', 'hex')) AS s CROSS JOIN unnest(ARRAY[{}]::bytea[]) AS e(page) \
         JOIN @recall_blobs p ON p.kind = '{name}' \
         AND p.key = decode('{page:02x}', 'hex') || s.name || e.page \
         WHERE s.name <> ALL(ARRAY[{}]::bytea[])",
        ends.join(", "),
        known.join(", "),
    )
}

/// The statement that reads the records of some numbers.
pub(super) fn numbered<T: Table>(numbers: &[u64]) -> String {
    let (columns, table) = (T::SHAPE.columns(RECORD.unsigned_abs() as usize), T::SHAPE.table);
    let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
    let numbers = numbers.join(", ");
    format!("SELECT {columns} FROM @{table} r WHERE r.pk = ANY(ARRAY[{numbers}]::bigint[])")
}

/// The condition that leaves the records which may pass a filter that the index does not have, which is
/// a name in JSON.
pub(super) fn named(query: &RecallQuery, kind: RecordKind) -> String {
    let (column, name) = match kind {
        RecordKind::Turn => ("tags", query.tag.as_deref()),
        _ => ("sources", query.source.as_ref().map(EpisodeId::as_str)),
    };
    let name = name.and_then(|name| serde_json::to_string(name).ok());
    name.map_or_else(String::new, |name| {
        format!(" AND position({} IN r.{column}) > 0", text(&name))
    })
}

/// The statement that reads the pages under some keys.
pub(super) fn pages(kind: RecordKind, keys: &BTreeSet<Vec<u8>>) -> String {
    let (name, keys) = (kind.as_str(), keys.iter().map(|key| bytes(key)).collect::<Vec<_>>());
    format!(
        "SELECT {BLOB}, key, value FROM @recall_blobs WHERE kind = '{name}' \
         AND key = ANY(ARRAY[{}]::bytea[])",
        keys.join(", ")
    )
}

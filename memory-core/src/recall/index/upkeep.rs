//! What keeping the indexes in step with the records, and looking whether they are, has in common on every
//! backend.

use super::check::Listed;
use crate::{Error, ErrorKind, RecordKind, verify::Problem};

/// The kinds of records that are recalled: each has an index.
pub const RECALLED: [RecordKind; 3] = [RecordKind::Episode, RecordKind::Turn, RecordKind::Note];

/// So many new records are indexed at once; fewer wait for more, since segments that are larger need less
/// merging. Recall reads those that wait as they are.
pub const BULK: usize = 1_024;

/// How many records are indexed in a step, at most.
pub const STEP: usize = 4_096;

/// How often it is tried to merge all there is while others commit: [`disturbed`] if they always do.
pub const ATTEMPTS: usize = 8;

/// How much memory a handle takes for pages of the indexes, in bytes.
pub const CACHE_BYTES: usize = 64 << 20;

/// The error if others went on to commit for as long as it was tried to merge all there is.
#[must_use]
pub fn disturbed() -> Error {
    let message = "others go on to change the store, so that its indexes are not merged whole";
    Error::new(ErrorKind::Timeout, message)
}

/// The error if an index finds the record `number`, and it is not there.
#[must_use]
pub fn lost(kind: RecordKind, number: u64) -> Error {
    Error::corrupt(kind.as_str(), number, "the recall index has a record that is not there")
}

/// What is wrong if an index lists the record `number` as `indexed`, and it is as `record` tells.
#[must_use]
pub fn difference(
    kind: RecordKind,
    number: u64,
    record: Option<&Listed>,
    indexed: &Listed,
) -> Option<Problem> {
    let message = match record {
        None => "the record is not there",
        Some(record) if record != indexed => "the record is indexed otherwise",
        Some(_) => return None,
    };
    Some(Problem::new(format!("recall index {} {number}", kind.as_str()), message))
}

/// What is wrong if so many records are in no index that should be.
#[must_use]
pub fn missing(kind: RecordKind, count: usize) -> Option<Problem> {
    let message = format!("{count} records are not indexed");
    (count > 0).then(|| Problem::new(format!("recall index {}", kind.as_str()), message))
}

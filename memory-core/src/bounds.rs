//! How large things may be. All are checked once, where a batch is prepared; beyond them the batch
//! is `InvalidArgument` with the field's name, and nothing is stored (`BOUNDS-NAME-07`,
//! `BOUNDS-JSON-01`, `BOUNDS-JSON-02`, `BOUNDS-BATCH-01`, `BOUNDS-BATCH-02`, `BOUNDS-TEXT-01`).

use crate::{Error, Json, Metadata, Result, json};

/// Ids, keys, tag names, workspace, role, status, step name: 1 KiB of UTF-8 (`BOUNDS-NAME-01`,
/// `BOUNDS-NAME-02`, `BOUNDS-NAME-03`), no more (`BOUNDS-NAME-04`, `BOUNDS-NAME-05`, `BOUNDS-NAME-06`).
pub const MAX_NAME_BYTES: usize = 1024;
/// Any other text or JSON: 64 MiB of UTF-8.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// How deep arrays and objects may nest in JSON.
pub const MAX_JSON_DEPTH: usize = 100;
/// Ops in a batch.
pub const MAX_BATCH_OPS: usize = 100_000;
/// Bytes of text and JSON in a batch: 256 MiB.
pub const MAX_BATCH_BYTES: usize = 256 << 20;

/// Measures the texts of a batch against the bounds, and adds them up.
#[derive(Default)]
pub(crate) struct Measure {
    total: usize,
}

impl Measure {
    /// All bytes measured so far.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    fn text_within(&mut self, field: &str, text: &str, limit: usize) -> Result<()> {
        self.add(field, text.len(), limit)
    }

    fn add(&mut self, field: &str, bytes: usize, limit: usize) -> Result<()> {
        limited(field, bytes, limit)?;
        self.total = self.total.saturating_add(bytes);
        if self.total > MAX_BATCH_BYTES {
            return Err(Error::invalid(
                "batch",
                format_args!("more than {MAX_BATCH_BYTES} bytes in all"),
            ));
        }
        Ok(())
    }

    pub(crate) fn id(&mut self, field: &str, id: &str) -> Result<()> {
        if id.is_empty() {
            return Err(Error::invalid(field, "an id must not be empty"));
        }
        self.name(field, id)
    }

    pub(crate) fn name(&mut self, field: &str, name: &str) -> Result<()> {
        self.text_within(field, name, MAX_NAME_BYTES)
    }

    pub(crate) fn text(&mut self, field: &str, text: &str) -> Result<()> {
        self.text_within(field, text, MAX_TEXT_BYTES)
    }

    pub(crate) fn json(&mut self, field: &str, value: &Json) -> Result<()> {
        if !json::depth_within(value, MAX_JSON_DEPTH) {
            return Err(Error::invalid(field, format_args!("nests deeper than {MAX_JSON_DEPTH}")));
        }
        self.add(field, json::len(value), MAX_TEXT_BYTES)
    }

    pub(crate) fn metadata(&mut self, field: &str, map: &Metadata) -> Result<()> {
        let mut bytes = 2;
        for (key, value) in map {
            if !json::depth_within(value, MAX_JSON_DEPTH - 1) {
                return Err(Error::invalid(
                    field,
                    format_args!("nests deeper than {MAX_JSON_DEPTH}"),
                ));
            }
            bytes += key.len() + 4 + json::len(value);
        }
        self.add(field, bytes, MAX_TEXT_BYTES)
    }
}

/// Whether so many bytes are within a bound.
pub(crate) fn limited(field: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes > limit {
        let message = format_args!("{bytes} bytes, at most {limit} are allowed");
        return Err(Error::invalid(field, message));
    }
    Ok(())
}

//! Bounds: names, texts, JSON and batches that are too long, too deep or too many.

use memkeep_core::{bounds::*, *};
use serde_json::Value;

use crate::{
    defect::Defect,
    mutant::{Mutant, mutant},
};

const NAMES: [&str; 12] = [
    "id",
    "session",
    "turn",
    "episode",
    "note",
    "workspace",
    "key",
    "role",
    "name",
    "status",
    "embedding_id",
    "sources",
];

/// Changes every name that a batch gives.
fn names(mut d: Defect, f: fn(&mut String)) -> Defect {
    for name in NAMES {
        d = d.field(name, move |value| match value {
            Value::String(text) => f(text),
            Value::Array(items) => items.iter_mut().for_each(|item| {
                if let Value::String(text) = item {
                    f(text);
                }
            }),
            _ => {}
        });
    }
    d
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("long names are cut", &["BOUNDS-NAME-04"], |d| {
        names(d, |name| name.truncate(name.floor_char_boundary(MAX_NAME_BYTES)))
    }),
    mutant(
        "names are cut at 255 bytes",
        &["BOUNDS-NAME-02", "BOUNDS-NAME-03", "BOUNDS-NAME-01"],
        |d| names(d, |name| name.truncate(name.floor_char_boundary(255))),
    ),
    mutant("a long key of a batch is cut", &["BOUNDS-NAME-07"], |d| {
        d.before(|batch: &mut Batch| {
            if let Some(key) = &mut batch.key {
                key.truncate(key.floor_char_boundary(MAX_NAME_BYTES));
            }
        })
    }),
    mutant("an empty key of a batch is none", &["BOUNDS-NAME-07"], |d| {
        d.before(|batch: &mut Batch| batch.key = batch.key.take().filter(|key| !key.is_empty()))
    }),
    mutant("empty ids are accepted", &["BOUNDS-NAME-07"], |d| {
        names(d, |name| {
            if name.is_empty() {
                name.push('x');
            }
        })
    }),
    mutant("JSON of half the depth is refused", &["BOUNDS-JSON-02", "BOUNDS-JSON-01"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            let json = serde_json::to_value(batch).unwrap();
            if depth(&json) > MAX_JSON_DEPTH / 2 {
                *result = Err(Error::invalid("value", "too deep"));
            }
        })
    }),
    mutant("JSON that is too deep is cut", &["BOUNDS-JSON-02"], |mut d| {
        for name in ["metadata", "payload", "value", "detail"] {
            d = d.field(name, |value| {
                if depth(value) > MAX_JSON_DEPTH {
                    *value = Value::Object(serde_json::Map::new());
                }
            });
        }
        d
    }),
    mutant("surplus ops of a batch are dropped", &["BOUNDS-BATCH-01"], |d| {
        d.before(|batch: &mut Batch| batch.ops.truncate(MAX_BATCH_OPS))
    }),
    mutant("a batch holds half as many ops", &["BOUNDS-BATCH-01"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            if batch.ops.len() > MAX_BATCH_OPS / 2 {
                *result = Err(Error::invalid("batch", "too many ops"));
            }
        })
    }),
    mutant("texts that are too long are cut", &["BOUNDS-TEXT-01"], |d| {
        d.op(|op| {
            let text = match op {
                Op::AddEpisode(new) => &mut new.problem,
                Op::AddNote(new) => &mut new.text,
                _ => return,
            };
            text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        })
    }),
    mutant("a batch that is too large is cut", &["BOUNDS-BATCH-02", "BOUNDS-TEXT-01"], |d| {
        d.before(|batch: &mut Batch| {
            let large = |op: &Op| matches!(op, Op::AddEpisode(new) if new.problem.len() > 1 << 20);
            batch.ops.retain(|op| !large(op));
        })
    }),
];

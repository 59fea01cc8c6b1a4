//! JSON as memkeep keeps it: integers of 64 bits exact, floats by shortest round trip.

use std::io;

use serde_json::Value;

/// Any JSON value.
pub type Json = Value;

/// A JSON object: what a caller wants to keep with a record.
pub type Metadata = serde_json::Map<String, Value>;

/// `value` as text in canonical form: no white space, object keys sorted bytewise. It does not
/// depend on an engine, nor on how this build orders maps.
pub fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Json, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(item, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Whether arrays and objects nest at most `limit` deep in `value`. A scalar has depth 0.
pub(crate) fn depth_within(value: &Json, limit: usize) -> bool {
    let mut within = |item: &Json| limit > 0 && depth_within(item, limit - 1);
    match value {
        Value::Array(items) => limit > 0 && items.iter().all(&mut within),
        Value::Object(map) => limit > 0 && map.values().all(&mut within),
        _ => true,
    }
}

/// The length of `value` as JSON text, in bytes.
pub(crate) fn len(value: &Json) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither a `Value` nor the counter can fail to be written.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

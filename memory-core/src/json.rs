//! JSON as memkeep keeps it: integers of 64 bits exact, floats by shortest round trip.

use std::{borrow::Cow, io};

use serde::Serialize;
use serde_json::{Value, ser::Formatter};

/// Any JSON value.
pub type Json = Value;

/// A JSON object: what a caller wants to keep with a record.
pub type Metadata = serde_json::Map<String, Value>;

/// `value` as text in canonical form: no white space, object keys sorted bytewise. It does not
/// depend on an engine, nor on how this build orders maps.
pub fn canonical(value: &Json) -> String {
    // JSON is text.
    String::from_utf8(to_canonical(value)).unwrap_or_default()
}

/// The same for anything that can be written as JSON, which it is to be: else what was written so far.
pub(crate) fn to_canonical(value: &impl Serialize) -> Vec<u8> {
    let mut sorter = Sorter::default();
    let _ = value.serialize(&mut serde_json::Serializer::with_formatter(&mut sorter, Marks));
    sorter.text
}

/// Where an object begins, where an entry of it does, and where it ends: bytes that no text has.
const OBJECT: u8 = 0xfd;
const ENTRY: u8 = 0xfe;
const END: u8 = 0xff;

/// Writes these instead of braces and commas of objects.
struct Marks;

impl Formatter for Marks {
    fn begin_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(&[OBJECT])
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, to: &mut W, _: bool) -> io::Result<()> {
        to.write_all(&[ENTRY])
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(&[END])
    }
}

/// Sorts the entries of each object as it ends.
#[derive(Default)]
struct Sorter {
    text: Vec<u8>,
    /// Of the objects that have not ended: where their entries begin.
    objects: Vec<Vec<usize>>,
}

impl Sorter {
    fn end(&mut self) {
        let Some(starts) = self.objects.pop() else { return };
        let start = starts.first().copied().unwrap_or(self.text.len());
        let ends = starts.iter().skip(1).copied().chain([self.text.len()]);
        let mut entries: Vec<_> =
            starts.iter().zip(ends).map(|(start, end)| &self.text[*start..end]).collect();
        entries.sort_by_cached_key(|entry| key(entry));
        let entries = entries.join(&b","[..]);
        self.text.truncate(start);
        self.text.push(b'{');
        self.text.extend_from_slice(&entries);
        self.text.push(b'}');
    }
}

/// The key that an entry begins with.
fn key(entry: &[u8]) -> Cow<'_, [u8]> {
    let text = entry.get(1..).unwrap_or_default();
    match text.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
        Some(end) if text[end] == b'"' => text[..end].into(),
        _ => {
            let key = serde_json::Deserializer::from_slice(entry).into_iter::<String>().next();
            key.and_then(Result::ok).unwrap_or_default().into_bytes().into()
        }
    }
}

impl io::Write for &mut Sorter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match *bytes {
            [OBJECT] => self.objects.push(Vec::new()),
            [ENTRY] => {
                if let Some(starts) = self.objects.last_mut() {
                    starts.push(self.text.len());
                }
            }
            [END] => self.end(),
            _ => self.text.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

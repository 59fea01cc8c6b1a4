//! Values: `VERSION` (one byte), a CRC-32 (4 bytes, big-endian) over key and content, then the content
//! in postcard's format. So a value that was altered, or stands under a key not its own, is told from
//! a sound one whatever the engine checks by itself.

use memkeep_core::{Error, ErrorKind, Result};
use postcard::{de_flavors::Slice, ser_flavors::StdVec};

/// The version of the content's format.
const VERSION: u8 = 1;

/// What content is written to.
pub(crate) type Output = postcard::Serializer<StdVec>;
/// What content is read from.
pub(crate) type Input<'de> = postcard::Deserializer<'de, Slice<'de>>;

/// The value that holds what `write` writes, to stand under `key`.
pub(crate) fn seal(
    key: &[u8],
    write: impl FnOnce(&mut Output) -> postcard::Result<()>,
) -> Result<Vec<u8>> {
    let mut output = Output { output: StdVec::new() };
    let content = write(&mut output).and_then(|()| {
        use postcard::ser_flavors::Flavor;
        output.output.finalize()
    });
    let content = content.map_err(|e| {
        Error::new(ErrorKind::Unexpected, "a record cannot be written").caused_by(e)
    })?;
    let mut value = Vec::with_capacity(5 + content.len());
    value.push(VERSION);
    value.extend(checksum(key, &content).to_be_bytes());
    value.extend(content);
    Ok(value)
}

/// What `read` reads from a value that stands under `key`; else what is wrong with it.
pub(crate) fn open<'v, T>(
    key: &[u8],
    value: &'v [u8],
    read: impl FnOnce(&mut Input<'v>) -> postcard::Result<T>,
) -> Result<T, String> {
    let (head, content) = value.split_first_chunk::<5>().ok_or("the value is cut short")?;
    let [version, sum @ ..] = *head;
    if version != VERSION {
        return Err(format!("the value's format is {version}, not {VERSION}"));
    }
    if u32::from_be_bytes(sum) != checksum(key, content) {
        return Err("the value's checksum is wrong".to_owned());
    }
    let mut input = Input::from_bytes(content);
    let decoded = read(&mut input).map_err(|e| format!("the value cannot be decoded: {e}"))?;
    match input.finalize() {
        Ok([]) => Ok(decoded),
        _ => Err("the value is longer than its content".to_owned()),
    }
}

fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(key);
    sum.update(content);
    sum.finalize()
}

//! What comes in by stdin.

use std::{
    env,
    io::{self, BufRead, Read},
};

use memkeep::{Error, bounds::MAX_TEXT_BYTES};
use serde::de::DeserializeOwned;
use tempfile::{NamedTempFile, TempPath};

use crate::{
    failure::{Failure, retold},
    files, parse,
};

/// `text`, the last of the words; or all of stdin, byte for byte, if it is `-` before any `--`, or
/// absent.
pub(crate) fn text(text: Option<String>) -> Result<String, Failure> {
    if let Some(text) = text.filter(|text| text != "-" || is_literal()) {
        return Ok(text);
    }
    // One byte more than is allowed, so that a longer text is refused and not cut.
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_TEXT_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_TEXT_BYTES {
        let message = format_args!("longer than {MAX_TEXT_BYTES} bytes");
        return Err(Failure::Input(Error::invalid("stdin", message)));
    }
    String::from_utf8(bytes).map_err(|e| Failure::Input(Error::invalid("stdin", e.utf8_error())))
}

/// Whether the last `-` stands after `--`.
fn is_literal() -> bool {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let end = words.iter().position(|word| word == "--");
    let text = words.iter().rposition(|word| word == "-");
    end.is_some_and(|end| text.is_some_and(|text| end < text))
}

/// The values of stdin, one a line as JSON, each with the line's number from 1 on; blank lines are
/// passed over.
pub(crate) fn values<T: DeserializeOwned>() -> impl Iterator<Item = Result<(usize, T), Failure>> {
    let blank = |line: &io::Result<Vec<u8>>| {
        line.as_ref().is_ok_and(|line| line.iter().all(u8::is_ascii_whitespace))
    };
    let lines = io::stdin().lock().split(b'\n').zip(1..).filter(move |(line, _)| !blank(line));
    lines.map(|(line, number)| {
        let line = line.map_err(unreadable)?;
        let line = str::from_utf8(&line).map_err(|e| wrong_line(number, e))?;
        Ok((number, parse::json(line).map_err(|e| wrong_line(number, e))?))
    })
}

/// An error that came of the line `number` of stdin.
pub(crate) fn at_line(error: &Error, number: usize) -> Error {
    retold(error, format!("line {number}: {}", error.message()), None).with("line", number)
}

/// All of stdin in a file that goes with the value.
pub(crate) fn spool() -> Result<TempPath, Failure> {
    let failed = |error| {
        let message = "stdin cannot be kept in the folder for temporary files";
        Error::new(files::kind(&error), message).caused_by(files::plain(error))
    };
    let mut file = NamedTempFile::new().map_err(failed)?;
    io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)?;
    Ok(file.into_temp_path())
}

fn unreadable(error: io::Error) -> Failure {
    Failure::Input(Error::new(files::kind(&error), "stdin cannot be read").caused_by(error))
}

/// `InvalidArgument`: the line `number` of stdin is not what it must be.
pub(crate) fn wrong_line(number: usize, message: impl std::fmt::Display) -> Failure {
    let message = format_args!("line {number}: {message}");
    Failure::Input(Error::invalid("stdin", message).with("line", number))
}

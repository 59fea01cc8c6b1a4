//! What comes in by stdin.

use std::io::{self, BufRead, Read};

use memkeep::{Error, bounds::MAX_TEXT_BYTES};

use crate::failure::Failure;

/// `text`, or all of stdin if it is `-` or absent, byte for byte.
pub(crate) fn text(text: Option<String>) -> Result<String, Failure> {
    if let Some(text) = text.filter(|text| text != "-") {
        return Ok(text);
    }
    // One byte more than is allowed, so that a longer text is refused and not cut.
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_TEXT_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_TEXT_BYTES {
        let message = format_args!("longer than {MAX_TEXT_BYTES} bytes");
        return Err(Failure::Input(Error::invalid("stdin", message)));
    }
    String::from_utf8(bytes).map_err(|e| Failure::Input(Error::invalid("stdin", e.utf8_error())))
}

/// The lines of stdin, each with its number, from 1 on.
pub(crate) fn lines() -> impl Iterator<Item = Result<(usize, String), Failure>> {
    io::stdin().lock().split(b'\n').zip(1..).map(|(line, number)| {
        let line = String::from_utf8(line?).map_err(|e| wrong_line(number, e.utf8_error()))?;
        Ok((number, line))
    })
}

/// `InvalidArgument`: the line `number` of stdin is not what it must be.
pub(crate) fn wrong_line(number: usize, message: impl std::fmt::Display) -> Failure {
    let message = format_args!("line {number}: {message}");
    Failure::Input(Error::invalid("stdin", message).with("line", number))
}

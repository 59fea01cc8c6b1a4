//! What commands print: tables and text for people, JSON lines for programs.

pub(crate) mod counts;
pub(crate) mod escape;
mod fields;
mod listing;
mod progress;
mod records;
mod table;

use std::{
    fmt::Display,
    io::{self, BufWriter, Stdout, Write},
};

use serde::Serialize;

pub(crate) use self::{
    fields::{Fields, Named, Render},
    listing::{Listing, View},
    progress::Progress,
    records::Found,
};
use crate::failure::Failure;

/// Where answers go, and in which form.
pub(crate) struct Output {
    out: BufWriter<Stdout>,
    json: bool,
    /// One workspace is named: a column that only repeats it is left out.
    scoped: bool,
}

impl Output {
    /// Answers on stdout.
    pub(crate) fn new(json: bool, scoped: bool) -> Self {
        Self { out: BufWriter::new(io::stdout()), json, scoped }
    }

    /// Whether a program is answered.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// A listing whose rows come one by one.
    pub(crate) fn listing<T: Render>(&mut self, view: View) -> Listing<'_, T> {
        Listing::new(self, view)
    }

    /// A listing whose rows are all here.
    pub(crate) fn rows<T: Render>(&mut self, view: View, rows: &[T]) -> Result<(), Failure> {
        let mut listing = self.listing(view);
        for row in rows {
            listing.row(row)?;
        }
        listing.finish()
    }

    /// One record with all its fields.
    pub(crate) fn record<T: Render>(&mut self, record: &T) -> Result<(), Failure> {
        if self.json { self.json_line(record) } else { self.text(&record.fields().to_text()) }
    }

    /// A record that was made: for people its id alone, which a shell can keep in a variable.
    pub(crate) fn created<T: Named>(&mut self, record: &T) -> Result<(), Failure> {
        if self.json { self.json_line(record) } else { self.note(record.id()) }
    }

    /// A line that only people are told.
    pub(crate) fn note(&mut self, line: impl Display) -> Result<(), Failure> {
        if self.json { Ok(()) } else { self.text(&escape::line(&line.to_string())) }
    }

    /// A value that is not a record: for people, `text`.
    pub(crate) fn value<T: Serialize>(&mut self, value: &T, text: &str) -> Result<(), Failure> {
        if self.json { self.json_line(value) } else { self.text(text) }
    }

    /// One line of JSON, whatever was asked for.
    pub(crate) fn json_line<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failure> {
        let json = serde_json::to_string(value)?;
        Ok(writeln!(self.out, "{}", escape::json(&json))?)
    }

    /// Text for people, made safe for their terminal.
    fn text(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{}", escape::text(text))?)
    }

    /// Hands over what has been written so far.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

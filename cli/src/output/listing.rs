use std::{
    io::{self, Write},
    marker::PhantomData,
};

use anstream::{AutoStream, ColorChoice};

use super::{
    Output, Render,
    fields::{Place, Value},
    table::{self, Head},
};
use crate::failure::Failure;

/// How people see a listing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// A row each, long texts cut.
    Table,
    /// A paragraph each, texts whole.
    Text,
}

/// A listing under way. What does not need to be lined up is printed as it comes.
pub(crate) struct Listing<'a, T> {
    out: &'a mut Output,
    view: View,
    heads: Vec<Head>,
    rows: Vec<Vec<Value>>,
    count: u64,
    kind: PhantomData<T>,
}

impl<'a, T: Render> Listing<'a, T> {
    pub(super) fn new(out: &'a mut Output, view: View) -> Self {
        Self { out, view, heads: Vec::new(), rows: Vec::new(), count: 0, kind: PhantomData }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: &T) -> Result<(), Failure> {
        self.count += 1;
        if self.out.json {
            return self.out.json_line(row);
        }
        if self.view == View::Text {
            if self.count > 1 {
                self.out.text("")?;
            }
            return self.out.text(&row.paragraph());
        }
        let scoped = self.out.scoped;
        let columns =
            row.fields().into_columns().filter(|field| !(scoped && field.name == "workspace"));
        // Many long texts need not be kept to show the start of each.
        let (heads, values) = columns
            .map(|field| {
                (Head { name: field.name, spare: field.place == Place::Spare }, field.value.cut())
            })
            .unzip();
        self.heads = heads;
        self.rows.push(values);
        Ok(())
    }

    /// Prints what has been kept.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if self.count == 0 {
            return self.out.note(format_args!("no {}", T::NAMES));
        }
        if self.rows.is_empty() {
            return Ok(());
        }
        let bold = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        let lines = table::table(&self.heads, &self.rows, bold, table::room());
        for line in lines {
            writeln!(self.out.out, "{line}")?;
        }
        Ok(())
    }
}

use std::{
    io::{self, Write},
    marker::PhantomData,
};

use anstream::{AutoStream, ColorChoice};

use super::{
    Output, Render,
    fields::{Value, lines},
    table,
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
    names: Vec<&'static str>,
    rows: Vec<Vec<Value>>,
    count: u64,
    kind: PhantomData<T>,
}

impl<'a, T: Render> Listing<'a, T> {
    pub(super) fn new(out: &'a mut Output, view: View) -> Self {
        Self { out, view, names: Vec::new(), rows: Vec::new(), count: 0, kind: PhantomData }
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
        let (names, values) = columns.map(|field| (field.name, field.value.cut())).unzip();
        self.names = names;
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
        let Some(lines) = table::table(&self.names, &self.rows, bold, table::room()) else {
            return self.paragraphs();
        };
        for line in lines {
            writeln!(self.out.out, "{line}")?;
        }
        Ok(())
    }

    /// The same cells one beneath the other, for a terminal too narrow for the table.
    fn paragraphs(self) -> Result<(), Failure> {
        for (i, row) in self.rows.iter().enumerate() {
            if i > 0 {
                self.out.text("")?;
            }
            let cells = self.names.iter().copied().zip(row.iter().map(Value::to_cell));
            self.out.text(&lines(cells))?;
        }
        Ok(())
    }
}

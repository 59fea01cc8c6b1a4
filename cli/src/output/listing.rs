use std::{
    io::{self, Write},
    marker::PhantomData,
};

use anstream::{AutoStream, ColorChoice};
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets,
};

use super::{
    Output, Render,
    fields::{Value, lines},
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
        let (names, values) = columns.map(|field| (field.name, field.value)).unzip();
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
        let mut table = table(&self.names, &self.rows);
        // Some terminals do not know their width, and say 0.
        if let Some(room) = table.width().filter(|room| *room > 0) {
            if room < least_width(&table, &self.rows) {
                return self.paragraphs();
            }
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        for line in table.lines() {
            writeln!(self.out.out, "{}", line.trim_end())?;
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

/// What stands between two columns.
const GAP: u16 = 2;

fn table(names: &[&str], rows: &[Vec<Value>]) -> Table {
    let bold = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(names.iter().map(|name| {
        let head = Cell::new(name.replace('_', " ").to_uppercase());
        if bold { head.add_attribute(Attribute::Bold) } else { head }
    }));
    for values in rows {
        let mut row = Row::new();
        // Where texts are wrapped, a few lines are enough to recognise them.
        row.max_height(3);
        for value in values {
            let cell = Cell::new(value.to_cell());
            let number = matches!(value, Value::Number(_));
            row.add_cell(if number { cell.set_alignment(CellAlignment::Right) } else { cell });
        }
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i + 1 < names.len() { GAP } else { 0 }));
        if !wraps(rows, i) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// Whether a column holds texts, which may be wrapped.
fn wraps(rows: &[Vec<Value>], column: usize) -> bool {
    rows.iter().any(|row| matches!(row.get(column), Some(Value::Text(_))))
}

/// The width under which the table could not be read.
fn least_width(table: &Table, rows: &[Vec<Value>]) -> u16 {
    /// Of a column of wrapped text.
    const LEAST: u16 = 16;
    let widths = table.column_max_content_widths().into_iter().enumerate();
    let least = |(i, width): (usize, u16)| if wraps(rows, i) { width.min(LEAST) } else { width };
    let whole: u16 = widths.map(least).fold(0, |sum, width| u16::saturating_add(sum, width + GAP));
    whole.saturating_sub(GAP)
}

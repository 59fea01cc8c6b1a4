use comfy_table::{Cell, CellAlignment, Table, presets};
use serde_json::Value;

/// What a run has measured: rows that are printed as JSON lines when they come, or as tables at the
/// end.
pub(crate) struct Report {
    json: bool,
    tables: Vec<Vec<Row>>,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, tables: Vec::new() }
    }

    /// Adds rows, which have the same columns.
    pub(crate) fn table(&mut self, rows: Vec<Row>) {
        if self.json {
            for row in rows {
                println!("{}", row.into_json());
            }
        } else {
            self.tables.push(rows);
        }
    }

    /// Prints the tables.
    pub(crate) fn finish(self) {
        for (i, rows) in self.tables.iter().enumerate() {
            if i > 0 {
                println!();
            }
            println!("{}", table(rows));
        }
    }
}

/// Says on stderr what is being done.
pub(crate) fn doing(what: impl std::fmt::Display) {
    eprintln!("{what} …");
}

/// Named figures of one thing measured. Units stand in the names.
#[derive(Clone, Default)]
pub(crate) struct Row(Vec<(&'static str, Value)>);

impl Row {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// A figure of which so many digits after the point mean something; none if it is no number.
    pub(crate) fn figure(self, name: &'static str, value: f64, digits: u32) -> Self {
        let scale = 10_f64.powi(digits.cast_signed());
        self.with(name, (value * scale).round() / scale)
    }

    pub(crate) fn into_json(self) -> Value {
        Value::Object(self.0.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(Row(first)) = rows.first() {
        table.set_header(first.iter().map(|(name, _)| name.replace('_', " ")));
    }
    for Row(row) in rows {
        table.add_row(row.iter().map(|(_, value)| match value {
            Value::Null => Cell::new("-").set_alignment(CellAlignment::Right),
            Value::String(text) => Cell::new(text),
            number => Cell::new(number).set_alignment(CellAlignment::Right),
        }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

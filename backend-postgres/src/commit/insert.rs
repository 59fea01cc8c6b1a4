use std::borrow::Cow;

use sqlx::{Encode, Postgres, Type, postgres::PgHasArrayType};

use crate::{escape::escape, statement::Statement, transaction::Attempt};

/// A statement that puts rows of several tables at once.
#[derive(Default)]
pub(super) struct Puts {
    statement: Statement,
    parts: Vec<String>,
    /// The parts that put rows: what each is called.
    counted: Vec<String>,
    expected: i64,
}

/// The columns of rows that are put into one table: a list of values each.
pub(super) struct Columns<'p> {
    puts: &'p mut Puts,
    rows: usize,
    names: Vec<&'static str>,
    values: Vec<String>,
}

impl Puts {
    pub(super) fn is_empty(&self) -> bool {
        self.counted.is_empty()
    }

    /// Adds a common table expression.
    pub(super) fn with(&mut self, sql: String) {
        self.parts.push(sql);
    }

    pub(super) fn texts<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> Attempt<String> {
        self.statement.value(texts.map(escape).collect::<Vec<Cow<'t, str>>>())
    }

    pub(super) fn columns(&mut self, rows: usize) -> Columns<'_> {
        Columns { puts: self, rows, names: Vec::new(), values: Vec::new() }
    }

    /// The statement, and how many rows it is to say that it put.
    pub(super) fn finish(mut self) -> (Statement, i64) {
        let counts: Vec<_> =
            self.counted.iter().map(|name| format!("(SELECT count(*) FROM {name})")).collect();
        self.statement.sql =
            format!("WITH {} SELECT {}", self.parts.join(", "), counts.join(" + "));
        (self.statement, self.expected)
    }
}

impl Columns<'_> {
    /// Adds a column: one value a row.
    pub(super) fn column<'q, T>(
        mut self,
        name: &'static str,
        values: impl Iterator<Item = T>,
    ) -> Attempt<Self>
    where
        T: PgHasArrayType + Encode<'q, Postgres> + Type<Postgres> + 'q,
        Vec<T>: Encode<'q, Postgres> + Type<Postgres>,
    {
        let values = self.puts.statement.value(values.collect::<Vec<T>>())?;
        self.names.push(name);
        self.values.push(values);
        Ok(self)
    }

    /// Adds a column of texts.
    pub(super) fn texts<'t>(
        self,
        name: &'static str,
        texts: impl Iterator<Item = &'t str>,
    ) -> Attempt<Self> {
        self.column(name, texts.map(escape))
    }

    /// Adds a column of texts that may be missing.
    pub(super) fn maybe_texts<'t>(
        self,
        name: &'static str,
        texts: impl Iterator<Item = Option<&'t str>>,
    ) -> Attempt<Self> {
        self.column(name, texts.map(|text| text.map(escape)))
    }

    fn rows(&self) -> String {
        let names = self.names.join(", ");
        format!("unnest({}) WITH ORDINALITY AS v({names}, n)", self.values.join(", "))
    }

    /// Inserts the rows in their order, each with the next number. The column `workspace` holds names,
    /// `session` ids.
    pub(super) fn insert(self, table: &str) {
        let rows = self.rows();
        let (mut joins, mut columns, mut values) = (String::new(), String::new(), String::new());
        for name in &self.names {
            columns += ", ";
            columns += name;
            match *name {
                "workspace" => {
                    joins += " JOIN w ON w.name = v.workspace";
                    values += ", w.pk";
                }
                "session" => {
                    joins += " JOIN s ON s.id = v.session";
                    values += ", s.pk";
                }
                name => {
                    values += ", v.";
                    values += name;
                }
            }
        }
        let sql = format!(
            "INSERT INTO @{table} (pk{columns}) SELECT @NUMBER{values} \
             FROM {rows}{joins} CROSS JOIN gate ORDER BY v.n"
        );
        self.count(
            &format!("new_{table}"),
            &sql,
            if table == "sessions" { "pk, id" } else { "pk" },
        );
    }

    /// Adds a common table expression over the rows, `v`.
    pub(super) fn beside(self, sql: impl FnOnce(&str) -> String) -> Self {
        let sql = sql(&self.rows());
        self.puts.parts.push(sql);
        self
    }

    /// Inserts rows that have no number.
    pub(super) fn insert_plain(self, table: &str, end: &str) {
        let (names, rows) = (self.names.join(", "), self.rows());
        let columns = names.replace("workspace", "w.pk");
        let join = if columns == names { "" } else { " JOIN w ON w.name = v.workspace" };
        let sql =
            format!("INSERT INTO @{table} ({names}) SELECT {columns} FROM {rows}{join} {end}");
        self.count(&format!("new_{table}"), &sql, "1");
    }

    /// Changes the rows that have the first columns' values, in the others.
    pub(super) fn update(self, table: &str, by: &str) {
        let set: Vec<_> = self
            .names
            .iter()
            .filter(|name| !matches!(**name, "id" | "key" | "workspace"))
            .map(|name| format!("{name} = v.{name}"))
            .collect();
        let sql =
            format!("UPDATE @{table} r SET {} FROM {} WHERE {by}", set.join(", "), self.rows());
        self.count(&format!("old_{table}"), &sql, "1");
    }

    fn count(self, name: &str, sql: &str, returning: &str) {
        self.puts.parts.push(format!("{name} AS ({sql} RETURNING {returning})"));
        self.puts.counted.push(name.to_owned());
        self.puts.expected += i64::try_from(self.rows).unwrap_or(i64::MAX);
    }
}

use sqlx::{Arguments as _, Encode, Postgres, Type, postgres::PgArguments};

use crate::transaction::Attempt;

/// A statement in the making. In its text `@` stands for the schema.
#[derive(Default)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) arguments: PgArguments,
}

impl Statement {
    pub(crate) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), arguments: PgArguments::default() }
    }

    /// Adds a value; returns its place in the text.
    pub(crate) fn value<'q, T>(&mut self, value: T) -> Attempt<String>
    where
        T: Encode<'q, Postgres> + Type<Postgres> + 'q,
    {
        self.arguments.add(value).map_err(sqlx::Error::Encode)?;
        Ok(format!("${}", self.arguments.len()))
    }

    /// Adds the next value.
    pub(crate) fn bind<'q, T>(mut self, value: T) -> Attempt<Self>
    where
        T: Encode<'q, Postgres> + Type<Postgres> + 'q,
    {
        self.value(value)?;
        Ok(self)
    }
}

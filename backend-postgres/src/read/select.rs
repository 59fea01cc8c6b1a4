use std::marker::PhantomData;

use memkeep_core::{Page, Position, Result, Scope, Window};
use sqlx::{Encode, Postgres, Type, postgres::PgRow};

use super::decoded;
use crate::{
    cells::Cells,
    escape::escape,
    rows::{Table, decode},
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// Rows of a table, `r`, under conditions.
pub(super) struct Select<T> {
    statement: Statement,
    joins: &'static str,
    conditions: Vec<String>,
    rows: PhantomData<T>,
}

impl<T: Table> Select<T> {
    pub(super) fn new() -> Self {
        Self {
            statement: Statement::default(),
            joins: "",
            conditions: Vec::new(),
            rows: PhantomData,
        }
    }

    pub(super) fn in_scope(scope: &Scope) -> Attempt<Self> {
        let mut select = Self::new();
        if let Some(workspace) = scope.workspace() {
            let name = select.value(escape(workspace.as_str()))?;
            let sql = format!("r.workspace = (SELECT pk FROM @workspaces WHERE name = {name})");
            select.only(sql);
        }
        Ok(select)
    }

    /// Adds a value; returns its place, for a condition.
    pub(super) fn value<'q, V>(&mut self, value: V) -> Attempt<String>
    where
        V: Encode<'q, Postgres> + Type<Postgres> + 'q,
    {
        self.statement.value(value)
    }

    /// Adds a condition.
    pub(super) fn only(&mut self, condition: impl Into<String>) {
        self.conditions.push(condition.into());
    }

    /// Adds other tables.
    pub(super) fn join(mut self, joins: &'static str) -> Self {
        self.joins = joins;
        self
    }

    /// At most `limit` rows in `order`, as they come.
    pub(super) async fn raw(
        mut self,
        transaction: &mut Transaction,
        order: &str,
        limit: usize,
    ) -> Attempt<Vec<PgRow>> {
        let columns = T::SHAPE.columns(0);
        let mut sql = format!("SELECT {columns} FROM @{} r{}", T::SHAPE.table, self.joins);
        for (n, condition) in self.conditions.iter().enumerate() {
            sql += if n == 0 { " WHERE " } else { " AND " };
            sql += condition;
        }
        let limit = self.value(i64::try_from(limit).unwrap_or(i64::MAX))?;
        self.statement.sql = format!("{sql} ORDER BY {order} LIMIT {limit}");
        transaction.rows(self.statement).await
    }

    /// At most `limit` rows in `order`.
    pub(super) async fn rows(
        self,
        transaction: &mut Transaction,
        order: &str,
        limit: usize,
    ) -> Attempt<Vec<T>> {
        decoded(&self.raw(transaction, order, limit).await?)
    }

    /// A page of the rows in `order`, which begins after the window's place by the conditions.
    pub(super) async fn page(
        self,
        transaction: &mut Transaction,
        order: &str,
        window: &Window,
        position: impl Fn(i64, &T) -> Position,
    ) -> Attempt<Page<T>> {
        // A page of nothing has no place to go on from, so it asks for no row more.
        if window.limit == 0 {
            return Ok(window.cut(Vec::new()));
        }
        let rows = self.raw(transaction, order, window.limit.saturating_add(1)).await?;
        let row = |row: &PgRow| {
            let record = decode::<T>(row)?;
            let position = position(Cells::new(row, T::SHAPE.table).pk()?, &record);
            Ok((record, position))
        };
        Ok(window.cut(rows.iter().map(row).collect::<Result<_>>()?))
    }
}

/// Numbers from a cursor that somebody made up may be larger than any that is stored.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

use std::marker::PhantomData;

use memkeep_core::{Page, Position, Result, Scope, Timestamp, Window};
use rusqlite::{Connection, params_from_iter, types::Value};

use crate::{
    error::failed,
    rows::{Cells, Table},
};

/// Rows of a table under conditions, read by an index in the order in which it holds them.
pub(super) struct Select<'c, T> {
    connection: &'c Connection,
    index: Option<&'static str>,
    conditions: Vec<(&'static str, Value)>,
    rows: PhantomData<T>,
}

/// The direction of a column in an index.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    Up,
    Down,
}

impl<'c, T: Table> Select<'c, T> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        Self { connection, index: None, conditions: Vec::new(), rows: PhantomData }
    }

    pub(super) fn in_scope(connection: &'c Connection, scope: &Scope) -> Self {
        let select = Self::new(connection);
        match scope.workspace() {
            Some(workspace) => select.only("workspace = ?", workspace.as_str().to_owned()),
            None => select,
        }
    }

    /// Names the index, where the planner might take another.
    pub(super) fn by(mut self, index: &'static str) -> Self {
        self.index = Some(index);
        self
    }

    /// Adds a condition, which has one parameter.
    pub(super) fn only(mut self, condition: &'static str, value: impl Into<Value>) -> Self {
        self.conditions.push((condition, value.into()));
        self
    }

    /// Calls `f` with each row under the conditions and `more`, in `order`, until it returns false.
    fn run(
        &self,
        more: &[(&str, i64)],
        order: &str,
        limit: i64,
        f: &mut dyn FnMut(&Cells<'_>) -> Result<bool>,
    ) -> Result<()> {
        let mut sql = format!("SELECT {} FROM {}", T::COLUMNS, T::TABLE);
        if let Some(index) = self.index {
            sql += " INDEXED BY ";
            sql += index;
        }
        let own = self.conditions.iter().map(|(condition, _)| *condition);
        for (i, condition) in own.chain(more.iter().map(|(condition, _)| *condition)).enumerate() {
            sql += if i == 0 { " WHERE " } else { " AND " };
            sql += condition;
        }
        sql += " ORDER BY ";
        sql += order;
        sql += " LIMIT ?";
        let values = self.conditions.iter().map(|(_, value)| value.clone());
        let values = values.chain(more.iter().map(|(_, value)| Value::Integer(*value)));
        let values = values.chain([Value::Integer(limit)]);
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            if !f(&Cells::new(self.connection, row, T::TABLE))? {
                break;
            }
        }
        Ok(())
    }

    /// All rows in order of insertion.
    pub(super) fn each(&self, f: &mut dyn FnMut(&Cells<'_>) -> Result<bool>) -> Result<()> {
        self.run(&[("pk > ?", i64::MIN)], "pk", i64::MAX, f)
    }

    /// Adds rows to a page, under the conditions and `more`, in `order`.
    pub(super) fn fill(
        &self,
        page: &mut Rows<'_, T>,
        more: &[(&str, i64)],
        order: &str,
        position: &impl Fn(i64, &T) -> Position,
    ) -> Result<()> {
        match page.left() {
            0 => Ok(()),
            left => self.run(more, order, left, &mut |cells| page.push(cells, position)),
        }
    }

    /// Adds rows to a page, in the order of a column whose values are unique under the conditions.
    pub(super) fn fill_by_number(
        &self,
        page: &mut Rows<'_, T>,
        column: &str,
        direction: Direction,
        after: Option<u64>,
        position: &impl Fn(i64, &T) -> Position,
    ) -> Result<()> {
        let (beyond, order) = direction.sql(column);
        let from = after.map_or(direction.start(), to_i64);
        self.fill(page, &[(&beyond, from)], &order, position)
    }

    /// A page in order of insertion.
    pub(super) fn by_insertion(&self, window: &Window) -> Result<Page<T>> {
        let mut page = Rows::new(window);
        let position = |pk: i64, _: &T| Position::Insertion(pk.unsigned_abs());
        self.fill_by_number(&mut page, "pk", Direction::Up, window.insertion(), &position)?;
        Ok(page.page())
    }

    /// A page in the order of a time, ties by insertion. Going on after a row takes two ranges of
    /// the index: the rest of its ties, and what is beyond; one condition for both would lose it.
    pub(super) fn by_time(
        &self,
        column: &str,
        direction: Direction,
        window: &Window,
        at: impl Fn(&T) -> Timestamp,
    ) -> Result<Page<T>> {
        let mut page = Rows::new(window);
        let position = |pk: i64, row: &T| Position::Time(at(row), pk.unsigned_abs());
        let mut from = direction.start();
        if let Some((time, pk)) = window.time() {
            from = time.as_micros();
            let tied = format!("{column} = ?");
            let more = [(tied.as_str(), from), ("pk > ?", to_i64(pk))];
            self.fill(&mut page, &more, "pk", &position)?;
        }
        let (beyond, order) = direction.sql(column);
        self.fill(&mut page, &[(&beyond, from)], &format!("{order}, pk"), &position)?;
        Ok(page.page())
    }
}

impl Direction {
    /// The condition for what lies beyond a value, and the order.
    fn sql(self, column: &str) -> (String, String) {
        match self {
            Self::Up => (format!("{column} > ?"), column.to_owned()),
            Self::Down => (format!("{column} < ?"), format!("{column} DESC")),
        }
    }

    /// What lies before every value, so that the first page is a range as the others are.
    fn start(self) -> i64 {
        match self {
            Self::Up => i64::MIN,
            Self::Down => i64::MAX,
        }
    }
}

/// The rows of a page as they come: one more than asked for, to see whether any is left. An empty
/// page is asked for without looking.
pub(super) struct Rows<'w, T> {
    rows: Vec<(T, Position)>,
    window: &'w Window,
}

impl<'w, T: Table> Rows<'w, T> {
    pub(super) fn new(window: &'w Window) -> Self {
        Self { rows: Vec::new(), window }
    }

    /// How many rows are still wanted.
    fn left(&self) -> i64 {
        if self.window.limit == 0 {
            return 0;
        }
        let left = self.window.limit.saturating_add(1) - self.rows.len();
        i64::try_from(left).unwrap_or(i64::MAX)
    }

    /// Whether the page could hold more.
    pub(super) fn wants_more(&self) -> bool {
        self.left() > 0
    }

    fn push(&mut self, cells: &Cells<'_>, position: &impl Fn(i64, &T) -> Position) -> Result<bool> {
        let row = T::decode(cells)?;
        let position = position(cells.pk()?, &row);
        self.rows.push((row, position));
        Ok(true)
    }

    pub(super) fn page(self) -> Page<T> {
        self.window.cut(self.rows)
    }
}

/// Numbers from a cursor that somebody made up may be larger than any that is stored.
fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

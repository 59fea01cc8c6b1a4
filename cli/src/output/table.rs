//! Tables as wide as there is room for.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets,
};

use super::fields::Value;

/// What stands between two columns.
const GAP: u16 = 2;
/// The least width of a column of wrapped text.
const LEAST: u16 = 16;

/// The columns that the terminal on stdout has, if it is one. Some do not know it, and say 0.
pub(super) fn room() -> Option<u16> {
    Table::new().width().filter(|room| *room > 0)
}

/// The lines of a table; nothing if it could not be read in so little room.
pub(super) fn table(
    names: &[&str],
    rows: &[Vec<Value>],
    bold: bool,
    room: Option<u16>,
) -> Option<Vec<String>> {
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
    let widths = table.column_max_content_widths();
    let mut least: u16 = 0;
    for (i, (column, width)) in table.column_iter_mut().zip(widths).enumerate() {
        let gap = if i + 1 < names.len() { GAP } else { 0 };
        let wraps = rows.iter().any(|row| matches!(row.get(i), Some(Value::Text(_))));
        column.set_padding((0, gap));
        if !wraps {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
        least = least.saturating_add(if wraps { width.min(LEAST) } else { width } + gap);
    }
    if let Some(room) = room {
        if room < least {
            return None;
        }
        table.set_width(room).set_content_arrangement(ContentArrangement::Dynamic);
    }
    Some(table.lines().map(|line| line.trim_end().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(room: Option<u16>) -> Option<String> {
        let row = |id: &str, n: u64, text: &str| {
            vec![Value::Name(id.to_owned()), n.into(), Value::Absent, text.into()]
        };
        let rows = [
            row("ep-1", 7, "short"),
            row("ep-12345", 1_000, "workers crash after each deploy and nobody knows why"),
        ];
        let lines = table(&["id", "turns", "ended_at", "first_prompt"], &rows, false, room)?;
        Some(lines.join("\n"))
    }

    #[test]
    fn nothing_is_wrapped_where_there_is_room_or_no_terminal() {
        let whole = "\
ID        TURNS  ENDED AT  FIRST PROMPT
ep-1          7            short
ep-12345   1000            workers crash after each deploy and nobody knows why";
        assert_eq!(drawn(None).as_deref(), Some(whole));
        assert_eq!(drawn(Some(80)).as_deref(), Some(whole));
    }

    #[test]
    fn texts_are_wrapped_and_names_are_not() {
        let wrapped = "\
ID        TURNS  ENDED AT  FIRST PROMPT
ep-1          7            short
ep-12345   1000            workers crash after
                           each deploy and
                           nobody knows why";
        assert_eq!(drawn(Some(48)).as_deref(), Some(wrapped));
    }

    #[test]
    fn there_is_no_table_in_too_little_room() {
        assert!(drawn(Some(43)).is_some());
        assert_eq!(drawn(Some(42)), None);
        assert_eq!(drawn(Some(1)), None);
    }

    #[test]
    fn a_table_never_leaves_its_room() {
        for room in 1..120 {
            let lines = drawn(Some(room)).unwrap_or_default();
            let widest = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= usize::from(room), "{room}: {lines}");
            let rows = [vec!["👩‍👩‍👧 部署 e\u{301}".into(), "\u{200b}".repeat(50).into(), "".into()]];
            table(&["a", "b", "c"], &rows, true, Some(room));
        }
    }

    #[test]
    fn a_wide_character_takes_its_two_columns() {
        let rows = [vec!["部署方案".into(), 1_u64.into()], vec!["plan".into(), 2_u64.into()]];
        let lines = table(&["text", "n"], &rows, false, Some(80));
        assert_eq!(lines.unwrap(), ["TEXT      N", "部署方案  1", "plan      2"]);
    }
}

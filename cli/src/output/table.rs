//! Tables as wide as there is room for.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Table, presets,
};

use super::fields::Value;

/// What stands between two columns.
const GAP: u16 = 2;
/// The least width of a column of wrapped text.
const LEAST: u16 = 12;

/// The columns that the terminal on stdout has, if it is one. Some do not know it, and say 0.
pub(super) fn room() -> Option<u16> {
    Table::new().width().filter(|room| *room > 0)
}

/// The head of a column.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) name: &'static str,
    /// Whether it can be left out.
    pub(super) spare: bool,
}

/// The lines of a table without the columns that there is no room for; without room even for the
/// others, the cells of each row one beneath the other.
pub(super) fn table(
    heads: &[Head],
    rows: &[Vec<Value>],
    bold: bool,
    room: Option<u16>,
) -> Vec<String> {
    let mut shown: Vec<usize> = (0..heads.len()).collect();
    loop {
        if let Some(lines) = whole(heads, rows, &shown, bold, room) {
            return lines;
        }
        match shown.iter().rposition(|column| heads[*column].spare) {
            Some(last) => shown.remove(last),
            None => return blocks(heads, rows, room),
        };
    }
}

/// The table of the columns `shown`; nothing if it could not be read in so little room.
fn whole(
    heads: &[Head],
    rows: &[Vec<Value>],
    shown: &[usize],
    bold: bool,
    room: Option<u16>,
) -> Option<Vec<String>> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(shown.iter().map(|column| {
        let head = Cell::new(heads[*column].name.replace('_', " ").to_uppercase());
        if bold { head.add_attribute(Attribute::Bold) } else { head }
    }));
    for values in rows {
        let mut row = Row::new();
        // Where texts are wrapped, a few lines are enough to recognise them.
        row.max_height(3);
        for column in shown {
            let value = &values[*column];
            let cell = Cell::new(value.to_cell());
            let number = matches!(value, Value::Number(_));
            row.add_cell(if number { cell.set_alignment(CellAlignment::Right) } else { cell });
        }
        table.add_row(row);
    }
    let widths = table.column_max_content_widths();
    let mut least: u16 = 0;
    for (i, (column, width)) in table.column_iter_mut().zip(widths).enumerate() {
        let gap = if i + 1 < shown.len() { GAP } else { 0 };
        let wraps = rows.iter().any(|row| matches!(row[shown[i]], Value::Text(_)));
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
    Some(drawn(&table))
}

/// A line a cell, the further lines of a wrapped value beneath its first.
fn blocks(heads: &[Head], rows: &[Vec<Value>], room: Option<u16>) -> Vec<String> {
    let mut lines = Vec::new();
    for values in rows {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        for (head, value) in heads.iter().zip(values) {
            let text = value.to_cell();
            if !text.is_empty() {
                table.add_row([head.name, &text]);
            }
        }
        for (column, gap) in table.column_iter_mut().zip([GAP, 0]) {
            column.set_padding((0, gap));
            if gap > 0 {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        if let Some(room) = room {
            table.set_width(room).set_content_arrangement(ContentArrangement::Dynamic);
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(drawn(&table));
    }
    lines
}

fn drawn(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(names: &[&'static str]) -> Vec<Head> {
        names
            .iter()
            .map(|name| Head { name, spare: ["turns", "ended_at"].contains(name) })
            .collect()
    }

    fn shown(room: Option<u16>) -> String {
        let row = |id: &str, n: u64, text: &str| {
            vec![Value::Name(id.to_owned()), n.into(), Value::Absent, text.into()]
        };
        let rows = [
            row("ep-1", 7, "short"),
            row("ep-12345", 1_000, "workers crash after each deploy and nobody knows why"),
        ];
        let heads = heads(&["id", "turns", "ended_at", "first_prompt"]);
        table(&heads, &rows, false, room).join("\n")
    }

    #[test]
    fn nothing_is_wrapped_where_there_is_room_or_no_terminal() {
        let whole = "\
ID        TURNS  ENDED AT  FIRST PROMPT
ep-1          7            short
ep-12345   1000            workers crash after each deploy and nobody knows why";
        assert_eq!(shown(None), whole);
        assert_eq!(shown(Some(80)), whole);
    }

    #[test]
    fn texts_are_wrapped_and_names_are_not() {
        let wrapped = "\
ID        TURNS  ENDED AT  FIRST PROMPT
ep-1          7            short
ep-12345   1000            workers crash after
                           each deploy and
                           nobody knows why";
        assert_eq!(shown(Some(48)), wrapped);
    }

    #[test]
    fn what_can_be_spared_goes_before_the_table_does() {
        let head = |room| shown(Some(room)).lines().next().unwrap_or_default().to_owned();
        assert_eq!(head(39), "ID        TURNS  ENDED AT  FIRST PROMPT");
        assert_eq!(head(38), "ID        TURNS  FIRST PROMPT");
        assert_eq!(head(28), "ID        FIRST PROMPT");
        let blocks = "\
id            ep-1
turns         7
first_prompt  short

id            ep-1234
              5
turns         1000
first_prompt  workers
              crash
              after
              each
              deploy
              and
              nobody
              knows
              why";
        assert_eq!(shown(Some(21)), blocks);
    }

    #[test]
    fn a_table_never_leaves_its_room() {
        for room in 20..120 {
            let lines = shown(Some(room));
            let widest = lines.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= usize::from(room), "{room}: {lines}");
        }
        for room in 1..120 {
            shown(Some(room));
            let rows = [vec!["👩‍👩‍👧 部署 e\u{301}".into(), "\u{200b}".repeat(50).into(), "".into()]];
            table(&heads(&["a", "b", "c"]), &rows, true, Some(room));
        }
    }

    #[test]
    fn a_wide_character_takes_its_two_columns() {
        let rows = [vec!["部署方案".into(), 1_u64.into()], vec!["plan".into(), 2_u64.into()]];
        let lines = table(&heads(&["text", "n"]), &rows, false, Some(80));
        assert_eq!(lines, ["TEXT      N", "部署方案  1", "plan      2"]);
    }
}

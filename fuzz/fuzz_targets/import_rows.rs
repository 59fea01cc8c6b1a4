//! A database of MuseEngine or velune with the right tables, and anything in their cells.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::{Corpus, fuzz_target};
use memkeep_fuzz::{Folder, check_import, run};
use rusqlite::{Connection, ToSql, types::ToSqlOutput};

#[derive(Arbitrary, Debug)]
struct Input {
    muse: bool,
    workspace: Option<String>,
    rows: Vec<(u8, [Cell; 8])>,
}

#[derive(Arbitrary, Debug)]
enum Cell {
    /// One of a few ids, so that rows refer to each other.
    Id(u8),
    Null,
    Integer(i64),
    Small(i8),
    Real(f64),
    Text(String),
    /// Text that need not be UTF-8.
    Blob(Vec<u8>),
    Json(Json),
}

#[derive(Arbitrary, Debug)]
enum Json {
    Ids(Vec<u8>),
    Number(String),
    Object(Vec<(String, String)>),
    Deep(u8),
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Id(id) => format!("id-{}", id % 4).into(),
            Self::Null => rusqlite::types::Null.into(),
            Self::Integer(n) => (*n).into(),
            Self::Small(n) => i64::from(*n).into(),
            Self::Real(n) => (*n).into(),
            Self::Text(text) => text.as_str().into(),
            Self::Blob(bytes) => bytes.as_slice().into(),
            Self::Json(json) => match json {
                Json::Ids(ids) => {
                    let ids: Vec<_> = ids.iter().map(|id| format!("\"id-{}\"", id % 4)).collect();
                    format!("[{}]", ids.join(","))
                }
                Json::Number(text) => format!("{{\"a\":[{text}]}}"),
                Json::Object(pairs) => {
                    let pairs: Vec<_> =
                        pairs.iter().map(|(key, value)| format!("\"{key}\":\"{value}\"")).collect();
                    format!("{{{}}}", pairs.join(","))
                }
                Json::Deep(depth) => {
                    let depth = usize::from(*depth);
                    "[".repeat(depth) + &"]".repeat(depth)
                }
            }
            .into(),
        })
    }
}

/// Tables with the columns that are read.
type Tables = &'static [(&'static str, &'static str)];

const MUSE: Tables = &[
    ("episodes", "id, problem, summary, is_open, created_at"),
    ("notes", "text, source_episode_ids, created_at"),
    ("state", "key, value"),
    ("audit", "at, action, decision, detail"),
];
const VELUNE: Tables = &[
    (
        "sessions",
        "id, workspace_root, started_at, ended_at, model_used, mode, total_tokens, summary",
    ),
    (
        "turns",
        "session_id, id, role, content, tokens_used, created_at, turn_index, model_used, embedding_id",
    ),
    ("memory_tags", "turn_id, tag, value"),
    ("conversation_turns", "session_id, role, content, timestamp, metadata"),
    ("execution_steps", "session_id, step_name, status, payload, timestamp"),
];

/// How many rows are worth the time.
const ROWS: usize = 12;

fn fill(database: &Connection, input: &Input) -> rusqlite::Result<()> {
    let tables = if input.muse { MUSE } else { VELUNE };
    for (name, columns) in tables {
        database.execute_batch(&format!("CREATE TABLE {name}({columns})"))?;
    }
    for (table, cells) in &input.rows {
        let (name, columns) = tables[usize::from(*table) % tables.len()];
        let columns: Vec<_> = columns.split(", ").take(cells.len()).collect();
        let marks = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {name}({}) VALUES({marks})", columns.join(", "));
        database.execute(&sql, rusqlite::params_from_iter(&cells[..columns.len()]))?;
    }
    Ok(())
}

thread_local! {
    static FOLDER: Folder = Folder::new();
}

fuzz_target!(|input: Input| -> Corpus {
    if input.rows.len() > ROWS {
        return Corpus::Reject;
    }
    FOLDER.with(|folder| {
        let mut database = Connection::open_in_memory().expect("a database in memory");
        fill(&database, &input).expect("the rows are stored");
        let bytes = database.serialize(rusqlite::MAIN_DB).expect("a database");
        run(check_import(&folder.write(&bytes), input.workspace.as_deref()));
        Corpus::Keep
    })
});

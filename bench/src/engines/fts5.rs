use std::path::{Path, PathBuf};

use anyhow::Result;
use rusqlite::Connection;

use super::Engine;
use crate::folder;

/// SQLite's full-text search over a table with the texts; any word, best first.
pub(crate) struct Fts5 {
    path: PathBuf,
    connection: Connection,
}

impl Fts5 {
    /// `tokenizer` is that of FTS5, with its options.
    pub(crate) fn new(path: &Path, tokenizer: &str) -> Result<Self> {
        let connection = open(path)?;
        connection.execute_batch(&format!(
            "CREATE TABLE documents (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
             CREATE VIRTUAL TABLE search USING fts5(text, content='documents', content_rowid='id', \
             tokenize='{tokenizer}');
             CREATE TRIGGER added AFTER INSERT ON documents BEGIN
                 INSERT INTO search (rowid, text) VALUES (new.id, new.text);
             END"
        ))?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// The numbers, from 1 in order of insertion, and the texts of the best `k`.
    pub(crate) fn ranked(&self, query: &str, k: usize) -> Result<Vec<(i64, String)>> {
        let sql = "SELECT rowid, text FROM search WHERE search MATCH ? ORDER BY rank LIMIT ?";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map((query, k), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// The query for any of some words.
pub(crate) fn or_query<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let quoted: Vec<_> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    quoted.join(" OR ")
}

fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

impl Engine for Fts5 {
    fn name(&self) -> &'static str {
        "fts5"
    }

    fn scorers(&self) -> &'static [&'static str] {
        &["rank"]
    }

    fn add(&mut self, documents: &[String]) -> Result<()> {
        let transaction = self.connection.transaction()?;
        for text in documents {
            let sql = "INSERT INTO documents (text) VALUES (?)";
            transaction.prepare_cached(sql)?.execute([text])?;
        }
        Ok(transaction.commit()?)
    }

    fn reopen(&mut self) -> Result<()> {
        self.connection = Connection::open_in_memory()?;
        self.connection = open(&self.path)?;
        Ok(())
    }

    fn search(&mut self, _: &str, words: &[&str], k: usize) -> Result<Vec<String>> {
        let found = self.ranked(&or_query(words.iter().copied()), k)?;
        Ok(found.into_iter().map(|(_, text)| text).collect())
    }

    fn bytes(&mut self) -> Result<(u64, Option<u64>)> {
        let sql = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'search%'";
        let index: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        Ok((folder::bytes(&self.path)?, Some(index.unsigned_abs())))
    }
}

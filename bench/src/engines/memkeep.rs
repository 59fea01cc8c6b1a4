use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, bail};
use memkeep::{
    Batch, MemoryBackend, NewEpisode, NewSession, NewTurn, Op, RecallQuery, recall::Scorer,
};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use rusqlite::{Connection, OpenFlags};
use tokio::runtime::Runtime;

use super::Engine;
use crate::folder;

/// Turns of a session.
const SESSION: usize = 100;

/// Which records the documents are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Episodes,
    Turns,
}

/// memkeep, by its public calls.
pub(crate) struct MemkeepRecall {
    name: String,
    backend: &'static str,
    path: Option<PathBuf>,
    kind: Kind,
    runtime: Runtime,
    store: Arc<dyn MemoryBackend>,
    documents: usize,
}

impl MemkeepRecall {
    /// A new store, in the file `path` if the backend keeps one.
    pub(crate) fn new(backend: &'static str, kind: Kind, path: Option<PathBuf>) -> Result<Self> {
        let runtime = Runtime::new()?;
        let store = runtime.block_on(memkeep::open(&url(backend, path.as_ref())))?;
        let name = format!("memkeep {backend}");
        Ok(Self { name, backend, path, kind, runtime, store, documents: 0 })
    }
}

fn url(backend: &str, path: Option<&PathBuf>) -> String {
    format!("{backend}:{}", path.map(|path| path.display().to_string()).unwrap_or_default())
}

impl Engine for MemkeepRecall {
    fn name(&self) -> &str {
        &self.name
    }

    fn records(&self) -> &'static str {
        match self.kind {
            Kind::Episodes => "episodes",
            Kind::Turns => "turns",
        }
    }

    fn scorers(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Episodes => &["overlap", "bm25"],
            Kind::Turns => &["bm25", "context"],
        }
    }

    fn add(&mut self, documents: &[String]) -> Result<()> {
        let mut batch = Batch::new();
        for text in documents {
            match self.kind {
                Kind::Episodes => batch.push(NewEpisode::new(text.as_str(), "")),
                Kind::Turns => {
                    let session = format!("session {}", self.documents / SESSION);
                    if self.documents.is_multiple_of(SESSION) {
                        batch.push(Op::StartSession(NewSession::new().id(session.as_str())));
                    }
                    batch.push(NewTurn::new(session.as_str(), "user", text.as_str()));
                }
            }
            self.documents += 1;
        }
        self.runtime.block_on(self.store.commit(batch))?;
        Ok(())
    }

    fn reopen(&mut self) -> Result<()> {
        if self.path.is_some() {
            self.runtime.block_on(self.store.close())?;
            let url = url(self.backend, self.path.as_ref());
            self.store = self.runtime.block_on(memkeep::open(&url))?;
        }
        Ok(())
    }

    fn search(&mut self, scorer: &str, words: &[&str], k: usize) -> Result<Vec<String>> {
        let scorer = match scorer {
            "overlap" => Scorer::Overlap,
            "bm25" => Scorer::Bm25,
            "context" => Scorer::Context,
            other => bail!("no scorer is called {other}"),
        };
        let query = RecallQuery::new(words.join(" ")).k(k).scorer(scorer);
        self.runtime.block_on(async {
            Ok(match self.kind {
                Kind::Episodes => {
                    let hits = self.store.recall(&query).await?;
                    hits.into_iter().map(|hit| hit.record.problem).collect()
                }
                Kind::Turns => {
                    let hits = self.store.recall_turns(&query).await?;
                    hits.into_iter().map(|hit| hit.record.content).collect()
                }
            })
        })
    }

    fn bytes(&mut self) -> Result<(u64, Option<u64>)> {
        let Some(path) = &self.path else { return Ok((0, None)) };
        self.runtime.block_on(self.store.close())?;
        let index = match self.backend {
            "sqlite" => sqlite_index_bytes(path)?,
            "redb" => redb_index_bytes(path)?,
            other => bail!("where the index of {other} is, is not known"),
        };
        Ok((folder::bytes(path)?, Some(index)))
    }
}

/// The pages of all tables but those of the records.
fn sqlite_index_bytes(path: &Path) -> Result<u64> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let sql = "SELECT coalesce(sum(pgsize), 0) FROM dbstat JOIN sqlite_schema USING (name) \
               WHERE tbl_name NOT IN ('sessions', 'turns', 'turn_tags', 'steps', 'episodes', 'notes', \
               'states', 'audit', 'receipts', 'sqlite_sequence')";
    let bytes: i64 = connection.query_row(sql, [], |row| row.get(0)).context("dbstat")?;
    Ok(bytes.unsigned_abs())
}

/// All keys and values but those of the tables that `memkeep-kv` documents for records.
fn redb_index_bytes(path: &Path) -> Result<u64> {
    const RECORDS: [u8; 11] = [0x01, 0x02, 0x03, 0x10, 0x11, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25];
    let table = TableDefinition::<&[u8], &[u8]>::new("memkeep");
    // It is to live as long as what is read of it.
    let database = Database::open(path)?;
    let table = database.begin_read()?.open_table(table)?;
    let mut bytes = 0;
    for pair in table.iter()? {
        let (key, value) = pair?;
        if !key.value().first().is_some_and(|first| RECORDS.contains(first)) {
            bytes += key.value().len() + value.value().len();
        }
    }
    Ok(bytes as u64)
}

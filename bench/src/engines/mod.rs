//! What answers top-k questions: memkeep with its scorers, and search engines.

mod fts5;
mod memkeep;
mod tantivy;

use anyhow::Result;

pub(crate) use self::fts5::{Fts5, or_query};
use self::{
    memkeep::{Kind, MemkeepRecall},
    tantivy::Tantivy,
};
use crate::{folder::Folder, stores};

/// A searchable collection of documents.
pub(crate) trait Engine {
    /// The engine's name.
    fn name(&self) -> &str;

    /// What a document is to it.
    fn records(&self) -> &'static str {
        "documents"
    }

    /// What it can rank by.
    fn scorers(&self) -> &'static [&'static str];

    /// Adds documents, in one commit.
    fn add(&mut self, documents: &[String]) -> Result<()>;

    /// Opens the collection anew, with nothing of it in this process's memory, where it is on disk.
    fn reopen(&mut self) -> Result<()>;

    /// Asks with one of the [scorers](Self::scorers); the texts of the best `k`, best first.
    fn search(&mut self, scorer: &str, words: &[&str], k: usize) -> Result<Vec<String>>;

    /// All that it keeps on disk, in bytes, and of that what is there only to be searched, where it
    /// can be told. Nothing can be asked afterwards.
    fn bytes(&mut self) -> Result<(u64, Option<u64>)>;
}

/// A new collection of each engine: of memkeep, one of episodes and one of turns on each backend.
pub(crate) fn all(folder: &Folder) -> Result<Vec<Box<dyn Engine>>> {
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    for kind in [Kind::Episodes, Kind::Turns] {
        engines.push(Box::new(MemkeepRecall::new("inmem", kind, None)?));
        for backend in stores::FILES {
            let path = folder.path(&format!("{kind:?}.{backend}"));
            engines.push(Box::new(MemkeepRecall::new(backend, kind, Some(path))?));
        }
    }
    engines.push(Box::new(Fts5::new(&folder.path("fts5.db"), "unicode61")?));
    engines.push(Box::new(Tantivy::new(&folder.folder("tantivy")?)?));
    Ok(engines)
}

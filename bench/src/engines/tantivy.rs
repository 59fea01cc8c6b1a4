use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tantivy::{
    Index, IndexReader, IndexWriter, TantivyDocument, Term,
    collector::TopDocs,
    query::BooleanQuery,
    schema::{
        Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _,
    },
};

use super::Engine;
use crate::folder;

/// What the indexing may take, in bytes; its own examples give it as much.
const MEMORY: usize = 50_000_000;

/// tantivy, storing its documents; any word, best first.
pub(crate) struct Tantivy {
    path: PathBuf,
    text: Field,
    index: Index,
    /// Gone once everything is there: it waits for its merges then.
    writer: Option<IndexWriter>,
    reader: IndexReader,
}

impl Tantivy {
    /// `path` is that of an empty folder.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut schema = Schema::builder();
        // As FTS5 and memkeep: without positions there would be less to do.
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("default")
            .set_index_option(IndexRecordOption::WithFreqs);
        let text =
            schema.add_text_field("text", TextOptions::from(STORED).set_indexing_options(indexing));
        let index = Index::create_in_dir(path, schema.build())?;
        let writer = Some(index.writer_with_num_threads(1, MEMORY)?);
        let reader = index.reader()?;
        Ok(Self { path: path.to_owned(), text, index, writer, reader })
    }
}

impl Engine for Tantivy {
    fn name(&self) -> &'static str {
        "tantivy"
    }

    fn scorers(&self) -> &'static [&'static str] {
        &["bm25"]
    }

    fn add(&mut self, documents: &[String]) -> Result<()> {
        let writer = self.writer.as_mut().context("the index is finished")?;
        for text in documents {
            let mut document = TantivyDocument::new();
            document.add_text(self.text, text);
            writer.add_document(document)?;
        }
        writer.commit()?;
        Ok(())
    }

    fn reopen(&mut self) -> Result<()> {
        if let Some(writer) = self.writer.take() {
            writer.wait_merging_threads()?;
        }
        self.index = Index::open_in_dir(&self.path)?;
        self.reader = self.index.reader()?;
        Ok(())
    }

    fn search(&mut self, _: &str, words: &[&str], k: usize) -> Result<Vec<String>> {
        let terms = words.iter().map(|word| Term::from_field_text(self.text, word)).collect();
        let query = BooleanQuery::new_multiterms_query(terms);
        let searcher = self.reader.searcher();
        let found = searcher.search(&query, &TopDocs::with_limit(k).order_by_score())?;
        let text = |(_, address)| {
            let document: TantivyDocument = searcher.doc(address)?;
            let text = document.get_first(self.text).and_then(|value| value.as_str());
            Ok(text.context("a document without its text")?.to_owned())
        };
        found.into_iter().map(text).collect()
    }

    fn bytes(&mut self) -> Result<(u64, Option<u64>)> {
        let space = self.reader.searcher().space_usage()?;
        let stored: u64 =
            space.segments().iter().map(|segment| segment.store().total().get_bytes()).sum();
        let all = folder::bytes(&self.path)?;
        Ok((all, Some(all.saturating_sub(stored))))
    }
}

use tokio::sync::mpsc;

use super::SourceFormat;
use crate::{EpisodeId, Error, NewAudit, Op, Record, RecordKind, Result};

/// Where in a file something stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) table: &'static str,
    pub(super) rowid: i64,
}

/// What a reader finds in a file, in the file's order.
pub(super) enum Item {
    /// What the file is: the first item.
    Format {
        format: SourceFormat,
        /// How many rows will come, if that is known.
        rows: Option<u64>,
    },
    /// A row that makes a record.
    Entry(Box<Entry>),
    /// A row that makes none, and of what kind that would have been.
    Skip { place: Place, kind: Kind, id: Option<String>, reason: String },
    /// Something else to be told.
    Remark(String),
    /// The end: without it the reader did not finish.
    End,
}

/// What a row is counted as.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Record(RecordKind),
    #[cfg(feature = "import")]
    Tag,
    /// A line of an export that holds no record.
    Line,
}

/// A record to be stored, and what is to be told about its row.
pub(super) struct Entry {
    pub(super) place: Place,
    pub(super) record: Record,
    /// Whether it is an audit record whose seq and hash are found when it is stored.
    pub(super) append: bool,
    /// What had to be changed.
    pub(super) repairs: Vec<(Place, String)>,
    /// The rows of its tags, by tag name.
    pub(super) tags: Vec<(Place, String)>,
    /// Whether it is in the workspace that the import was told, having none of its own.
    pub(super) placed: bool,
    /// Its id in the file, if that was taken and it has another.
    pub(super) taken_id: Option<EpisodeId>,
    /// Whether it is a row of its own, and not made for others.
    pub(super) is_row: bool,
    /// About how many bytes it takes.
    pub(super) bytes: usize,
}

impl Entry {
    pub(super) fn new(place: Place, record: Record, bytes: usize) -> Self {
        Self {
            place,
            record,
            append: false,
            repairs: Vec::new(),
            tags: Vec::new(),
            placed: false,
            taken_id: None,
            is_row: true,
            bytes,
        }
    }

    pub(super) fn op(&self) -> Op {
        match &self.record {
            Record::Audit(audit) if self.append => NewAudit::new(&*audit.action, &*audit.decision)
                .id(audit.id.clone())
                .workspace(audit.workspace.clone())
                .created_at(audit.created_at)
                .detail(audit.detail.clone())
                .into(),
            record => record.clone().into(),
        }
    }
}

/// How many items, or bytes of them, travel together.
const CHUNK: usize = 256;
const CHUNK_BYTES: usize = 4 << 20;

/// The way from the thread that reads a file to the task that stores.
pub(super) struct Sink {
    sender: mpsc::Sender<Result<Vec<Item>>>,
    chunk: Vec<Item>,
    bytes: usize,
}

impl Sink {
    pub(super) fn new(sender: mpsc::Sender<Result<Vec<Item>>>) -> Self {
        Self { sender, chunk: Vec::new(), bytes: 0 }
    }

    /// Fails when nobody waits for items any more.
    pub(super) fn push(&mut self, item: Item) -> Result<()> {
        if let Item::Entry(entry) = &item {
            self.bytes += entry.bytes;
        }
        self.chunk.push(item);
        if self.chunk.len() >= CHUNK || self.bytes >= CHUNK_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn entry(&mut self, entry: Entry) -> Result<()> {
        self.push(Item::Entry(Box::new(entry)))
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let chunk = std::mem::take(&mut self.chunk);
        self.sender.blocking_send(Ok(chunk)).map_err(|_| Error::closed())
    }

    /// Sends what is left, and how it ended.
    pub(super) fn finish(mut self, result: Result<()>) {
        // Whoever started the import may have dropped it: then nobody wants to know.
        let _ = match result {
            Ok(()) => {
                self.chunk.push(Item::End);
                self.flush()
            }
            Err(error) => self
                .flush()
                .and_then(|()| self.sender.blocking_send(Err(error)).map_err(|_| Error::closed())),
        };
    }
}

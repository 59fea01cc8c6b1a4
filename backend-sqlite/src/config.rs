use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memkeep_core::{
    Clock, Result, StoreUrl,
    embedded::{Embedded, EmbeddedOptions},
    recall::Language,
};

use crate::{Synchronous, connect::Connector, engine::SqliteBackend, engine::SqliteEngine};

/// What names a store in memory, in place of a path.
const MEMORY: &str = ":memory:";

/// Which store to open, and how.
#[derive(Clone)]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The file; none for a store in memory.
    pub path: Option<PathBuf>,
    /// What a returned commit has survived. No matter in memory.
    pub synchronous: Synchronous,
    /// How long a commit waits for another process that writes before `Timeout`.
    pub busy_timeout: Duration,
    /// How many reads may run at once, at least 1. No matter in memory, where the writer reads.
    pub readers: usize,
    /// Whether the store is only read: nothing is created, and every write is `ReadOnly`.
    pub read_only: bool,
    /// What all embedded backends have in common.
    pub options: EmbeddedOptions,
}

impl SqliteConfig {
    /// The store in the file `path`, which is created with its folder if it does not exist. The
    /// path `:memory:` is [`memory`](Self::memory).
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self {
            path: (path != Path::new(MEMORY)).then(|| path.to_owned()),
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(10),
            readers: 4,
            read_only: false,
            options: EmbeddedOptions::default(),
        }
    }

    /// A new store in memory, gone with its handle.
    pub fn memory() -> Self {
        Self::new(MEMORY)
    }

    /// The store that `url` names: `sqlite:PATH` or `sqlite::memory:`, with the parameters
    /// `synchronous` (`full`, `normal`), `busy_timeout_ms`, `readers`, `read_only` (`true`, `false`),
    /// `language` (the name of a [`Language`]) and `find_index` (`true`, `false`).
    ///
    /// Errors: `InvalidArgument` for a parameter that is not known or cannot be read, and for a
    /// missing path.
    pub fn from_url(url: &StoreUrl) -> Result<Self> {
        let mut config = Self::new(url.path()?);
        for (name, value) in url.parameters() {
            match name {
                "synchronous" => config.synchronous = value.parse()?,
                "busy_timeout_ms" => {
                    config.busy_timeout =
                        Duration::from_millis(StoreUrl::parse_parameter(name, value)?);
                }
                "readers" => config.readers = StoreUrl::parse_parameter(name, value)?,
                "read_only" => config.read_only = StoreUrl::parse_parameter(name, value)?,
                "language" => config.options.language = value.parse()?,
                "find_index" => {
                    config.options.find_index = StoreUrl::parse_parameter(name, value)?;
                }
                _ => return Err(url.unknown_parameter(name)),
            }
        }
        Ok(config)
    }

    /// Sets [`synchronous`](Self::synchronous).
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets [`busy_timeout`](Self::busy_timeout).
    #[must_use]
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`readers`](Self::readers).
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets [`read_only`](Self::read_only).
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.options.clock = Arc::new(clock);
        self
    }

    /// Sets how long a call waits for a reader, or for a place in the writer's queue.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.options.patience = patience;
        self
    }

    /// Sets how many commits may wait for the writer.
    #[must_use]
    pub fn queue(mut self, queue: usize) -> Self {
        self.options.queue = queue;
        self
    }

    /// Sets whether an index of words is kept, by which `find_turns` finds what is rare without looking at
    /// every turn. It makes the recall index about twice as large. If it is not set, a store that has
    /// one keeps it; `reindex` drops it.
    #[must_use]
    pub fn find_index(mut self, find_index: bool) -> Self {
        self.options.find_index = find_index;
        self
    }

    /// Sets the language that recall stems in. English if it is not set.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.options.language = language;
        self
    }

    /// Opens the store, and makes or migrates it first where that is needed.
    ///
    /// Errors: `Corrupt` with what the file is instead of a store; `SchemaTooNew`, with the file
    /// as it was; `NotFound` for a file that is only to be read and does not exist; `ReadOnly` for
    /// one that must be migrated and cannot be written; `Timeout` if others keep it locked;
    /// `Unavailable`, `StorageFull`, `Unsupported` as the file system has it.
    pub async fn open(self) -> Result<SqliteBackend> {
        let options = self.options.clone();
        Embedded::open(options, move |_| {
            let (connector, connection) = Connector::open(&self)?;
            Ok(SqliteEngine::new(connector, connection, self.readers))
        })
        .await
    }
}

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use memkeep_core::{
    Clock, Error, Result, StoreUrl,
    embedded::{Embedded, EmbeddedOptions},
    recall::Language,
};
use memkeep_kv::KvEngine;

use crate::{RedbBackend, RedbDurability, RedbEngine};

/// Which store to open, and how.
#[derive(Clone)]
#[non_exhaustive]
pub struct RedbConfig {
    /// The file.
    pub path: PathBuf,
    /// What a returned commit has survived.
    pub durability: RedbDurability,
    /// How much memory redb may keep pages of the file in, in bytes.
    pub cache_bytes: usize,
    /// How many reads may run at once; with 0 the writer's thread reads too.
    pub readers: usize,
    /// Whether the store is only read: nothing is created, and every write is `ReadOnly`.
    pub read_only: bool,
    /// Whether each commit stores what redb else finds out by reading the whole file when it is
    /// opened after a crash. Commits take longer.
    pub quick_repair: bool,
    /// Whether the checksum of every page is looked at when the store is opened, which reads the
    /// whole file.
    pub check: bool,
    /// What all embedded backends have in common.
    pub options: EmbeddedOptions,
}

impl RedbConfig {
    /// The store in the file `path`, which is created with its folder if it does not exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            durability: RedbDurability::default(),
            cache_bytes: 64 << 20,
            readers: 4,
            read_only: false,
            quick_repair: false,
            check: false,
            options: EmbeddedOptions::default(),
        }
    }

    /// The store that `url` names: `redb:PATH`, with the parameters `durability` (`immediate`,
    /// `none`), `cache_bytes`, `readers`, `language` (the name of a [`Language`]), and `read_only`,
    /// `quick_repair`, `check` and `find_index` (`true`, `false`).
    ///
    /// Errors: `InvalidArgument` for another scheme, for a parameter that is not known or cannot be
    /// read, and for a missing path.
    pub fn from_url(url: &StoreUrl) -> Result<Self> {
        if url.scheme() != "redb" {
            return Err(Error::invalid("url", "not the URL of a redb store"));
        }
        let path = url.path()?;
        if path == ":memory:" {
            let message = "a redb store is a file; one in memory is inmem:, or sqlite::memory:";
            return Err(Error::invalid("url", message));
        }
        let mut config = Self::new(path);
        for (name, value) in url.parameters() {
            match name {
                "durability" => config.durability = value.parse()?,
                "cache_bytes" => config.cache_bytes = StoreUrl::parse_parameter(name, value)?,
                "readers" => config.readers = StoreUrl::parse_parameter(name, value)?,
                "read_only" => config.read_only = StoreUrl::parse_parameter(name, value)?,
                "quick_repair" => config.quick_repair = StoreUrl::parse_parameter(name, value)?,
                "check" => config.check = StoreUrl::parse_parameter(name, value)?,
                "language" => config.options.language = value.parse()?,
                "find_index" => {
                    config.options.find_index = StoreUrl::parse_parameter(name, value)?;
                }
                _ => return Err(url.unknown_parameter(name)),
            }
        }
        Ok(config)
    }

    /// Sets [`durability`](Self::durability).
    #[must_use]
    pub fn durability(mut self, durability: RedbDurability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`cache_bytes`](Self::cache_bytes).
    #[must_use]
    pub fn cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
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

    /// Sets [`quick_repair`](Self::quick_repair).
    #[must_use]
    pub fn quick_repair(mut self, quick_repair: bool) -> Self {
        self.quick_repair = quick_repair;
        self
    }

    /// Sets [`check`](Self::check).
    #[must_use]
    pub fn check(mut self, check: bool) -> Self {
        self.check = check;
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

    /// Opens the store, and makes it or repairs what a crash left where that is needed.
    ///
    /// Errors: `AlreadyOpen` while another handle or process has it; `Corrupt` with what the file is
    /// instead of a store; `Unsupported` for a file of redb before version 3; `SchemaTooNew`;
    /// `NotFound` for a file that is only to be read and does not exist; `ReadOnly` for an empty one
    /// that cannot be written; `Unavailable`, `StorageFull` as the file system has it. A file that is
    /// refused is left as it was.
    pub async fn open(self) -> Result<RedbBackend> {
        let options = self.options.clone();
        Embedded::open(options, move |_| {
            let (path, readers) = (self.path.clone(), self.readers);
            KvEngine::open(RedbEngine::open(self)?, readers).map_err(|error| {
                if error.get("path").is_none() { error.with("path", path.display()) } else { error }
            })
        })
        .await
    }
}

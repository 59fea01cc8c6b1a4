use std::{fmt, sync::Arc, thread, time::Duration};

use memkeep_core::{
    Clock, Error, Result, StoreUrl,
    embedded::{Embedded, EmbeddedOptions},
    recall::Language,
};
use memkeep_kv::KvEngine;

use crate::{InmemBackend, InmemMap};

/// How an in-memory store is to be opened.
#[derive(Clone)]
pub struct InmemConfig {
    options: EmbeddedOptions,
    readers: usize,
}

impl Default for InmemConfig {
    /// The system's clock; as many readers as the machine has processors.
    fn default() -> Self {
        let readers = thread::available_parallelism().map_or(1, usize::from);
        Self { options: EmbeddedOptions::default(), readers }
    }
}

impl fmt::Debug for InmemConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InmemConfig")
            .field("readers", &self.readers)
            .field("queue", &self.options.queue)
            .field("patience", &self.options.patience)
            .field("language", &self.options.language)
            .finish_non_exhaustive()
    }
}

impl InmemConfig {
    /// With defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The config that a URL `inmem:` stands for, with the parameters `language` (the name of
    /// a [`Language`]) and `find_index` (`true`, `false`).
    ///
    /// Errors: `InvalidArgument` for another scheme, for a name after the colon (the store has none),
    /// for a parameter that is not known or cannot be read.
    pub fn from_url(url: &StoreUrl) -> Result<Self> {
        if url.scheme() != "inmem" {
            return Err(Error::invalid("url", "not the URL of an in-memory store"));
        }
        if !url.rest().is_empty() {
            return Err(Error::invalid("url", "no name follows `inmem:`; the store has none"));
        }
        let mut config = Self::default();
        for (name, value) in url.parameters() {
            match name {
                "language" => config.options.language = value.parse()?,
                "find_index" => {
                    config.options.find_index = StoreUrl::parse_parameter(name, value)?;
                }
                _ => return Err(url.unknown_parameter(name)),
            }
        }
        Ok(config)
    }

    /// Where the time comes from.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.options.clock = Arc::new(clock);
        self
    }

    /// How many reads run at once, each on a thread of its own; with 0 the writer's thread reads too.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// How many commits may wait for the writer.
    #[must_use]
    pub fn queue(mut self, queue: usize) -> Self {
        self.options.queue = queue;
        self
    }

    /// How long a call waits for a reader or for a place in the writer's queue before `Timeout`.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.options.patience = patience;
        self
    }

    /// Whether an index of words is kept, by which `find_turns` finds what is rare without looking at
    /// every turn. It makes the recall index about twice as large. If it is not set, a store that has
    /// one keeps it; `reindex` drops it.
    #[must_use]
    pub fn find_index(mut self, find_index: bool) -> Self {
        self.options.find_index = find_index;
        self
    }

    /// The language that recall stems in. English if it is not set.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.options.language = language;
        self
    }

    /// Opens a new, empty store.
    pub async fn open(self) -> Result<InmemBackend> {
        let Self { options, readers } = self;
        Embedded::open(options, move |_| KvEngine::open(InmemMap::new(), readers)).await
    }
}

use std::sync::Arc;

use memkeep_core::{
    BackendInfo, Result,
    embedded::{Engine, Reader, View},
};

use crate::{KvView, KvWriter, OrderedEngine, schema};

/// An [`Engine`] over an [`OrderedEngine`].
#[derive(Debug)]
pub struct KvEngine<E> {
    engine: Arc<E>,
    readers: usize,
}

impl<E: OrderedEngine> KvEngine<E> {
    /// Prepares the store: an empty one gets its schema version. At most `readers` threads will read
    /// at once; with 0 the writer's reads too.
    ///
    /// Errors: `SchemaTooNew`; `Corrupt` for a store that holds something else. Nothing has been
    /// written then.
    pub fn open(engine: E, readers: usize) -> Result<(Self, KvWriter<E>)> {
        schema::prepare(&engine)?;
        let engine = Arc::new(engine);
        Ok((Self { engine: engine.clone(), readers }, KvWriter::new(engine)))
    }
}

impl<E: OrderedEngine> Engine for KvEngine<E> {
    type Reader = KvReader<E>;
    type Writer = KvWriter<E>;

    fn info(&self) -> BackendInfo {
        self.engine.info()
    }

    fn readers(&self) -> usize {
        self.readers
    }

    fn reader(&self) -> Result<KvReader<E>> {
        Ok(KvReader(self.engine.clone()))
    }
}

/// Reads snapshots of an [`OrderedEngine`].
#[derive(Debug)]
pub struct KvReader<E>(Arc<E>);

impl<E: OrderedEngine> Reader for KvReader<E> {
    fn snapshot(&mut self, read: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        read(&mut KvView { engine: self.0.clone(), keys: self.0.snapshot()? })
    }
}

use std::sync::{Arc, Weak};

use memkeep_core::{
    BackendInfo, Error, Result,
    embedded::{Engine, Reader, View},
};

use crate::{KvWriter, OrderedEngine, schema, view::KvView};

/// An [`Engine`] over an [`OrderedEngine`].
///
/// The ordered engine belongs to the writer: it is dropped where that is, at the latest when
/// [`close`](memkeep_core::Backend::close) returns, so that its file can be opened again.
#[derive(Debug)]
pub struct KvEngine<E> {
    engine: Weak<E>,
    info: BackendInfo,
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
        let info = engine.info();
        let engine = Arc::new(engine);
        Ok((Self { engine: Arc::downgrade(&engine), info, readers }, KvWriter::new(engine)))
    }
}

impl<E: OrderedEngine> Engine for KvEngine<E> {
    type Reader = KvReader<E>;
    type Writer = KvWriter<E>;

    fn info(&self) -> BackendInfo {
        self.info.clone()
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
pub struct KvReader<E>(Weak<E>);

impl<E: OrderedEngine> Reader for KvReader<E> {
    fn snapshot(&mut self, read: &mut dyn FnMut(&mut dyn View) -> Result<()>) -> Result<()> {
        let engine = self.0.upgrade().ok_or_else(Error::closed)?;
        read(&mut KvView { engine: engine.clone(), keys: engine.snapshot()? })
    }
}

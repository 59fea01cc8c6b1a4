//! A sound engine with a defect inside its commit.

use std::{path::Path, sync::Arc};

use memkeep_core::{
    BackendInfo, Result,
    decide::{Change, Loaded, Needs},
    embedded::{Engine, View, Writer},
};

use crate::defect::{Defect, OnChanges, OnLoad};

pub(crate) struct BrokenEngine<E>(pub(crate) E);

pub(crate) struct BrokenWriter<W> {
    pub(crate) writer: W,
    pub(crate) defect: Arc<Defect>,
}

impl<E: Engine> Engine for BrokenEngine<E> {
    type Reader = E::Reader;
    type Writer = BrokenWriter<E::Writer>;

    fn info(&self) -> BackendInfo {
        self.0.info()
    }
    fn readers(&self) -> usize {
        self.0.readers()
    }
    fn reader(&self) -> Result<E::Reader> {
        self.0.reader()
    }
}

impl<W: Writer> Writer for BrokenWriter<W> {
    fn begin(&mut self) -> Result<()> {
        self.writer.begin()
    }
    fn load(&mut self, needs: &Needs) -> Result<Loaded> {
        let mut loaded = self.writer.load(needs)?;
        self.defect.hooks::<OnLoad>().for_each(|hook| hook.0(&mut loaded));
        Ok(loaded)
    }
    fn apply(&mut self, changes: &[Change]) -> Result<()> {
        let mut changes = changes.to_vec();
        self.defect.hooks::<OnChanges>().for_each(|hook| hook.0(&mut changes));
        self.writer.apply(&changes)
    }
    fn commit(&mut self) -> Result<()> {
        self.writer.commit()
    }
    fn rollback(&mut self) {
        self.writer.rollback();
    }
    fn view(&mut self) -> &mut dyn View {
        self.writer.view()
    }
    fn rebuild(&mut self) -> Result<()> {
        self.writer.rebuild()
    }
    fn compact(&mut self) -> Result<()> {
        self.writer.compact()
    }
    fn backup(&mut self, path: &Path) -> Result<()> {
        self.writer.backup(path)
    }
}

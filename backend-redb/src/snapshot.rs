use std::{fmt, ops::Range, sync::Arc};

use memkeep_core::Result;
use memkeep_kv::{Snapshot, Visit};
use redb::{AccessGuard, ReadOnlyTable, StorageError};

use crate::{error::guarded, open_database::OpenDatabase};

type Pair = (AccessGuard<'static, &'static [u8]>, AccessGuard<'static, &'static [u8]>);

/// One state of a [`RedbEngine`](crate::RedbEngine).
pub struct RedbSnapshot {
    /// None while nothing has been committed. It goes before the database does.
    table: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
    database: Arc<OpenDatabase>,
}

impl RedbSnapshot {
    pub(crate) fn new(
        table: Option<ReadOnlyTable<&'static [u8], &'static [u8]>>,
        database: Arc<OpenDatabase>,
    ) -> Self {
        Self { table, database }
    }

    pub(crate) fn database(&self) -> &Arc<OpenDatabase> {
        &self.database
    }

    /// Everything, in the order of keys.
    pub(crate) fn pairs(
        &self,
    ) -> Result<impl Iterator<Item = Result<Pair, StorageError>>, StorageError> {
        let pairs = self.table.as_ref().map(|table| table.range::<&[u8]>(..)).transpose()?;
        Ok(pairs.into_iter().flatten())
    }
}

impl Snapshot for RedbSnapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(table) = &self.table else { return Ok(None) };
        guarded(|| Ok::<_, StorageError>(table.get(key)?.map(|value| value.value().to_vec())))
    }

    fn scan(&self, range: Range<&[u8]>, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
        let Some(table) = &self.table else { return Ok(()) };
        let mut pairs = guarded(|| table.range::<&[u8]>(range))?;
        let mut next = || if reverse { pairs.next_back() } else { pairs.next() };
        while let Some((key, value)) = guarded(|| next().transpose())? {
            if !visit(key.value(), value.value())? {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RedbSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbSnapshot").finish_non_exhaustive()
    }
}

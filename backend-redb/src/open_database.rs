use std::{fmt, sync::Arc};

use memkeep_core::{Error, ErrorKind, Result};
use memkeep_kv::Changes;
use redb::{
    Database, MultimapTableHandle as _, ReadableDatabase as _, TableDefinition, TableError,
    TableHandle as _,
};

use crate::{
    RedbConfig, RedbSnapshot,
    error::{guarded, io_failed},
    medium::Medium,
    store_file::StoreFile,
};

/// All that memkeep keeps in a file.
pub(crate) const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("memkeep");

/// A redb database that is open, and what it is open over.
pub(crate) struct OpenDatabase {
    /// There until this is dropped.
    database: Option<Database>,
    pub(crate) medium: Medium,
}

impl OpenDatabase {
    /// Opens the database in `file`, or makes one in an empty file. Nothing is written to it.
    pub(crate) fn over(file: Arc<StoreFile>, config: &RedbConfig) -> Result<Self> {
        Self::over_medium(Medium::new(file).map_err(io_failed)?, config)
    }

    /// Looks at the checksum of every page of the database in `file`, which is open already: nobody
    /// writes to it meanwhile.
    pub(crate) fn checked(file: Arc<StoreFile>, config: &RedbConfig) -> Result<()> {
        let medium = Medium::of_guest(file).map_err(io_failed)?;
        Self::over_medium(medium, &config.clone().check(true)).map(drop)
    }

    fn over_medium(medium: Medium, config: &RedbConfig) -> Result<Self> {
        let storage = medium.clone();
        let database = guarded(|| {
            redb::Builder::new()
                .set_cache_size(config.cache_bytes)
                .set_check_integrity_on_open(config.check)
                .create_with_backend(storage)
        })?;
        let open = Self { database: Some(database), medium };
        open.is_ours()?;
        Ok(open)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().ok_or_else(Error::closed)
    }

    /// The whole of a file is memkeep's.
    fn is_ours(&self) -> Result<()> {
        let database = self.database()?;
        let foreign = guarded(|| {
            let read = database.begin_read()?;
            let is_foreign = read.list_tables()?.any(|table| table.name() != TABLE.name());
            let mut multimaps = read.list_multimap_tables()?;
            let is_multimap = multimaps.next().is_some_and(|table| !table.name().is_empty());
            Ok::<_, redb::Error>(is_foreign || is_multimap)
        })?;
        if foreign {
            let message = "the file is a redb database of another program";
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(())
    }

    /// The state of the last commit.
    pub(crate) fn snapshot(self: &Arc<Self>) -> Result<RedbSnapshot> {
        let database = self.database()?;
        let table = guarded(|| match database.begin_read()?.open_table(TABLE) {
            Ok(table) => Ok(Some(table)),
            // Nothing has been committed yet.
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(redb::Error::from(error)),
        })?;
        Ok(RedbSnapshot::new(table, self.clone()))
    }

    /// Writes all changes or none, durably as `config` has it.
    pub(crate) fn store(&self, changes: Changes, config: &RedbConfig) -> Result<()> {
        self.write(config, |table| {
            for (key, value) in changes {
                match value {
                    Some(value) => table.insert(key.as_slice(), value.as_slice())?,
                    None => table.remove(key.as_slice())?,
                };
            }
            Ok(())
        })
    }

    /// Writes all of `snapshot` into this database, which is empty.
    pub(crate) fn fill(&self, snapshot: &RedbSnapshot, config: &RedbConfig) -> Result<()> {
        self.write(config, |table| {
            for pair in snapshot.pairs()? {
                let (key, value) = pair?;
                table.insert(key.value(), value.value())?;
            }
            Ok(())
        })
    }

    fn write(
        &self,
        config: &RedbConfig,
        write: impl FnOnce(&mut redb::Table<'_, &[u8], &[u8]>) -> Result<(), redb::Error>,
    ) -> Result<()> {
        let database = self.database()?;
        self.medium.release().map_err(io_failed)?;
        let written = guarded(|| {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(config.durability.of_redb())?;
            transaction.set_quick_repair(config.quick_repair);
            write(&mut transaction.open_table(TABLE)?)?;
            Ok::<_, redb::Error>(transaction.commit()?)
        });
        if written.as_ref().is_err_and(|error| error.kind() != ErrorKind::InvalidArgument) {
            // Whatever it was, what redb has in memory is no longer to be trusted.
            self.medium.fail();
        }
        written
    }

    /// Closes it, with what has not been written yet.
    pub(crate) fn close(mut self) -> Result<()> {
        match self.database.take() {
            Some(database) => guarded(|| database.close()),
            None => Ok(()),
        }
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            // Nobody is left to be told. The next to open the file repairs it.
            let _ = guarded(|| database.close());
        }
    }
}

impl fmt::Debug for OpenDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenDatabase").field("medium", &self.medium).finish_non_exhaustive()
    }
}

use memkeep_core::{ErrorKind, Result, verify::Problem};

use super::SqliteView;
use crate::error::failed;

impl SqliteView {
    /// Damaged pages, indexes that do not fit their tables, rows whose parent is not there.
    pub(super) fn check_integrity(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let read = self.integrity_check(&mut problems).and_then(|()| self.orphans(&mut problems));
        match read {
            // That it cannot be looked through is itself what is found.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                problems.push(Problem::new("sqlite", error.message()));
                Ok(problems)
            }
            read => read.map(|()| problems),
        }
    }

    fn integrity_check(&self, problems: &mut Vec<Problem>) -> Result<()> {
        let mut check = self.connection.prepare("PRAGMA integrity_check").map_err(failed)?;
        let mut rows = check.query(()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let message: String = row.get(0).map_err(failed)?;
            if message != "ok" {
                problems.push(Problem::new("sqlite", message));
            }
        }
        Ok(())
    }

    fn orphans(&self, problems: &mut Vec<Problem>) -> Result<()> {
        let mut check = self.connection.prepare("PRAGMA foreign_key_check").map_err(failed)?;
        let mut rows = check.query(()).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let table: String = row.get(0).map_err(failed)?;
            let pk: Option<i64> = row.get(1).map_err(failed)?;
            let parent: String = row.get(2).map_err(failed)?;
            let location = pk.map_or_else(|| table.clone(), |pk| format!("{table} pk {pk}"));
            problems.push(Problem::new(location, format!("its row in {parent} is not there")));
        }
        Ok(())
    }
}

//! The locks that a batch takes before it loads anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memkeep_core::{Counts, Workspace};

use super::queue::Waiting;
use crate::{
    escape::escape,
    names::Names,
    read::count,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// The statements that share the workspaces of what the batches put with other writers, so that nobody
/// forgets them meanwhile, and keep other writers from those that they forget. They come in one order,
/// so that no two groups wait for each other.
pub(super) fn first(names: &Names, group: &[Waiting]) -> String {
    let lock = |workspace: &Workspace| Names::workspace_lock(workspace);
    let mut locks = BTreeMap::new();
    for Waiting { prepared, .. } in group {
        locks.extend(prepared.workspaces().iter().map(|workspace| (lock(workspace), true)));
    }
    for Waiting { needs, .. } in group {
        locks.extend(needs.workspaces.iter().map(|workspace| (lock(workspace), false)));
    }
    let sql = |(lock, shared)| format!("SELECT {};", names.lock_workspace(lock, shared));
    locks.into_iter().map(sql).collect()
}

/// Locks the rows of workspaces that are to be forgotten, behind which others add or delete something
/// without naming the workspace; returns how much there is.
pub(super) async fn everything_of(
    transaction: &mut Transaction,
    workspaces: &BTreeSet<Workspace>,
) -> Attempt<HashMap<Workspace, Counts>> {
    if workspaces.is_empty() {
        return Ok(HashMap::new());
    }
    let names: Vec<_> = workspaces.iter().map(|workspace| escape(workspace.as_str())).collect();
    for table in ["sessions", "episodes", "notes"] {
        let sql = format!(
            "SELECT count(*) FROM (SELECT 1 FROM @{table} WHERE workspace IN \
             (SELECT pk FROM @workspaces WHERE name = ANY($1)) ORDER BY pk FOR UPDATE) AS locked"
        );
        transaction.number(Statement::new(sql).bind(names.clone())?).await?;
    }
    let counts = count(transaction, Some(names)).await?;
    Ok(counts.into_iter().map(|row| (row.workspace, row.counts)).collect())
}

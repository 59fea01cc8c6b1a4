//! The locks that a batch takes before it loads anything.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memkeep_core::{Counts, Workspace, decide::Prepared};

use crate::{
    escape::escape,
    names::Names,
    read::count,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// The statements that share the workspaces of what the batch puts with other writers, so that nobody
/// forgets them meanwhile, and keep other writers from those that the batch forgets. They come in one
/// order, so that no two batches wait for each other.
pub(super) fn first(names: &Names, prepared: &Prepared) -> String {
    let shared = prepared.workspaces();
    let forgotten = prepared.needs().workspaces;
    let locks = shared.iter().map(|workspace| (Names::workspace_lock(workspace), true));
    let mut locks: BTreeMap<u32, bool> = locks.collect();
    locks.extend(forgotten.iter().map(|workspace| (Names::workspace_lock(workspace), false)));
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

//! Reads of one state of the store.

mod listings;
mod scan;
mod select;
mod workspaces;

pub(crate) use listings::*;
pub(crate) use scan::each;
pub(crate) use workspaces::{bytes, count};

use std::collections::HashMap;

use memkeep_core::{
    AuditHead, Episode, EpisodeId, Note, NoteId, Scope, Session, SessionId, StateSlot, Step,
    StepId, Turn, TurnId, Workspace, recall::Recallable,
};

use self::select::Select;
use crate::{
    escape::escape,
    rows::{Prompted, Table, decode},
    transaction::{Attempt, Transaction},
};

/// The row with an id, if it is in scope.
async fn by_id<T: Table>(
    transaction: &mut Transaction,
    scope: &Scope,
    id: &str,
) -> Attempt<Option<T>> {
    let mut select = Select::<T>::in_scope(scope)?;
    let id = select.value(escape(id))?;
    select.only(format!("r.id = {id}"));
    Ok(select.rows(transaction, "r.pk", 1).await?.pop())
}

macro_rules! by_ids {
    ($($name:ident $id:ty, $row:ty => $record:ty, $map:expr;)*) => {$(
        pub(crate) async fn $name(
            transaction: &mut Transaction,
            (scope, id): &(Scope, $id),
        ) -> Attempt<Option<$record>> {
            Ok(by_id::<$row>(transaction, scope, id.as_str()).await?.map($map))
        }
    )*};
}

by_ids! {
    session SessionId, Prompted => Session, |row| row.0;
    turn TurnId, Turn => Turn, |row| row;
    step StepId, Step => Step, |row| row;
    episode EpisodeId, Episode => Episode, |row| row;
    note NoteId, Note => Note, |row| row;
}

/// The slot under a key, live or not.
pub(crate) async fn state(
    transaction: &mut Transaction,
    (workspace, key): &(Workspace, String),
) -> Attempt<Option<StateSlot>> {
    let mut select = Select::<StateSlot>::in_scope(&Scope::Workspace(workspace.clone()))?;
    let key = select.value(escape(key))?;
    select.only(format!("r.key = {key}"));
    Ok(select.rows(transaction, "r.pk", 1).await?.pop())
}

pub(crate) async fn audit_head(
    transaction: &mut Transaction,
    workspace: &Workspace,
) -> Attempt<AuditHead> {
    let select = Select::<AuditHead>::in_scope(&Scope::Workspace(workspace.clone()))?;
    let head = select.rows(transaction, "r.workspace", 1).await?.pop();
    Ok(head.unwrap_or_else(|| AuditHead::empty(workspace.clone())))
}

/// The records of a kind with some ids, by id.
pub(crate) async fn by_ids<T: Recallable + Table>(
    transaction: &mut Transaction,
    ids: &[&str],
) -> Attempt<HashMap<String, T>> {
    let mut select = Select::<T>::new();
    let ids = select.value(ids.iter().map(|id| escape(id)).collect::<Vec<_>>())?;
    select.only(format!("r.id = ANY({ids})"));
    let rows = select.rows(transaction, "r.pk", usize::MAX).await?;
    Ok(rows.into_iter().map(|row| (row.id().as_ref().to_owned(), row)).collect())
}

/// All rows of a statement, decoded.
fn decoded<T: Table>(rows: &[sqlx::postgres::PgRow]) -> Attempt<Vec<T>> {
    Ok(rows.iter().map(decode).collect::<memkeep_core::Result<_>>()?)
}

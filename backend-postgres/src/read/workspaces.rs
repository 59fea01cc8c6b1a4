use std::{borrow::Cow, collections::BTreeMap};

use memkeep_core::{Counts, Error, RecordKind, Workspace, WorkspaceCounts};
use sqlx::Row as _;

use crate::{
    escape::unescape,
    schema,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// What is counted of each kind.
const COUNTED: [(RecordKind, &str); 7] = [
    (RecordKind::Session, "sessions"),
    (RecordKind::Turn, "turns"),
    (RecordKind::Step, "steps"),
    (RecordKind::Episode, "episodes"),
    (RecordKind::Note, "notes"),
    (RecordKind::State, "states"),
    (RecordKind::Audit, "audit"),
];

/// How many records there are by workspace, in bytewise order: of all, or of those with some names,
/// which are escaped.
pub(crate) async fn count(
    transaction: &mut Transaction,
    names: Option<Vec<Cow<'_, str>>>,
) -> Attempt<Vec<WorkspaceCounts>> {
    let only = match &names {
        Some(_) => " AND workspace IN (SELECT pk FROM @workspaces WHERE name = ANY($1))",
        None => "",
    };
    let parts: Vec<_> = COUNTED
        .iter()
        .enumerate()
        .map(|(n, (kind, table))| {
            // What a deleted entry leaves is no entry.
            let there = if *kind == RecordKind::State { "value IS NOT NULL" } else { "TRUE" };
            format!(
                "SELECT {n}::int AS kind, workspace, count(*) AS rows FROM @{table} \
                 WHERE {there}{only} GROUP BY workspace"
            )
        })
        .collect();
    let mut statement = Statement::new(format!(
        "SELECT c.kind, w.name, c.rows FROM ({}) AS c LEFT JOIN @workspaces w ON w.pk = c.workspace",
        parts.join(" UNION ALL ")
    ));
    if let Some(names) = names {
        statement = statement.bind(names)?;
    }
    let mut all: BTreeMap<Workspace, Counts> = BTreeMap::new();
    for row in transaction.rows(statement).await? {
        let (kind, rows): (i32, i64) = (row.try_get(0)?, row.try_get(2)?);
        let Some((kind, table)) = usize::try_from(kind).ok().and_then(|kind| COUNTED.get(kind))
        else {
            continue;
        };
        let name: Option<String> = row.try_get(1)?;
        let name = name
            .and_then(unescape)
            .ok_or_else(|| Error::corrupt(table, "unknown", "a workspace is not there"))?;
        *all.entry(name.into()).or_default().of_mut(*kind) = rows.unsigned_abs();
    }
    let row = |(workspace, counts)| WorkspaceCounts { workspace, counts };
    Ok(all.into_iter().map(row).collect())
}

/// What the tables and their indexes take.
pub(crate) async fn bytes(transaction: &mut Transaction, (): &()) -> Attempt<u64> {
    let names = transaction.names();
    let tables = schema::TABLES.map(|table| names.sql(&format!("@{table}"))).to_vec();
    let sql = "SELECT sum(pg_total_relation_size(t::regclass))::bigint FROM unnest($1) AS t";
    Ok(transaction.number(Statement::new(sql).bind(tables)?).await?.unsigned_abs())
}

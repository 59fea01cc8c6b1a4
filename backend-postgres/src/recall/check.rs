use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use memkeep_core::{
    Error, ErrorKind, RecordKind, Workspace,
    recall::{
        Language,
        index::{Listed, difference, documents, missing},
    },
    verify::Problem,
};
use sqlx::Row as _;

use super::{desk::at_desk, tail, tender::is_begun};
use crate::{
    escape::unescape,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// How many records are read at a time.
const ROWS: usize = 10_000;

/// Compares the index of a kind with the records that there are.
pub(crate) async fn check(
    transaction: &mut Transaction,
    kind: RecordKind,
    language: Language,
) -> Attempt<Vec<Problem>> {
    let read = at_desk(transaction, kind, Arc::default(), move |desk| {
        let read = || Ok::<_, Error>((is_begun(desk, language)?, documents(desk)?));
        match read() {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Err(error)),
            read => read.map(Ok),
        }
    });
    let (is_begun, mut documents) = match read.await? {
        Ok(read) => read,
        Err(error) => return Ok(vec![Problem::unreadable(&error)]),
    };
    let last = if is_begun { last(transaction, kind).await? } else { 0 };
    let changed = numbers(transaction, kind).await?;
    documents.retain(|number, _| !changed.contains(number));
    let mut problems = Vec::new();
    let (mut after, mut lacking) = (i64::MIN, 0);
    loop {
        let (listed, end) = records(transaction, kind, after).await?;
        let is_over = listed.len() < ROWS;
        for (number, record) in listed.into_iter().filter(|(number, _)| !changed.contains(number)) {
            match documents.remove(&number) {
                None => lacking += usize::from(number <= last),
                Some(indexed) => {
                    problems.extend(
                        record.and_then(|record| difference(kind, number, Some(&record), &indexed)),
                    );
                }
            }
        }
        if is_over {
            break;
        }
        after = end;
    }
    problems.extend(missing(kind, lacking));
    let gone = documents.iter();
    problems.extend(gone.filter_map(|(number, indexed)| difference(kind, *number, None, indexed)));
    Ok(problems)
}

/// How far the index has come.
async fn last(transaction: &mut Transaction, kind: RecordKind) -> Attempt<u64> {
    let sql = format!("SELECT coalesce({}, 0)", tail::last(kind));
    Ok(transaction.number(Statement::new(sql)).await?.unsigned_abs())
}

/// The numbers of the records that changed since.
async fn numbers(transaction: &mut Transaction, kind: RecordKind) -> Attempt<HashSet<u64>> {
    let sql = "SELECT DISTINCT number FROM @recall_changes WHERE kind = $1";
    let rows = transaction.rows(Statement::new(sql).bind(kind.as_str())?).await?;
    rows.iter().map(|row| Ok(row.try_get::<i64, _>(0)?.unsigned_abs())).collect()
}

/// What an index would list of the records after a number, and the last of their numbers. None of a
/// record that cannot be read, which is told of elsewhere.
async fn records(
    transaction: &mut Transaction,
    kind: RecordKind,
    after: i64,
) -> Attempt<(BTreeMap<u64, Option<Listed>>, i64)> {
    let table = tail::table(kind);
    let open = if kind == RecordKind::Episode { "r.open" } else { "FALSE" };
    let sql = format!(
        "SELECT r.pk, (SELECT name FROM @workspaces WHERE pk = r.workspace), r.created_at, {open} \
         FROM @{table} r WHERE r.pk > $1 ORDER BY r.pk LIMIT {ROWS}"
    );
    let (mut listed, mut last) = (BTreeMap::new(), after);
    for row in transaction.rows(Statement::new(sql).bind(after)?).await? {
        last = row.try_get(0)?;
        let (created_at, open) = (row.try_get(2)?, row.try_get(3)?);
        let workspace = row.try_get::<Option<String>, _>(1)?.and_then(unescape);
        let record =
            workspace.map(|name| Listed { workspace: Workspace::from(name), created_at, open });
        listed.insert(last.unsigned_abs(), record);
    }
    Ok((listed, last))
}

use std::collections::HashSet;

use memkeep_core::{
    EpisodeId, NoteId, RecordKind, SessionId, StateKey, Timestamp, TurnId, Workspace,
    decide::Change, recall::index::RECALLED,
};

use super::kinds::Kinds;
use crate::{
    escape::escape,
    recall::tail,
    statement::Statement,
    transaction::{Attempt, Transaction},
};

/// The tables that have a workspace.
const OF_WORKSPACES: [&str; 8] =
    ["sessions", "turns", "steps", "episodes", "notes", "states", "audit", "audit_heads"];

/// Changes of one kind together: first all deletions, then all that is put.
#[derive(Default)]
struct Group {
    workspaces: Vec<Workspace>,
    sessions: Vec<SessionId>,
    turns: Vec<TurnId>,
    episodes: Vec<EpisodeId>,
    notes: Vec<NoteId>,
    receipts_before: Option<Timestamp>,
    puts: Kinds,
}

/// Applies the changes in their order, in one trip but for deletions. `stored` are the
/// keys of receipts that have been there before.
pub(crate) async fn apply(
    transaction: &mut Transaction,
    changes: Vec<Change>,
    stored: &HashSet<String>,
) -> Attempt<()> {
    let mut group = Group::default();
    for change in changes {
        if group.puts.any && is_deletion(&change) {
            std::mem::take(&mut group).apply(transaction, stored).await?;
        }
        group.add(change);
    }
    group.apply(transaction, stored).await
}

fn is_deletion(change: &Change) -> bool {
    matches!(
        change,
        Change::DeleteWorkspace(_)
            | Change::DeleteSession(_)
            | Change::DeleteTurn(_)
            | Change::DeleteEpisode(_)
            | Change::DeleteNote(_)
            | Change::DeleteReceipts(_)
    )
}

impl Group {
    fn add(&mut self, change: Change) {
        self.puts.any |= !is_deletion(&change);
        let puts = &mut self.puts;
        match change {
            Change::DeleteWorkspace(workspace) => self.workspaces.push(workspace),
            Change::DeleteSession(id) => self.sessions.push(id),
            Change::DeleteTurn(id) => self.turns.push(id),
            Change::DeleteEpisode(id) => self.episodes.push(id),
            Change::DeleteNote(id) => self.notes.push(id),
            Change::DeleteReceipts(before) => {
                self.receipts_before = self.receipts_before.max(Some(before));
            }
            Change::PutSession(put) => {
                let id = put.row.record.id.to_string();
                puts.sessions.add(put, id);
            }
            Change::PutTurn(put) => {
                let id = put.row.record.id.to_string();
                puts.turns.add(put, id);
            }
            Change::PutStep(step) => puts.steps.push(step),
            Change::PutEpisode(put) => {
                let id = put.row.record.id.to_string();
                puts.episodes.add(put, id);
            }
            Change::PutNote(note) => puts.notes.push(note),
            Change::PutState(put) => {
                let StateKey { workspace, key } = put.row.state_key();
                // The length keeps the two apart.
                let name = format!("{} {workspace} {key}", workspace.as_str().len());
                puts.states.add(put, name);
            }
            Change::PutAudit(record) => puts.audit.push(record),
            Change::PutReceipt(receipt) => puts.receipts.push(receipt),
        }
    }

    async fn apply(self, transaction: &mut Transaction, stored: &HashSet<String>) -> Attempt<()> {
        self.delete(transaction).await?;
        let replaced = self.puts.receipts.iter().filter(|receipt| stored.contains(&receipt.key));
        let sql = "DELETE FROM @receipts WHERE key = ANY($1)";
        let replaced: Vec<&str> = replaced.map(|receipt| receipt.key.as_str()).collect();
        delete(transaction, sql, replaced.into_iter()).await?;
        self.puts.put(transaction).await
    }

    async fn delete(&self, transaction: &mut Transaction) -> Attempt<()> {
        if !self.workspaces.is_empty() {
            let mut parts = OF_WORKSPACES
                .map(|table| {
                    format!(
                        "{table} AS (DELETE FROM @{table} WHERE workspace IN \
                     (SELECT pk FROM @workspaces WHERE name = ANY($1)) RETURNING *)"
                    )
                })
                .to_vec();
            for kind in RECALLED {
                let table = tail::table(kind);
                parts.push(format!("gone_{table} AS ({})", tail::go(kind, &format!("{table} r"))));
            }
            let sql =
                format!("WITH {} DELETE FROM @workspaces WHERE name = ANY($1)", parts.join(", "));
            delete(transaction, &sql, self.workspaces.iter().map(Workspace::as_str)).await?;
        }
        let sql = format!(
            "WITH doomed AS (SELECT pk FROM @sessions WHERE id = ANY($1)), \
             turns AS (DELETE FROM @turns WHERE session IN (SELECT pk FROM doomed) RETURNING *), \
             gone_turns AS ({}), \
             steps AS (DELETE FROM @steps WHERE session IN (SELECT pk FROM doomed)) \
             DELETE FROM @sessions WHERE id = ANY($1)",
            tail::go(RecordKind::Turn, "turns r"),
        );
        delete(transaction, &sql, self.sessions.iter().map(SessionId::as_str)).await?;
        let turns = self.turns.iter().map(TurnId::as_str);
        delete_recalled(transaction, RecordKind::Turn, turns).await?;
        let episodes = self.episodes.iter().map(EpisodeId::as_str);
        delete_recalled(transaction, RecordKind::Episode, episodes).await?;
        let notes = self.notes.iter().map(NoteId::as_str);
        delete_recalled(transaction, RecordKind::Note, notes).await?;
        if let Some(before) = self.receipts_before {
            let sql = Statement::new("DELETE FROM @receipts WHERE at < $1");
            transaction.rows(sql.bind(before.as_micros())?).await?;
        }
        Ok(())
    }
}

/// Deletes the records of a kind with some ids.
async fn delete_recalled<'i>(
    transaction: &mut Transaction,
    kind: RecordKind,
    ids: impl ExactSizeIterator<Item = &'i str>,
) -> Attempt<()> {
    let (table, go) = (tail::table(kind), tail::go(kind, "gone r"));
    let sql = format!("WITH gone AS (DELETE FROM @{table} WHERE id = ANY($1) RETURNING *) {go}");
    delete(transaction, &sql, ids).await
}

/// Deletes the rows with some names; what belongs to them goes with them.
async fn delete<'i>(
    transaction: &mut Transaction,
    sql: &str,
    names: impl ExactSizeIterator<Item = &'i str>,
) -> Attempt<()> {
    if names.len() == 0 {
        return Ok(());
    }
    let names: Vec<_> = names.map(escape).collect();
    transaction.rows(Statement::new(sql).bind(names)?).await.map(drop)
}

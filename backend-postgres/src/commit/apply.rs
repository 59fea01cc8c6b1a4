use memkeep_core::{EpisodeId, NoteId, SessionId, Timestamp, TurnId, Workspace, decide::Change};

use super::kinds::Kinds;
use crate::{
    escape::escape,
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

/// Applies the changes in their order, in one trip but for deletions. `replaced` tells that the
/// receipt that is put has been there before.
pub(crate) async fn apply(
    transaction: &mut Transaction,
    changes: Vec<Change>,
    replaced: bool,
) -> Attempt<()> {
    let mut group = Group::default();
    for change in changes {
        if group.puts.any && is_deletion(&change) {
            std::mem::take(&mut group).apply(transaction, replaced).await?;
        }
        group.add(change);
    }
    group.apply(transaction, replaced).await
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
            Change::PutSession(put) => puts.sessions.add(put),
            Change::PutTurn(put) => puts.turns.add(put),
            Change::PutStep(step) => puts.steps.push(step),
            Change::PutEpisode(put) => puts.episodes.add(put),
            Change::PutNote(note) => puts.notes.push(note),
            Change::PutState(put) => puts.states.add(put),
            Change::PutAudit(record) => puts.audit.push(record),
            Change::PutReceipt(receipt) => puts.receipts.push(receipt),
        }
    }

    async fn apply(self, transaction: &mut Transaction, replaced: bool) -> Attempt<()> {
        self.delete(transaction).await?;
        if replaced && !self.puts.receipts.is_empty() {
            let keys: Vec<_> = self.puts.receipts.iter().map(|r| escape(&r.key)).collect();
            let sql = "DELETE FROM @receipts WHERE key = ANY($1)";
            transaction.rows(Statement::new(sql).bind(keys)?).await?;
        }
        self.puts.put(transaction).await
    }

    async fn delete(&self, transaction: &mut Transaction) -> Attempt<()> {
        if !self.workspaces.is_empty() {
            let rows = OF_WORKSPACES.map(|table| {
                format!(
                    "{table} AS (DELETE FROM @{table} WHERE workspace IN \
                     (SELECT pk FROM @workspaces WHERE name = ANY($1)))"
                )
            });
            let sql =
                format!("WITH {} DELETE FROM @workspaces WHERE name = ANY($1)", rows.join(", "));
            delete(transaction, &sql, self.workspaces.iter().map(Workspace::as_str)).await?;
        }
        let sql = "WITH doomed AS (SELECT pk FROM @sessions WHERE id = ANY($1)), \
                   turns AS (DELETE FROM @turns WHERE session IN (SELECT pk FROM doomed)), \
                   steps AS (DELETE FROM @steps WHERE session IN (SELECT pk FROM doomed)) \
                   DELETE FROM @sessions WHERE id = ANY($1)";
        delete(transaction, sql, self.sessions.iter().map(SessionId::as_str)).await?;
        let sql = "DELETE FROM @turns WHERE id = ANY($1)";
        delete(transaction, sql, self.turns.iter().map(TurnId::as_str)).await?;
        let sql = "DELETE FROM @episodes WHERE id = ANY($1)";
        delete(transaction, sql, self.episodes.iter().map(EpisodeId::as_str)).await?;
        let sql = "DELETE FROM @notes WHERE id = ANY($1)";
        delete(transaction, sql, self.notes.iter().map(NoteId::as_str)).await?;
        if let Some(before) = self.receipts_before {
            let sql = Statement::new("DELETE FROM @receipts WHERE at < $1");
            transaction.rows(sql.bind(before.as_micros())?).await?;
        }
        Ok(())
    }
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

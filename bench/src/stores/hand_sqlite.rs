use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;
use memkeep::{SessionId, Timestamp, TurnId};
use rusqlite::{Connection, Row, TransactionBehavior, params};

use super::{Memkeep, Store};

/// The columns of a turn, and its tags.
const TURN: &str = "id, position, workspace, created_at, role, tokens, embedding_id, model, content, \
                    metadata, (SELECT json_group_object(name, value) FROM turn_tags WHERE turn = pk)";

/// SQL over memkeep's tables, as somebody would write it who knows only them.
pub(crate) struct HandSqlite(Connection);

impl HandSqlite {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        // Makes the tables.
        Memkeep::open_file("sqlite", path)?.close()?;
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "secure_delete", true)?;
        Ok(Self(connection))
    }

    fn commit<'t>(&mut self, turns: impl Iterator<Item = (&'t str, &'t str)>) -> Result<()> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (session, content) in turns {
            record(&transaction, session, content)?;
        }
        Ok(transaction.commit()?)
    }

    /// Reads the rows of a statement whole; how many.
    fn read(&self, sql: &str, values: impl rusqlite::Params, columns: usize) -> Result<usize> {
        let mut statement = self.0.prepare_cached(sql)?;
        let cells = |row: &Row<'_>| (0..columns).map(|at| row.get(at)).collect();
        let rows: Vec<Vec<rusqlite::types::Value>> =
            statement.query_map(values, cells)?.collect::<Result<_, _>>()?;
        Ok(std::hint::black_box(rows).len())
    }
}

fn record(connection: &Connection, session: &str, content: &str) -> Result<()> {
    let now = Timestamp::now().as_micros();
    let (pk, position): (i64, i64) = connection
        .prepare_cached(
            "UPDATE sessions SET next_turn = next_turn + 1, turn_count = turn_count + 1, \
             last_active = max(last_active, ?2) WHERE id = ?1 RETURNING pk, next_turn - 1",
        )?
        .query_row(params![session, now], |row| Ok((row.get(0)?, row.get(1)?)))?;
    connection
        .prepare_cached(
            "INSERT INTO turns (id, session, position, workspace, created_at, role, content, \
             metadata) VALUES (?, ?, ?, 'default', ?, 'user', ?, '{}')",
        )?
        .execute(params![TurnId::generate().as_str(), pk, position, now, content])?;
    Ok(())
}

impl Store for HandSqlite {
    fn name(&self) -> &'static str {
        "hand-written sqlite"
    }

    fn start_sessions(&mut self, ids: &[String]) -> Result<()> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for id in ids {
            transaction
                .prepare_cached(
                    "INSERT INTO sessions (id, workspace, created_at, started_at, last_active, \
                     next_turn, next_step, turn_count, step_count, total_tokens, metadata) \
                     VALUES (?1, 'default', ?2, ?2, ?2, 0, 0, 0, 0, 0, '{}')",
                )?
                .execute(params![
                    SessionId::new(id.as_str()).as_str(),
                    Timestamp::now().as_micros()
                ])?;
        }
        Ok(transaction.commit()?)
    }

    fn record(&mut self, session: &str, texts: &[String], writers: usize) -> Result<Vec<Duration>> {
        let mut waits = Vec::with_capacity(texts.len());
        for texts in texts.chunks(writers) {
            let started = Instant::now();
            self.commit(texts.iter().map(|text| (session, text.as_str())))?;
            waits.extend(std::iter::repeat_n(started.elapsed(), texts.len()));
        }
        Ok(waits)
    }

    fn record_batch(&mut self, turns: &[(&str, String)]) -> Result<()> {
        self.commit(turns.iter().map(|(session, text)| (*session, text.as_str())))
    }

    fn newest_sessions(&mut self, limit: usize) -> Result<usize> {
        let sql = "SELECT id, workspace, created_at, started_at, ended_at, last_active, next_turn, \
                   next_step, turn_count, step_count, total_tokens, model, mode, summary, metadata, \
                   (SELECT substr(content, 1, 256) FROM turns WHERE session = sessions.pk \
                    AND role = 'user' ORDER BY position LIMIT 1) \
                   FROM sessions ORDER BY started_at DESC, pk LIMIT ?";
        self.read(sql, [limit], 16)
    }

    fn last_turns(&mut self, session: &str, n: usize) -> Result<usize> {
        let sql = format!(
            "SELECT {TURN} FROM turns WHERE session = (SELECT pk FROM sessions WHERE id = ?) \
             ORDER BY position DESC LIMIT ?"
        );
        self.read(&sql, params![session, n], 11)
    }

    fn page_through(&mut self, session: &str, page: usize) -> Result<(Vec<Duration>, usize)> {
        let sql = format!(
            "SELECT {TURN} FROM turns WHERE session = (SELECT pk FROM sessions WHERE id = ?) \
             AND position >= ? ORDER BY position LIMIT ?"
        );
        let (mut times, mut turns) = (Vec::new(), 0);
        loop {
            let started = Instant::now();
            // No turn was deleted, so that positions have no gaps.
            let read = self.read(&sql, params![session, turns, page], 11)?;
            times.push(started.elapsed());
            turns += read;
            if read < page {
                return Ok((times, turns));
            }
        }
    }
}

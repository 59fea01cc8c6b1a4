use std::{borrow::Cow, collections::BTreeMap};

use memkeep_core::{
    AuditRecord, Episode, Error, ErrorKind, Json, Metadata, Note, Result, Session, SessionId,
    StateSlot, Step, StoredReceipt, Timestamp, Turn, Workspace,
    decide::{Change, Origin, Put, Stored},
};
use rusqlite::params;
use serde::Serialize;

use super::SqliteWriter;

/// The tables that have a workspace; what hangs on the rows of the first goes with them.
const OF_WORKSPACES: [&str; 7] =
    ["sessions", "turns", "steps", "episodes", "notes", "states", "audit"];

impl SqliteWriter {
    pub(super) fn apply_one(&mut self, change: &Change) -> Result<()> {
        match change {
            Change::DeleteWorkspace(workspace) => self.delete_workspace(workspace),
            Change::DeleteSession(id) => {
                self.sessions.remove(id);
                self.delete("sessions", id.as_str())
            }
            Change::DeleteTurn(id) => self.delete("turns", id.as_str()),
            Change::DeleteEpisode(id) => self.delete("episodes", id.as_str()),
            Change::DeleteNote(id) => self.delete("notes", id.as_str()),
            Change::DeleteReceipts(before) => {
                let sql = "DELETE FROM receipts WHERE at < ?";
                self.view.execute(sql, [before.as_micros()]).map(drop)
            }
            Change::PutSession(put) => self.put_session(put),
            Change::PutTurn(put) => self.put_turn(put),
            Change::PutStep(step) => self.insert_step(step),
            Change::PutEpisode(put) => self.put_episode(put),
            Change::PutNote(note) => self.insert_note(note),
            Change::PutState(put) => self.put_state(put),
            Change::PutAudit(record) => self.insert_audit(record),
            Change::PutReceipt(receipt) => self.put_receipt(receipt),
        }
    }

    fn delete_workspace(&mut self, workspace: &Workspace) -> Result<()> {
        self.sessions.clear();
        for table in OF_WORKSPACES {
            let sql = format!("DELETE FROM {table} WHERE workspace = ?");
            self.view.execute(&sql, [workspace.as_str()])?;
        }
        Ok(())
    }

    /// Deletes a row; what refers to it goes with it.
    fn delete(&self, table: &str, id: &str) -> Result<()> {
        self.view.execute(&format!("DELETE FROM {table} WHERE id = ?"), [id]).map(drop)
    }

    fn session_pk(&mut self, id: &SessionId) -> Result<i64> {
        if let Some(pk) = self.sessions.get(id) {
            return Ok(*pk);
        }
        let sql = "SELECT pk FROM sessions WHERE id = ?";
        let found = self.view.value(sql, [id.as_str()])?;
        let pk = found.ok_or_else(|| missing("session", id.as_str()))?;
        self.sessions.insert(id.clone(), pk);
        Ok(pk)
    }

    fn put_session(&mut self, put: &Put<Stored<Session>>) -> Result<()> {
        let Stored { record: session, origin } = &put.row;
        if !put.new {
            let pk = self.session_pk(&session.id)?;
            let sql = "UPDATE sessions SET ended_at = ?2, last_active = ?3, next_turn = ?4, \
                       next_step = ?5, turn_count = ?6, step_count = ?7, total_tokens = ?8, \
                       summary = ?9 WHERE pk = ?1";
            let values = params![
                pk,
                session.ended_at.map(Timestamp::as_micros),
                session.last_active.as_micros(),
                session.next_turn,
                session.next_step,
                session.turn_count,
                session.step_count,
                session.total_tokens,
                session.summary,
            ];
            let changed = self.view.execute(sql, values)?;
            return one(changed, "session", session.id.as_str());
        }
        let sql = "INSERT INTO sessions (id, workspace, created_at, started_at, ended_at, \
                   last_active, next_turn, next_step, turn_count, step_count, total_tokens, \
                   origin, model, mode, summary, metadata) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            session.id.as_str(),
            session.workspace.as_str(),
            session.created_at.as_micros(),
            session.started_at.as_micros(),
            session.ended_at.map(Timestamp::as_micros),
            session.last_active.as_micros(),
            session.next_turn,
            session.next_step,
            session.turn_count,
            session.step_count,
            session.total_tokens,
            bytes(origin.as_ref()),
            session.model,
            session.mode,
            session.summary,
            object(&session.metadata)?,
        ];
        self.view.execute(sql, values)?;
        let pk = self.view.connection().last_insert_rowid();
        self.sessions.insert(session.id.clone(), pk);
        Ok(())
    }

    fn put_turn(&mut self, put: &Put<Stored<Turn>>) -> Result<()> {
        let Stored { record: turn, origin } = &put.row;
        if !put.new {
            let sql = "UPDATE turns SET embedding_id = ?2 WHERE id = ?1 RETURNING pk";
            let pk = self.view.value(sql, params![turn.id.as_str(), turn.embedding_id])?;
            let pk: i64 = pk.ok_or_else(|| missing("turn", turn.id.as_str()))?;
            self.view.execute("DELETE FROM turn_tags WHERE turn = ?", [pk])?;
            return self.insert_tags(pk, &turn.tags);
        }
        let session = self.session_pk(&turn.session)?;
        let sql = "INSERT INTO turns (id, session, position, workspace, created_at, role, \
                   tokens, embedding_id, origin, model, content, metadata) \
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            turn.id.as_str(),
            session,
            turn.index,
            turn.workspace.as_str(),
            turn.created_at.as_micros(),
            turn.role,
            turn.tokens,
            turn.embedding_id,
            bytes(origin.as_ref()),
            turn.model,
            turn.content,
            object(&turn.metadata)?,
        ];
        self.view.execute(sql, values)?;
        let pk = self.view.connection().last_insert_rowid();
        self.insert_tags(pk, &turn.tags)
    }

    fn insert_tags(&self, turn: i64, tags: &BTreeMap<String, Option<String>>) -> Result<()> {
        for (name, value) in tags {
            let sql = "INSERT INTO turn_tags (turn, name, value) VALUES (?, ?, ?)";
            self.view.execute(sql, params![turn, name, value])?;
        }
        Ok(())
    }

    fn insert_step(&mut self, step: &Step) -> Result<()> {
        let session = self.session_pk(&step.session)?;
        let sql = "INSERT INTO steps (id, session, position, workspace, created_at, name, status, \
                   payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            step.id.as_str(),
            session,
            step.index,
            step.workspace.as_str(),
            step.created_at.as_micros(),
            step.name,
            step.status,
            json(&step.payload)?,
        ];
        self.view.execute(sql, values).map(drop)
    }

    fn put_episode(&self, put: &Put<Stored<Episode>>) -> Result<()> {
        let Stored { record: episode, origin } = &put.row;
        let closed_at = episode.closed_at.map(Timestamp::as_micros);
        let metadata = object(&episode.metadata)?;
        if !put.new {
            let sql = "UPDATE episodes SET open = ?2, closed_at = ?3, problem = ?4, summary = ?5, \
                       metadata = ?6 WHERE id = ?1";
            let values = params![
                episode.id.as_str(),
                episode.open,
                closed_at,
                episode.problem,
                episode.summary,
                metadata,
            ];
            let changed = self.view.execute(sql, values)?;
            return one(changed, "episode", episode.id.as_str());
        }
        let sql = "INSERT INTO episodes (id, workspace, created_at, open, closed_at, origin, \
                   problem, summary, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            episode.id.as_str(),
            episode.workspace.as_str(),
            episode.created_at.as_micros(),
            episode.open,
            closed_at,
            bytes(origin.as_ref()),
            episode.problem,
            episode.summary,
            metadata,
        ];
        self.view.execute(sql, values).map(drop)
    }

    fn insert_note(&self, note: &Note) -> Result<()> {
        let sql = "INSERT INTO notes (id, workspace, created_at, sources, text) \
                   VALUES (?, ?, ?, ?, ?)";
        let values = params![
            note.id.as_str(),
            note.workspace.as_str(),
            note.created_at.as_micros(),
            json(&note.sources)?,
            note.text,
        ];
        self.view.execute(sql, values).map(drop)
    }

    fn put_state(&self, put: &Put<StateSlot>) -> Result<()> {
        let slot = &put.row;
        let sql = if put.new {
            "INSERT INTO states (workspace, key, created_at, updated_at, expires_at, version, \
             value) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
        } else {
            "UPDATE states SET created_at = ?3, updated_at = ?4, expires_at = ?5, version = ?6, \
             value = ?7 WHERE workspace = ?1 AND key = ?2"
        };
        let values = params![
            slot.workspace.as_str(),
            slot.key,
            slot.created_at.as_micros(),
            slot.updated_at.as_micros(),
            slot.expires_at.map(Timestamp::as_micros),
            slot.version,
            slot.value.as_ref().map(json::<Json>).transpose()?,
        ];
        let changed = self.view.execute(sql, values)?;
        one(changed, "state", &slot.key)
    }

    fn insert_audit(&self, record: &AuditRecord) -> Result<()> {
        let sql = "INSERT INTO audit (id, workspace, seq, created_at, hash, action, decision, \
                   detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
        let values = params![
            record.id.as_str(),
            record.workspace.as_str(),
            record.seq,
            record.created_at.as_micros(),
            record.hash.0,
            record.action,
            record.decision,
            json(&record.detail)?,
        ];
        self.view.execute(sql, values).map(drop)
    }

    fn put_receipt(&self, receipt: &StoredReceipt) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO receipts (key, at, digest, marks) VALUES (?, ?, ?, ?)";
        let values =
            params![receipt.key, receipt.at.as_micros(), receipt.digest.0, json(&receipt.marks)?,];
        self.view.execute(sql, values).map(drop)
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|e| Error::new(ErrorKind::Unexpected, "JSON cannot be written").caused_by(e))
}

/// Most records have no metadata.
fn object(map: &Metadata) -> Result<Cow<'static, str>> {
    if map.is_empty() { Ok("{}".into()) } else { json(map).map(Into::into) }
}

fn bytes(origin: Option<&Origin>) -> Option<&[u8]> {
    origin.map(|origin| &origin.0[..])
}

fn one(changed: usize, what: &'static str, id: &str) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(missing(what, id)) }
}

/// A row that was loaded in this transaction is not there any more.
fn missing(what: &'static str, id: &str) -> Error {
    Error::new(ErrorKind::Unexpected, "the row to change is not there").with(what, id)
}

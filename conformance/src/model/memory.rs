use memkeep_core::{
    AuditRecord, Batch, Counts, Deleted, Episode, ErrorKind, Note, Op, Outcome, Receipt, Record,
    RecordKind, Session, StateSlot, Step, Timestamp, Turn, Workspace,
};

use super::{
    row::{Kept, Row, find},
    words,
};

/// For how long a batch's key is honoured: 7 days.
const KEY_MICROS: i64 = 7 * 24 * 3_600 * 1_000_000;

/// The naive memory: a list for each kind, in the order of insertion.
#[derive(Clone, Default)]
pub(super) struct Memory {
    pub(super) sessions: Vec<Row<Session>>,
    pub(super) turns: Vec<Row<Turn>>,
    pub(super) steps: Vec<Row<Step>>,
    pub(super) episodes: Vec<Row<Episode>>,
    pub(super) notes: Vec<Row<Note>>,
    /// What deletions left of entries included.
    pub(super) states: Vec<Row<StateSlot>>,
    pub(super) audits: Vec<Row<AuditRecord>>,
    receipts: Vec<Committed>,
    inserted: u64,
}

/// A batch that was committed under a key.
#[derive(Clone)]
struct Committed {
    key: String,
    ops: Vec<Op>,
    at: Timestamp,
    done: Vec<Done>,
}

/// What an op did.
#[derive(Clone)]
pub(super) enum Done {
    /// It created or deleted something: a retry is told the same.
    Once(Outcome),
    /// It changed a record, or found it: a retry is told how the record is then.
    Now(Outcome),
}

/// Why a batch is refused: the kind of the error, and the position of the op it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) kind: ErrorKind,
    pub(super) op: Option<usize>,
}

/// One op being done: the time, and the id that the store generated if the caller left it out.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) now: Timestamp,
    pub(super) generated: &'a str,
}

impl Memory {
    /// Commits a batch. `told` is the store's receipt, from which generated ids are taken.
    pub(super) fn commit(
        &mut self,
        batch: &Batch,
        now: Timestamp,
        told: Option<&Receipt>,
    ) -> Result<Receipt, Refused> {
        words::check(batch)?;
        if let Some(before) = self.committed(batch.key.as_deref(), now) {
            if before.ops != batch.ops {
                return Err(Refused { kind: ErrorKind::Conflict, op: None });
            }
            let outcomes = before.done.iter().map(|done| self.again(done)).collect();
            return Ok(Receipt { at: before.at, outcomes });
        }
        let mut next = self.clone();
        let mut all = Vec::new();
        for (position, op) in batch.ops.iter().enumerate() {
            let told = told.and_then(|receipt| receipt.outcomes.get(position));
            let generated = told.and_then(id_of).unwrap_or("the store gave no id");
            let refused = |kind| Refused { kind, op: Some(position) };
            all.push(next.op(op, Moment { now, generated }).map_err(refused)?);
        }
        let outcomes = all.iter().map(|done| done.outcome().clone()).collect();
        if let Some(key) = &batch.key {
            next.receipts.retain(|receipt| receipt.key != *key);
            let (key, ops) = (key.clone(), batch.ops.clone());
            next.receipts.push(Committed { key, ops, at: now, done: all });
        }
        *self = next;
        Ok(Receipt { at: now, outcomes })
    }

    fn committed(&self, key: Option<&str>, now: Timestamp) -> Option<&Committed> {
        let honoured = |at: Timestamp| now.as_micros() < at.as_micros() + KEY_MICROS;
        self.receipts.iter().find(|r| Some(r.key.as_str()) == key && honoured(r.at))
    }

    /// What a retry is told.
    fn again(&self, done: &Done) -> Outcome {
        let outcome = match done {
            Done::Once(outcome) => return outcome.clone(),
            Done::Now(outcome) => outcome,
        };
        macro_rules! now {
            ($rows:ident, $id:expr, $outcome:expr) => {
                find(&self.$rows, $id).map(|row| $outcome(row.record.clone()))
            };
        }
        let record = |record| Outcome::Restored { record, created: false };
        let now = match outcome {
            Outcome::Session(r) => now!(sessions, &r.id, Outcome::Session),
            Outcome::Turn(r) => now!(turns, &r.id, Outcome::Turn),
            Outcome::Step(r) => now!(steps, &r.id, Outcome::Step),
            Outcome::Episode(r) => now!(episodes, &r.id, Outcome::Episode),
            Outcome::Note(r) => now!(notes, &r.id, Outcome::Note),
            Outcome::Audit(r) => now!(audits, &r.id, Outcome::Audit),
            Outcome::Restored { record: there, .. } => {
                let all = self.records(there.kind());
                let same = |r: &Record| r.id() == there.id() && same_place(r, there);
                all.into_iter().find(same).map(record)
            }
            _ => None,
        };
        now.unwrap_or(Outcome::Gone)
    }

    fn op(&mut self, op: &Op, moment: Moment<'_>) -> Result<Done, ErrorKind> {
        match op {
            Op::StartSession(new) => self.start_session(new, false, moment),
            Op::EnsureSession(new) => self.start_session(new, true, moment),
            Op::EndSession { session, at } => self.change_session(session, |s| {
                s.ended_at = s.ended_at.or(at.or(Some(moment.now)));
            }),
            Op::ResumeSession { session } => self.change_session(session, |s| s.ended_at = None),
            Op::SetSummary { session, summary } => {
                self.change_session(session, |s| s.summary.clone_from(summary))
            }
            Op::DeleteSession { session, ended_before } => {
                Ok(self.delete_session(session, *ended_before))
            }
            Op::RecordTurn(new) => self.record_turn(new, moment),
            Op::RecordStep(new) => self.record_step(new, moment),
            Op::DeleteTurn { turn } => self.delete_turn(turn),
            Op::TagTurn { turn, name, value } => self.change_turn(turn, |t| {
                t.tags.insert(name.clone(), value.clone());
            }),
            Op::UntagTurn { turn, name } => self.change_turn(turn, |t| {
                t.tags.remove(name);
            }),
            Op::SetEmbedding { turn, embedding_id } => {
                self.change_turn(turn, |t| t.embedding_id.clone_from(embedding_id))
            }
            Op::AddEpisode(new) => self.add_episode(new, moment),
            Op::ReviseEpisode(revision) => self.revise_episode(revision),
            Op::SetEpisodeOpen { episode, open } => {
                self.set_episode_open(episode, *open, moment.now)
            }
            Op::DeleteEpisode { episode, closed_before } => {
                Ok(self.delete_episode(episode, *closed_before))
            }
            Op::AddNote(new) => self.add_note(new, moment),
            Op::DeleteNote { note } => Ok(self.delete_note(note)),
            Op::PutState(put) => self.put_state(put, moment.now),
            Op::DeleteState(delete) => self.delete_state(delete, moment.now),
            Op::AppendAudit(new) => self.append_audit(new, moment),
            Op::ForgetWorkspace { workspace } => Ok(self.forget_workspace(workspace)),
            Op::ForgetReceipts { before } => {
                let young = |at: Timestamp| at.as_micros() >= moment.now.as_micros() - KEY_MICROS;
                self.receipts.retain(|r| r.at >= *before || young(r.at));
                Ok(deleted(false, Counts::default()))
            }
            Op::Restore { record } => self.restore(record),
            other => panic!("the model does not know this op: {other:?}"),
        }
    }

    fn forget_workspace(&mut self, workspace: &Workspace) -> Done {
        let counts = self.counts(workspace);
        macro_rules! forget {
            ($($rows:ident)*) => {
                $(self.$rows.retain(|row| row.record.workspace != *workspace);)*
            };
        }
        forget!(sessions turns steps episodes notes states audits);
        deleted(counts.total() > 0, counts)
    }

    /// How many records a workspace has.
    pub(super) fn counts(&self, workspace: &Workspace) -> Counts {
        fn of<T: Kept>(rows: &[Row<T>], workspace: &Workspace) -> u64 {
            rows.iter().filter(|row| row.record.workspace() == workspace).count() as u64
        }
        let states = self.states.iter().filter(|row| row.record.value.is_some());
        Counts {
            sessions: of(&self.sessions, workspace),
            turns: of(&self.turns, workspace),
            steps: of(&self.steps, workspace),
            episodes: of(&self.episodes, workspace),
            notes: of(&self.notes, workspace),
            states: states.filter(|row| row.record.workspace == *workspace).count() as u64,
            audits: of(&self.audits, workspace),
        }
    }

    /// All records of a kind in order of insertion.
    pub(super) fn records(&self, kind: RecordKind) -> Vec<Record> {
        fn all<T: Kept>(rows: &[Row<T>]) -> Vec<Record> {
            rows.iter().map(|row| row.record.clone().record()).collect()
        }
        match kind {
            RecordKind::Session => all(&self.sessions),
            RecordKind::Turn => all(&self.turns),
            RecordKind::Step => all(&self.steps),
            RecordKind::Episode => all(&self.episodes),
            RecordKind::Note => all(&self.notes),
            RecordKind::State => all(&self.states),
            RecordKind::Audit => all(&self.audits),
        }
    }

    /// The row of a record that is inserted now.
    pub(super) fn row<T>(&mut self, record: T, origin: Option<memkeep_core::Json>) -> Row<T> {
        self.inserted += 1;
        Row { inserted: self.inserted, origin, record }
    }
}

impl Done {
    fn outcome(&self) -> &Outcome {
        match self {
            Self::Once(outcome) | Self::Now(outcome) => outcome,
        }
    }
}

/// State keys are unique in a workspace only.
fn same_place(a: &Record, b: &Record) -> bool {
    a.kind() != RecordKind::State || a.workspace() == b.workspace()
}

pub(super) fn deleted(existed: bool, counts: Counts) -> Done {
    Done::Once(Outcome::Deleted(Deleted { existed, counts }))
}

/// The id of the record that an outcome shows.
fn id_of(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Session(r) => Some(r.id.as_str()),
        Outcome::Turn(r) => Some(r.id.as_str()),
        Outcome::Step(r) => Some(r.id.as_str()),
        Outcome::Episode(r) => Some(r.id.as_str()),
        Outcome::Note(r) => Some(r.id.as_str()),
        Outcome::Audit(r) => Some(r.id.as_str()),
        _ => None,
    }
}

use std::collections::HashMap;

use super::{
    Change, Loaded, Prepared, Put, Stored,
    prepared::PreparedOp,
    replay,
    rows::{Fate, Rows, Wide},
};
use crate::{
    AuditHead, AuditId, AuditRecord, Counts, Deleted, Episode, EpisodeId, Error, ErrorKind, Mark,
    Note, NoteId, Op, Outcome, RECEIPT_RETENTION, Receipt, Result, Session, SessionId, StateKey,
    StateSlot, Step, StepId, StoredReceipt, Timestamp, Turn, TurnId, Workspace,
};

/// What a batch comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What the caller is told once the changes are stored.
    pub receipt: Receipt,
    /// What to store, in this order.
    pub changes: Vec<Change>,
}

/// Decides a batch over the rows that were loaded for its [needs](Prepared::needs), at `now`.
///
/// Later ops see what earlier ones did (`BATCH-LATER-01`, `BATCH-LATER-02`, `BATCH-LATER-03`,
/// `BATCH-LATER-04`, `BATCH-LATER-05`). The first op that is refused refuses the batch (`ERROR-PRECEDENCE-03`); within an op `InvalidArgument` comes before
/// `NotFound` before `Conflict`, as far as each can be known (`ERROR-PRECEDENCE-02`). What the words
/// alone show to be wrong, [`Batch::prepare`](crate::Batch::prepare) has refused
/// (`ERROR-PRECEDENCE-01`, `ERROR-PRECEDENCE-04`).
///
/// | op | outcome | refuses | clauses |
/// |---|---|---|---|
/// | `StartSession`, `EnsureSession` | the session: for `EnsureSession` the one that is there, or a new one | `Conflict`: the id with another body | `ERROR-BODY-01`, `SESSION-ENSURE-01`, `SESSION-ENSURE-02`, `SESSION-ENSURE-03` |
/// | `EndSession`, `ResumeSession`, `SetSummary` | the session; ending twice keeps the first end | `NotFound` | `ERROR-UNKNOWN-01`, `SESSION-END-01`, `SESSION-SUMMARY-01` |
/// | `DeleteSession` | what went: turns, steps and tags go with it | | `SESSION-DELETE-01`, `FORGET-CONDITION-01` |
/// | `RecordTurn`, `RecordStep` | the turn, the step, with its index | `NotFound`; `InvalidArgument`: the session's tokens overflow; `Conflict`: the session has ended | `ERROR-UNKNOWN-01`, `ERROR-TOKENS-01`, `ERROR-ENDED-01`, `TURN-INDEX-01`, `WRITERS-INDEX-01`, `WRITERS-INDEX-02` |
/// | `DeleteTurn` | what went; its index stays unused | `InvalidArgument`: the tokens of the turns that stay overflow | `ERROR-TOKENS-01`, `TURN-INDEX-03` |
/// | `TagTurn`, `UntagTurn`, `SetEmbedding` | the turn | `NotFound` | `ERROR-UNKNOWN-01`, `TURN-TAG-02` |
/// | `AddEpisode`, `ReviseEpisode`, `SetEpisodeOpen` | the episode | `NotFound` | `EPISODE-REVISE-01`, `EPISODE-REVISE-03`, `EPISODE-CLOSE-01` |
/// | `DeleteEpisode`, `DeleteNote` | what went; notes keep the id of a deleted episode | | `EPISODE-DELETE-01`, `NOTE-DELETE-01`, `NOTE-SOURCE-04`, `FORGET-CONDITION-02` |
/// | `AddNote` | the note | `NotFound`: a source is not in the note's workspace | `NOTE-SOURCE-01`, `NOTE-SOURCE-02` |
/// | `PutState`, `DeleteState` | the entry; what went | `Conflict`: the expectation fails | `STATE-EXPECT-01`, `STATE-EXPECT-02`, `STATE-EXPECT-03`, `STATE-EXPECT-04`, `FORGET-CONDITION-03` |
/// | `AppendAudit` | the record | | `AUDIT-APPEND-01`, `AUDIT-SEQ-01` |
/// | `ForgetWorkspace` | what went: everything of the workspace | | `FORGET-WORKSPACE-01`, `FORGET-WORKSPACE-02`, `MANY-FORGET-01` |
/// | `ForgetReceipts` | nothing | | `RETRY-KEY-08`, `RETRY-KEY-09` |
/// | `Restore` | the record as stored | `NotFound`: its session; `Conflict`: the id, index, key or place in the chain is taken by another | `RESTORE-RECORD-01`, `RESTORE-RECORD-02`, `RESTORE-RECORD-03`, `RESTORE-RECORD-04`, `RESTORE-RECORD-05`, `RESTORE-TURN-01`, `RESTORE-TURN-02`, `RESTORE-STATE-01`, `RESTORE-AUDIT-01`, `RESTORE-NOTE-01`, `RESTORE-BATCH-01`, `RESTORE-COPY-01` |
///
/// Deleting what is not there succeeds and says so (`ERROR-UNKNOWN-02`).
///
/// Creating a record whose id exists (the caller having given the id) compares the fields the caller
/// set at creation, before any check of state: equal answers with the stored record (`RETRY-ID-01`,
/// `RETRY-ID-02`), however it has changed (`RETRY-ID-03`, `RETRY-ID-04`, `RETRY-ID-05`, `RETRY-ID-06`,
/// `RETRY-ID-07`), else `Conflict` (`ERROR-BODY-01`), whatever the workspace (`ID-UNIQUE-01`). The id of
/// what was deleted is free (`RETRY-ID-08`).
pub fn decide(prepared: &Prepared, loaded: Loaded, now: Timestamp) -> Result<Decision> {
    if let (Some((_, digest)), Some(stored)) = (prepared.keyed(), &loaded.receipt)
        && now.saturating_duration_since(stored.at) < RECEIPT_RETENTION
    {
        if stored.digest != *digest {
            let message = "another batch was committed under this idempotency key";
            return Err(Error::new(ErrorKind::Conflict, message).with("key", &stored.key));
        }
        let receipt = replay::receipt(prepared, stored, &loaded);
        return Ok(Decision { receipt, changes: Vec::new() });
    }
    let counting = prepared.ops().iter().any(|op| matches!(op.op, Op::ForgetWorkspace { .. }));
    let turn_slots = Slots::new(loaded.turn_slots.keys(), &loaded.sessions);
    let step_slots = Slots::new(loaded.step_slots.keys(), &loaded.sessions);
    let mut decider = Decider {
        now,
        at: 0,
        wide: Wide::default(),
        sessions: Rows::new(loaded.sessions),
        turns: Rows::new(loaded.turns),
        steps: Rows::new(loaded.steps),
        episodes: Rows::new(loaded.episodes),
        notes: Rows::new(loaded.notes),
        states: Rows::new(loaded.states),
        audits: Rows::new(loaded.audits),
        heads: loaded.audit_heads,
        turn_slots,
        step_slots,
        counts: counting.then_some(loaded.workspaces),
        receipts_before: None,
    };
    let mut outcomes = Vec::with_capacity(prepared.ops().len());
    let mut marks = Vec::new();
    for (position, op) in prepared.ops().iter().enumerate() {
        decider.at = position + 1;
        let (outcome, mark) =
            decider.op(op).map_err(|e| e.with("op", position).during("commit"))?;
        outcomes.push(outcome);
        if prepared.key().is_some() {
            marks.push(mark);
        }
    }
    let mut changes = decider.changes();
    if let Some((key, digest)) = prepared.keyed() {
        let (key, digest) = (key.clone(), *digest);
        changes.push(Change::PutReceipt(StoredReceipt { key, digest, at: now, marks }));
    }
    Ok(Decision { receipt: Receipt { at: now, outcomes }, changes })
}

/// Which indexes of sessions are taken: by the session's workspace, and the op that took the index
/// (0: it was taken before the batch).
pub(super) struct Slots(HashMap<(SessionId, u64), (Workspace, usize)>);

impl Slots {
    /// The session of a slot that is taken is loaded.
    fn new<'a>(
        loaded: impl IntoIterator<Item = &'a (SessionId, u64)>,
        sessions: &HashMap<SessionId, Stored<Session>>,
    ) -> Self {
        let slot = |slot: &(SessionId, u64)| {
            let workspace = sessions.get(&slot.0)?.record.workspace.clone();
            Some((slot.clone(), (workspace, 0)))
        };
        Self(loaded.into_iter().filter_map(slot).collect())
    }

    pub(super) fn taken(&self, session: &SessionId, index: u64, wide: &Wide) -> bool {
        let slot = self.0.get(&(session.clone(), index));
        slot.is_some_and(|(workspace, at)| wide.spares(workspace, Some(session), *at))
    }

    pub(super) fn put(
        &mut self,
        session: &SessionId,
        index: u64,
        workspace: &Workspace,
        at: usize,
    ) {
        self.0.insert((session.clone(), index), (workspace.clone(), at));
    }

    pub(super) fn free(&mut self, session: &SessionId, index: u64) {
        self.0.remove(&(session.clone(), index));
    }
}

/// A batch being decided.
pub(super) struct Decider {
    pub(super) now: Timestamp,
    /// The op being decided, counted from 1.
    pub(super) at: usize,
    pub(super) wide: Wide,
    pub(super) sessions: Rows<SessionId, Stored<Session>>,
    pub(super) turns: Rows<TurnId, Stored<Turn>>,
    pub(super) steps: Rows<StepId, Step>,
    pub(super) episodes: Rows<EpisodeId, Stored<Episode>>,
    pub(super) notes: Rows<NoteId, Note>,
    pub(super) states: Rows<StateKey, StateSlot>,
    pub(super) audits: Rows<AuditId, AuditRecord>,
    pub(super) heads: HashMap<Workspace, AuditHead>,
    pub(super) turn_slots: Slots,
    pub(super) step_slots: Slots,
    /// What workspaces hold; absent when no op asks.
    counts: Option<HashMap<Workspace, Counts>>,
    receipts_before: Option<Timestamp>,
}

/// An op's outcome, and what a receipt keeps of it.
pub(super) type Done = (Outcome, Mark);

impl Decider {
    fn op(&mut self, prepared: &PreparedOp) -> Result<Done> {
        let generated = prepared.generated;
        match &prepared.op {
            Op::StartSession(new) => self.start_session(new, prepared.origin, false),
            Op::EnsureSession(new) => self.start_session(new, prepared.origin, true),
            Op::EndSession { session, at } => self.end_session(session, *at),
            Op::ResumeSession { session } => self.change_session(session, |s| s.ended_at = None),
            Op::SetSummary { session, summary } => {
                self.change_session(session, |s| s.summary.clone_from(summary))
            }
            Op::DeleteSession { session, ended_before } => {
                Ok(self.delete_session(session, *ended_before))
            }
            Op::RecordTurn(new) => self.record_turn(new, prepared.origin),
            Op::RecordStep(new) => self.record_step(new, generated),
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
            Op::AddEpisode(new) => self.add_episode(new, prepared.origin),
            Op::ReviseEpisode(revision) => self.revise_episode(revision),
            Op::SetEpisodeOpen { episode, open } => self.set_episode_open(episode, *open),
            Op::DeleteEpisode { episode, closed_before } => {
                Ok(self.delete_episode(episode, *closed_before))
            }
            Op::AddNote(new) => self.add_note(new, generated),
            Op::DeleteNote { note } => Ok(self.delete_note(note)),
            Op::PutState(put) => self.put_state(put),
            Op::DeleteState(delete) => self.delete_state(delete),
            Op::AppendAudit(new) => self.append_audit(new, generated),
            Op::ForgetWorkspace { workspace } => Ok(self.forget_workspace(workspace)),
            Op::ForgetReceipts { before } => {
                let before = (*before).min(self.now.saturating_sub(RECEIPT_RETENTION));
                self.receipts_before = self.receipts_before.max(Some(before));
                Ok(deleted(Deleted::default()))
            }
            Op::Restore { record } => self.restore(record, prepared.origin),
        }
    }

    fn forget_workspace(&mut self, workspace: &Workspace) -> Done {
        let counts = self.counts.get_or_insert_default().remove(workspace).unwrap_or_default();
        self.wide.workspaces.insert(workspace.clone(), self.at);
        self.heads.remove(workspace);
        deleted(Deleted { existed: counts.total() > 0, counts })
    }

    /// Notes what an op added to a workspace.
    pub(super) fn added(&mut self, workspace: &Workspace, add: Counts) {
        if let Some(counts) = &mut self.counts {
            *counts.entry(workspace.clone()).or_default() += add;
        }
    }

    /// Notes what an op took from a workspace.
    pub(super) fn removed(&mut self, workspace: &Workspace, less: Counts) {
        if let Some(counts) = &mut self.counts {
            *counts.entry(workspace.clone()).or_default() -= less;
        }
    }

    /// Deletions first, widest first; then records, each after what it refers to.
    fn changes(self) -> Vec<Change> {
        let wide = self.wide;
        let mut changes: Vec<Change> =
            wide.workspaces.keys().cloned().map(Change::DeleteWorkspace).collect();
        changes.extend(self.receipts_before.map(Change::DeleteReceipts));
        let mut puts = Vec::new();
        split(self.sessions.fates(&wide), &mut changes, Change::DeleteSession, |put| {
            puts.push(Change::PutSession(put));
        });
        split(self.turns.fates(&wide), &mut changes, Change::DeleteTurn, |put| {
            puts.push(Change::PutTurn(put));
        });
        split(self.episodes.fates(&wide), &mut changes, Change::DeleteEpisode, |put| {
            puts.push(Change::PutEpisode(put));
        });
        split(self.notes.fates(&wide), &mut changes, Change::DeleteNote, |put| {
            puts.push(Change::PutNote(put.row));
        });
        let puts_only = |fates: Vec<Fate<_, _>>| fates.into_iter().filter_map(Fate::into_put);
        puts.extend(puts_only(self.states.fates(&wide)).map(Change::PutState));
        for fate in self.steps.fates(&wide) {
            puts.extend(fate.into_put().map(|put| Change::PutStep(put.row)));
        }
        for fate in self.audits.fates(&wide) {
            puts.extend(fate.into_put().map(|put| Change::PutAudit(put.row)));
        }
        changes.extend(puts);
        changes
    }
}

impl<K, V> Fate<K, V> {
    fn into_put(self) -> Option<Put<V>> {
        match self {
            Self::Delete(_) => None,
            Self::Put { row, new, .. } => Some(Put { row, new }),
        }
    }
}

/// Sends the deletions among `fates` to `changes` and the rows to `put`.
fn split<K: Clone, V>(
    fates: Vec<Fate<K, V>>,
    changes: &mut Vec<Change>,
    delete: impl Fn(K) -> Change,
    mut put: impl FnMut(Put<V>),
) {
    for fate in fates {
        match fate {
            Fate::Delete(key) => changes.push(delete(key)),
            Fate::Put { key, row, new, replaces } => {
                if replaces {
                    changes.push(delete(key));
                }
                put(Put { row, new });
            }
        }
    }
}

pub(super) fn deleted(deleted: Deleted) -> Done {
    (Outcome::Deleted(deleted), Mark::Deleted(deleted))
}

pub(super) fn changed(id: impl Into<String>, outcome: Outcome) -> Done {
    (outcome, Mark::Changed { id: id.into() })
}

/// `Conflict`: the id is another record's.
pub(super) fn other_body(what: &'static str, id: &str) -> Error {
    let message = format!("another {what} has this id");
    Error::new(ErrorKind::Conflict, message).with(what, id)
}

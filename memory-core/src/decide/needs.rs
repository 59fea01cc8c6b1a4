use std::collections::BTreeSet;

use crate::{
    AuditId, EpisodeId, NoteId, Op, Record, SessionId, StateKey, Step, StepId, Turn, TurnId,
    Workspace, decide::Prepared,
};

/// The rows that a batch touches, in a fixed order, so that two writers who lock them as they come
/// never wait for each other.
///
/// What does not exist is simply not loaded. Beyond what is named here, the session of each turn
/// in `turns` is loaded too: ops that name a turn keep its session's totals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The idempotency key whose receipt is needed.
    pub receipt: Option<String>,
    /// Sessions.
    pub sessions: BTreeSet<SessionId>,
    /// Turns, each with its session.
    pub turns: BTreeSet<TurnId>,
    /// Steps.
    pub steps: BTreeSet<StepId>,
    /// Episodes.
    pub episodes: BTreeSet<EpisodeId>,
    /// Notes.
    pub notes: BTreeSet<NoteId>,
    /// State slots, deleted and expired ones included.
    pub states: BTreeSet<StateKey>,
    /// Audit records.
    pub audits: BTreeSet<AuditId>,
    /// The ends of audit chains.
    pub audit_heads: BTreeSet<Workspace>,
    /// Which turn has this index in this session, which need not be among `sessions`.
    pub turn_slots: BTreeSet<(SessionId, u64)>,
    /// Which step has this index in this session, likewise.
    pub step_slots: BTreeSet<(SessionId, u64)>,
    /// How many records workspaces have.
    pub workspaces: BTreeSet<Workspace>,
}

impl Needs {
    pub(super) fn of(prepared: &Prepared) -> Self {
        let mut needs = Self { receipt: prepared.key().map(str::to_owned), ..Self::default() };
        for prepared in prepared.ops() {
            needs.add(&prepared.op, prepared.generated);
        }
        needs
    }

    /// Of a batch that only restores records, if none of them is there.
    pub(super) fn if_new(prepared: &Prepared) -> Option<Self> {
        if prepared.key().is_some() {
            return None;
        }
        let mut needs = Self::default();
        for prepared in prepared.ops() {
            let Op::Restore { record } = &prepared.op else { return None };
            needs.around(record);
        }
        Some(needs)
    }

    /// A generated id is new, so no row can be there under it.
    fn add(&mut self, op: &Op, generated: bool) {
        match op {
            Op::StartSession(new) | Op::EnsureSession(new) => {
                self.sessions.extend(new.id.clone().filter(|_| !generated));
            }
            Op::EndSession { session, .. }
            | Op::ResumeSession { session }
            | Op::SetSummary { session, .. }
            | Op::DeleteSession { session, .. } => {
                self.sessions.insert(session.clone());
            }
            Op::RecordTurn(new) => {
                self.sessions.insert(new.session.clone());
                self.turns.extend(new.id.clone().filter(|_| !generated));
            }
            Op::RecordStep(new) => {
                self.sessions.insert(new.session.clone());
                self.steps.extend(new.id.clone().filter(|_| !generated));
            }
            Op::DeleteTurn { turn }
            | Op::TagTurn { turn, .. }
            | Op::UntagTurn { turn, .. }
            | Op::SetEmbedding { turn, .. } => {
                self.turns.insert(turn.clone());
            }
            Op::AddEpisode(new) => {
                self.episodes.extend(new.id.clone().filter(|_| !generated));
            }
            Op::ReviseEpisode(revision) => {
                self.episodes.insert(revision.episode.clone());
            }
            Op::SetEpisodeOpen { episode, .. } | Op::DeleteEpisode { episode, .. } => {
                self.episodes.insert(episode.clone());
            }
            Op::AddNote(new) => {
                self.notes.extend(new.id.clone().filter(|_| !generated));
                self.episodes.extend(new.sources.iter().flatten().cloned());
            }
            Op::DeleteNote { note } => {
                self.notes.insert(note.clone());
            }
            Op::PutState(put) => {
                self.state(put.workspace.clone(), &put.key);
            }
            Op::DeleteState(delete) => {
                self.state(delete.workspace.clone(), &delete.key);
            }
            Op::AppendAudit(new) => {
                self.audits.extend(new.id.clone().filter(|_| !generated));
                self.audit_heads.insert(new.workspace.clone().unwrap_or_default());
            }
            Op::ForgetWorkspace { workspace } => {
                self.workspaces.insert(workspace.clone());
            }
            Op::ForgetReceipts { .. } => {}
            Op::Restore { record } => self.restore(record),
        }
    }

    fn state(&mut self, workspace: Option<Workspace>, key: &str) {
        self.states
            .insert(StateKey { workspace: workspace.unwrap_or_default(), key: key.to_owned() });
    }

    fn restore(&mut self, record: &Record) {
        self.around(record);
        match record {
            Record::Session(r) => {
                self.sessions.insert(r.id.clone());
            }
            Record::Turn(r) => {
                self.turns.insert(r.id.clone());
                self.turn_slots.insert((r.session.clone(), r.index));
            }
            Record::Step(r) => {
                self.steps.insert(r.id.clone());
                self.step_slots.insert((r.session.clone(), r.index));
            }
            Record::Episode(r) => {
                self.episodes.insert(r.id.clone());
            }
            Record::Note(r) => {
                self.notes.insert(r.id.clone());
            }
            Record::State(_) => {}
            Record::Audit(r) => {
                self.audits.insert(r.id.clone());
            }
        }
    }

    /// What a record that is restored belongs to; of state, the slot itself.
    fn around(&mut self, record: &Record) {
        match record {
            Record::Turn(Turn { session, .. }) | Record::Step(Step { session, .. }) => {
                self.sessions.insert(session.clone());
            }
            Record::State(r) => {
                self.states.insert(r.state_key());
            }
            Record::Audit(r) => {
                self.audit_heads.insert(r.workspace.clone());
            }
            Record::Session(_) | Record::Episode(_) | Record::Note(_) => {}
        }
    }
}

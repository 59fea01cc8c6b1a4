use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::{
    Needs, Origin,
    restore::{new_episode, underived},
};
use crate::{
    AuditId, Batch, EpisodeId, Error, Hash, NoteId, Op, Record, Result, SessionId, StepId, TurnId,
    Workspace,
    bounds::{MAX_BATCH_OPS, MAX_TEXT_BYTES, Measure, limited},
    json::to_canonical,
};

/// A batch whose words have been checked, with all ids in place.
#[derive(Clone, Debug)]
pub struct Prepared {
    ops: Vec<PreparedOp>,
    key: Option<(String, Hash)>,
    bytes: usize,
}

impl Batch {
    /// Checks the batch against the bounds, generates the ids that callers left out, and works out what
    /// retries are known by: the digest of a batch with an idempotency key, and what each record is
    /// created from. No stored row is needed for it, so it is done before the write transaction.
    ///
    /// Errors: `InvalidArgument` with the field under `field` and the op's position under `op`.
    pub fn prepare(self) -> Result<Prepared> {
        if self.ops.len() > MAX_BATCH_OPS {
            return Err(Error::invalid(
                "batch",
                format_args!("{} ops, at most {MAX_BATCH_OPS} are allowed", self.ops.len()),
            )
            .during("commit"));
        }
        let mut measure = Measure::default();
        for (position, op) in self.ops.iter().enumerate() {
            check(op, &mut measure).map_err(|e| e.with("op", position).during("commit"))?;
        }
        let key = match self.key {
            None => None,
            Some(key) => {
                measure.id("key", &key).map_err(|e| e.during("commit"))?;
                let digest = digest(&self.ops);
                Some((key, digest))
            }
        };
        let ops = self.ops.into_iter().map(PreparedOp::new).collect();
        Ok(Prepared { ops, key, bytes: measure.total() })
    }
}

impl Prepared {
    /// The rows that must be loaded for [`decide`](super::decide).
    pub fn needs(&self) -> Needs {
        Needs::of(self)
    }

    /// The rows that must be loaded for [`decide`](super::decide) if nothing is there yet of what the batch
    /// restores: fewer than it [needs](Self::needs). None if it does anything else, or has an idempotency
    /// key.
    ///
    /// It is for backends whose tables refuse a second record under an id, or at an index of a session. If
    /// they do, or if `decide` refuses the batch, it must be decided anew over all that it needs.
    pub fn needs_if_new(&self) -> Option<Needs> {
        Needs::if_new(self)
    }

    /// The workspaces that the batch names for what it puts, for backends that lock them; not those
    /// that a record has from its session or source.
    pub fn workspaces(&self) -> BTreeSet<Workspace> {
        let given = |workspace: &Option<Workspace>| Some(workspace.clone().unwrap_or_default());
        let named = self.ops.iter().filter_map(|prepared| match &prepared.op {
            Op::StartSession(new) | Op::EnsureSession(new) => given(&new.workspace),
            Op::AddEpisode(new) => given(&new.workspace),
            Op::AddNote(new) => {
                let inherits = new.workspace.is_none() && new.sources.iter().flatten().count() > 0;
                if inherits { None } else { given(&new.workspace) }
            }
            Op::PutState(put) => given(&put.workspace),
            Op::DeleteState(delete) => given(&delete.workspace),
            Op::AppendAudit(new) => given(&new.workspace),
            Op::Restore { record } => Some(record.workspace().clone()),
            _ => None,
        });
        named.collect()
    }

    /// The batch that was prepared.
    pub fn into_batch(self) -> Batch {
        let ops = self.ops.into_iter().map(PreparedOp::into_op).collect();
        Batch { ops, key: self.key.map(|(key, _)| key) }
    }

    /// How many bytes of text and JSON the batch holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The idempotency key.
    pub fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|(key, _)| key.as_str())
    }

    pub(super) fn keyed(&self) -> Option<&(String, Hash)> {
        self.key.as_ref()
    }

    pub(super) fn ops(&self) -> &[PreparedOp] {
        &self.ops
    }
}

/// An op of a batch that has been prepared.
#[derive(Clone, Debug)]
pub(super) struct PreparedOp {
    pub(super) op: Op,
    /// Whether the id of what it creates was generated.
    pub(super) generated: bool,
    /// The origin of what it creates under an id that the caller chose, of the kinds that have one.
    pub(super) origin: Option<Origin>,
}

impl PreparedOp {
    fn new(mut op: Op) -> Self {
        let generated = fill_id(&mut op);
        let origin = match &op {
            Op::StartSession(new) | Op::EnsureSession(new) if !generated => Some(origin(new)),
            Op::RecordTurn(new) if !generated => Some(origin(new)),
            Op::AddEpisode(new) if !generated => Some(origin(new)),
            Op::Restore { record: Record::Session(session) } => Some(origin(&underived(session))),
            Op::Restore { record: Record::Turn(turn) } => Some(origin(turn)),
            Op::Restore { record: Record::Episode(episode) } => Some(origin(&new_episode(episode))),
            _ => None,
        };
        Self { op, generated, origin }
    }

    fn into_op(mut self) -> Op {
        if self.generated {
            match &mut self.op {
                Op::StartSession(new) | Op::EnsureSession(new) => new.id = None,
                Op::RecordTurn(new) => new.id = None,
                Op::RecordStep(new) => new.id = None,
                Op::AddEpisode(new) => new.id = None,
                Op::AddNote(new) => new.id = None,
                Op::AppendAudit(new) => new.id = None,
                _ => {}
            }
        }
        self.op
    }
}

fn digest(ops: &[Op]) -> Hash {
    let mut sha = Sha256::new();
    for op in ops {
        sha.update(to_canonical(op));
        sha.update(b"\n");
    }
    Hash(sha.finalize().into())
}

/// The origin of what `created` creates.
fn origin(created: &impl serde::Serialize) -> Origin {
    let digest = Sha256::digest(to_canonical(created));
    let mut origin = [0; 16];
    origin.copy_from_slice(&digest[..16]);
    Origin(origin)
}

/// Generates the id that is left out; returns whether it was.
fn fill_id(op: &mut Op) -> bool {
    macro_rules! fill {
        ($new:expr, $id:ident) => {{
            let generated = $new.id.is_none();
            $new.id.get_or_insert_with($id::generate);
            generated
        }};
    }
    match op {
        Op::StartSession(new) | Op::EnsureSession(new) => fill!(new, SessionId),
        Op::RecordTurn(new) => fill!(new, TurnId),
        Op::RecordStep(new) => fill!(new, StepId),
        Op::AddEpisode(new) => fill!(new, EpisodeId),
        Op::AddNote(new) => fill!(new, NoteId),
        Op::AppendAudit(new) => fill!(new, AuditId),
        _ => false,
    }
}

fn check(op: &Op, m: &mut Measure) -> Result<()> {
    match op {
        Op::StartSession(new) | Op::EnsureSession(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            optional(new.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            optional(new.model.as_ref(), |t| m.text("model", t))?;
            optional(new.mode.as_ref(), |t| m.text("mode", t))?;
            optional(new.metadata.as_ref(), |j| m.metadata("metadata", j))
        }
        Op::EndSession { session, .. }
        | Op::ResumeSession { session }
        | Op::DeleteSession { session, .. } => m.id("session", session.as_str()),
        Op::SetSummary { session, summary } => {
            m.id("session", session.as_str())?;
            optional(summary.as_ref(), |t| m.text("summary", t))
        }
        Op::RecordTurn(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            m.id("session", new.session.as_str())?;
            m.name("role", &new.role)?;
            m.text("content", &new.content)?;
            optional(new.model.as_ref(), |t| m.text("model", t))?;
            optional(new.embedding_id.as_ref(), |t| m.name("embedding_id", t))?;
            optional(new.metadata.as_ref(), |j| m.metadata("metadata", j))?;
            new.tags.iter().flatten().try_for_each(|(name, value)| tag(m, name, value.as_deref()))
        }
        Op::RecordStep(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            m.id("session", new.session.as_str())?;
            m.name("name", &new.name)?;
            m.name("status", &new.status)?;
            optional(new.payload.as_ref(), |j| m.json("payload", j))
        }
        Op::DeleteTurn { turn } => m.id("turn", turn.as_str()),
        Op::TagTurn { turn, name, value } => {
            m.id("turn", turn.as_str())?;
            tag(m, name, value.as_deref())
        }
        Op::UntagTurn { turn, name } => {
            m.id("turn", turn.as_str())?;
            m.name("name", name)
        }
        Op::SetEmbedding { turn, embedding_id } => {
            m.id("turn", turn.as_str())?;
            optional(embedding_id.as_ref(), |t| m.name("embedding_id", t))
        }
        Op::AddEpisode(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            optional(new.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            m.text("problem", &new.problem)?;
            m.text("summary", &new.summary)?;
            optional(new.metadata.as_ref(), |j| m.metadata("metadata", j))
        }
        Op::ReviseEpisode(revision) => {
            m.id("episode", revision.episode.as_str())?;
            optional(revision.problem.as_ref(), |t| m.text("problem", t))?;
            optional(revision.summary.as_ref(), |t| m.text("summary", t))?;
            optional(revision.metadata.as_ref(), |j| m.metadata("metadata", j))
        }
        Op::SetEpisodeOpen { episode, .. } | Op::DeleteEpisode { episode, .. } => {
            m.id("episode", episode.as_str())
        }
        Op::AddNote(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            optional(new.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            m.text("text", &new.text)?;
            sources(m, new.sources.iter().flatten())
        }
        Op::DeleteNote { note } => m.id("note", note.as_str()),
        Op::PutState(put) => {
            optional(put.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            m.name("key", &put.key)?;
            m.json("value", &put.value)?;
            if put.expires_at.is_some() && put.ttl_ms.is_some() {
                return Err(Error::invalid("ttl_ms", "not together with expires_at"));
            }
            Ok(())
        }
        Op::DeleteState(delete) => {
            optional(delete.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            m.name("key", &delete.key)
        }
        Op::AppendAudit(new) => {
            optional(new.id.as_ref(), |id| m.id("id", id.as_str()))?;
            optional(new.workspace.as_ref(), |w| m.name("workspace", w.as_str()))?;
            m.text("action", &new.action)?;
            m.text("decision", &new.decision)?;
            optional(new.detail.as_ref(), |j| m.json("detail", j))
        }
        Op::ForgetWorkspace { workspace } => m.name("workspace", workspace.as_str()),
        Op::ForgetReceipts { .. } => Ok(()),
        Op::Restore { record } => check_record(record, m),
    }
}

fn optional<T>(value: Option<T>, check: impl FnOnce(T) -> Result<()>) -> Result<()> {
    value.map_or(Ok(()), check)
}

fn tag(m: &mut Measure, name: &str, value: Option<&str>) -> Result<()> {
    m.name("name", name)?;
    optional(value, |t| m.text("value", t))
}

/// Each is an id, and all of them together are a text.
fn sources<'a>(m: &mut Measure, ids: impl IntoIterator<Item = &'a EpisodeId>) -> Result<()> {
    let mut bytes = 0;
    for id in ids {
        m.id("sources", id.as_str())?;
        bytes += id.as_str().len();
    }
    limited("sources", bytes, MAX_TEXT_BYTES)
}

fn check_record(record: &Record, m: &mut Measure) -> Result<()> {
    if !matches!(record, Record::State(_)) {
        m.id("id", record.id())?;
    }
    m.name("workspace", record.workspace().as_str())?;
    match record {
        Record::Session(r) => {
            optional(r.model.as_ref(), |t| m.text("model", t))?;
            optional(r.mode.as_ref(), |t| m.text("mode", t))?;
            optional(r.summary.as_ref(), |t| m.text("summary", t))?;
            m.metadata("metadata", &r.metadata)?;
            number("next_turn", r.next_turn)?;
            number("next_step", r.next_step)
        }
        Record::Turn(r) => {
            m.id("session", r.session.as_str())?;
            m.name("role", &r.role)?;
            m.text("content", &r.content)?;
            optional(r.model.as_ref(), |t| m.text("model", t))?;
            optional(r.embedding_id.as_ref(), |t| m.name("embedding_id", t))?;
            m.metadata("metadata", &r.metadata)?;
            index("index", r.index)?;
            r.tags.iter().try_for_each(|(name, value)| tag(m, name, value.as_deref()))
        }
        Record::Step(r) => {
            m.id("session", r.session.as_str())?;
            m.name("name", &r.name)?;
            m.name("status", &r.status)?;
            m.json("payload", &r.payload)?;
            index("index", r.index)
        }
        Record::Episode(r) => {
            m.text("problem", &r.problem)?;
            m.text("summary", &r.summary)?;
            if r.open && r.closed_at.is_some() {
                return Err(Error::invalid("closed_at", "the episode is open"));
            }
            m.metadata("metadata", &r.metadata)
        }
        Record::Note(r) => {
            m.text("text", &r.text)?;
            sources(m, &r.sources)
        }
        Record::State(r) => {
            m.name("key", &r.key)?;
            number("version", r.version)?;
            if r.version == 0 {
                return Err(Error::invalid("version", "versions start at 1"));
            }
            optional(r.value.as_ref(), |j| m.json("value", j))
        }
        Record::Audit(r) => {
            m.text("action", &r.action)?;
            m.text("decision", &r.decision)?;
            m.json("detail", &r.detail)?;
            index("seq", r.seq)
        }
    }
}

/// Engines keep numbers as signed 64-bit ones.
fn number(field: &str, number: u64) -> Result<()> {
    if number > i64::MAX as u64 {
        return Err(Error::invalid(field, "too large"));
    }
    Ok(())
}

/// After an index there must be room for the next one.
fn index(field: &str, index: u64) -> Result<()> {
    number(field, index.saturating_add(1))
}

//! What the ops on episodes, notes, state and audit do.

use memkeep_core::{
    AuditHead, AuditRecord, Counts, DeleteState, Episode, EpisodeId, EpisodeRevision, ErrorKind,
    Expected, Hash, NewAudit, NewEpisode, NewNote, Note, NoteId, Outcome, PutState, StateEntry,
    StateSlot, Timestamp, Workspace,
};

use super::{
    memory::{Done, Memory, Moment, deleted},
    row::{find, find_mut, origin},
    sessions::unset_or,
};

impl Memory {
    pub(super) fn add_episode(
        &mut self,
        new: &NewEpisode,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        let open = new.open.unwrap_or(true);
        let workspace = new.workspace.clone().unwrap_or_default();
        let metadata = new.metadata.clone().unwrap_or_default();
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.episodes, id)) {
            let there = &row.record;
            let same = new.problem == there.problem
                && new.summary == there.summary
                && open == there.open
                && workspace == there.workspace
                && metadata == there.metadata
                && unset_or(new.created_at.as_ref(), &there.created_at);
            if row.origin == origin(new) || same {
                return Ok(Done::Now(Outcome::Episode(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let created_at = new.created_at.unwrap_or(now);
        let episode = Episode {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace,
            created_at,
            problem: new.problem.clone(),
            summary: new.summary.clone(),
            open,
            closed_at: if open { None } else { Some(created_at) },
            metadata,
        };
        let from = new.id.as_ref().and_then(|_| origin(new));
        let row = self.row(episode.clone(), from);
        self.episodes.push(row);
        Ok(Done::Once(Outcome::Episode(episode)))
    }

    pub(super) fn revise_episode(&mut self, revision: &EpisodeRevision) -> Result<Done, ErrorKind> {
        let episode = find_mut(&mut self.episodes, &revision.episode).ok_or(ErrorKind::NotFound)?;
        if let Some(problem) = revision.problem.clone() {
            episode.problem = problem;
        }
        if let Some(summary) = revision.summary.clone() {
            episode.summary = summary;
        }
        if let Some(metadata) = revision.metadata.clone() {
            episode.metadata = metadata;
        }
        Ok(Done::Now(Outcome::Episode(episode.clone())))
    }

    pub(super) fn set_episode_open(
        &mut self,
        id: &EpisodeId,
        open: bool,
        now: Timestamp,
    ) -> Result<Done, ErrorKind> {
        let episode = find_mut(&mut self.episodes, id).ok_or(ErrorKind::NotFound)?;
        if open {
            episode.closed_at = None;
        } else if episode.open {
            episode.closed_at = Some(now);
        }
        episode.open = open;
        Ok(Done::Now(Outcome::Episode(episode.clone())))
    }

    pub(super) fn delete_episode(
        &mut self,
        id: &EpisodeId,
        closed_before: Option<Timestamp>,
    ) -> Done {
        let there = find(&self.episodes, id).map(|row| &row.record);
        let meant = there.is_some_and(|episode| match closed_before {
            None => true,
            Some(before) => episode.closed_at.is_some_and(|at| at < before),
        });
        if !meant {
            return deleted(false, Counts::default());
        }
        self.episodes.retain(|row| row.record.id != *id);
        deleted(true, Counts { episodes: 1, ..Counts::default() })
    }

    pub(super) fn add_note(
        &mut self,
        new: &NewNote,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        let sources = new.sources.clone().unwrap_or_default();
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.notes, id)) {
            let there = &row.record;
            let same = new.text == there.text
                && sources == there.sources
                && unset_or(new.workspace.as_ref(), &there.workspace)
                && unset_or(new.created_at.as_ref(), &there.created_at);
            if same {
                return Ok(Done::Now(Outcome::Note(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let mut workspace = new.workspace.clone();
        for source in &sources {
            let episode = find(&self.episodes, source).ok_or(ErrorKind::NotFound)?;
            let there = &episode.record.workspace;
            if *workspace.get_or_insert_with(|| there.clone()) != *there {
                return Err(ErrorKind::NotFound);
            }
        }
        let note = Note {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace: workspace.unwrap_or_default(),
            created_at: new.created_at.unwrap_or(now),
            text: new.text.clone(),
            sources,
        };
        let row = self.row(note.clone(), None);
        self.notes.push(row);
        Ok(Done::Once(Outcome::Note(note)))
    }

    pub(super) fn delete_note(&mut self, id: &NoteId) -> Done {
        if find(&self.notes, id).is_none() {
            return deleted(false, Counts::default());
        }
        self.notes.retain(|row| row.record.id != *id);
        deleted(true, Counts { notes: 1, ..Counts::default() })
    }

    /// The entry under a key, or what a deletion left of it.
    pub(super) fn slot(&self, workspace: &Workspace, key: &str) -> Option<&StateSlot> {
        let here = |slot: &&StateSlot| slot.workspace == *workspace && slot.key == key;
        self.states.iter().map(|row| &row.record).find(here)
    }

    fn put_slot(&mut self, slot: StateSlot) {
        let here = |old: &&mut StateSlot| old.workspace == slot.workspace && old.key == slot.key;
        let there = self.states.iter_mut().map(|row| &mut row.record).find(here);
        if let Some(there) = there {
            *there = slot;
        } else {
            let row = self.row(slot, None);
            self.states.push(row);
        }
    }

    pub(super) fn put_state(&mut self, put: &PutState, now: Timestamp) -> Result<Done, ErrorKind> {
        let workspace = put.workspace.clone().unwrap_or_default();
        let slot = self.slot(&workspace, &put.key);
        let live = slot.filter(|slot| is_live(slot, now));
        let version = slot.map_or(0, |slot| slot.version) + 1;
        if version > i64::MAX as u64 {
            return Err(ErrorKind::InvalidArgument);
        }
        expect(put.expected, live)?;
        let in_time = |ms: u64| {
            let micros = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000);
            let at = now.as_micros().saturating_add(micros);
            Timestamp::from_micros(at).unwrap_or(Timestamp::MAX)
        };
        let entry = StateEntry {
            key: put.key.clone(),
            value: put.value.clone(),
            version,
            created_at: live.map_or(now, |slot| slot.created_at),
            updated_at: now,
            expires_at: put.ttl_ms.map(in_time).or(put.expires_at),
            workspace,
        };
        self.put_slot(as_slot(entry.clone()));
        Ok(Done::Once(Outcome::State(entry)))
    }

    pub(super) fn delete_state(
        &mut self,
        delete: &DeleteState,
        now: Timestamp,
    ) -> Result<Done, ErrorKind> {
        let workspace = delete.workspace.clone().unwrap_or_default();
        let slot = self.slot(&workspace, &delete.key);
        let live = slot.filter(|slot| is_live(slot, now));
        expect(delete.expected, live)?;
        let existed = live.is_some();
        let Some(slot) = slot.filter(|slot| slot.value.is_some()).cloned() else {
            return Ok(deleted(false, Counts::default()));
        };
        if let Some(before) = delete.expired_before
            && (existed || slot.expires_at.is_none_or(|at| at >= before))
        {
            return Ok(deleted(false, Counts::default()));
        }
        self.put_slot(StateSlot { value: None, expires_at: None, updated_at: now, ..slot });
        Ok(deleted(existed, Counts { states: 1, ..Counts::default() }))
    }

    pub(super) fn append_audit(
        &mut self,
        new: &NewAudit,
        Moment { now, generated }: Moment<'_>,
    ) -> Result<Done, ErrorKind> {
        let workspace = new.workspace.clone().unwrap_or_default();
        let detail = new.detail.clone().unwrap_or_default();
        if let Some(row) = new.id.as_ref().and_then(|id| find(&self.audits, id)) {
            let there = &row.record;
            let same = new.action == there.action
                && new.decision == there.decision
                && workspace == there.workspace
                && detail == there.detail
                && unset_or(new.created_at.as_ref(), &there.created_at);
            if same {
                return Ok(Done::Now(Outcome::Audit(there.clone())));
            }
            return Err(ErrorKind::Conflict);
        }
        let head = self.audit_head(&workspace);
        let mut record = AuditRecord {
            id: new.id.clone().unwrap_or_else(|| generated.into()),
            workspace,
            created_at: new.created_at.unwrap_or(now),
            seq: head.seq + 1,
            action: new.action.clone(),
            decision: new.decision.clone(),
            detail,
            hash: head.hash,
        };
        record.hash = record.expected_hash(&head.hash);
        let row = self.row(record.clone(), None);
        self.audits.push(row);
        Ok(Done::Once(Outcome::Audit(record)))
    }

    /// The end of a workspace's chain.
    pub(super) fn audit_head(&self, workspace: &Workspace) -> AuditHead {
        let mut chain = self.audits.iter().map(|row| &row.record);
        let last = chain.rfind(|record| record.workspace == *workspace);
        match last {
            Some(AuditRecord { seq, hash, .. }) => {
                AuditHead { workspace: workspace.clone(), seq: *seq, hash: *hash }
            }
            None => AuditHead { workspace: workspace.clone(), seq: 0, hash: Hash::default() },
        }
    }
}

/// Whether there is an entry: a value that has not expired.
pub(super) fn is_live(slot: &StateSlot, now: Timestamp) -> bool {
    slot.value.is_some() && slot.expires_at.is_none_or(|at| at > now)
}

fn expect(expected: Option<Expected>, live: Option<&StateSlot>) -> Result<(), ErrorKind> {
    let kept = match expected.unwrap_or(Expected::Any) {
        Expected::Any => true,
        Expected::Absent => live.is_none(),
        Expected::Version(version) => live.is_some_and(|slot| slot.version == version),
    };
    if kept { Ok(()) } else { Err(ErrorKind::Conflict) }
}

/// A live entry as a store keeps it.
pub(super) fn as_slot(entry: StateEntry) -> StateSlot {
    let StateEntry { workspace, key, value, version, created_at, updated_at, expires_at } = entry;
    let value = Some(value);
    StateSlot { workspace, key, value, version, created_at, updated_at, expires_at }
}

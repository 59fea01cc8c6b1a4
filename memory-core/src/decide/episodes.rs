use super::{
    Origin, Stored, build,
    decider::{Decider, Done, changed, deleted, other_body},
};
use crate::{
    Counts, Deleted, Episode, EpisodeId, EpisodeRevision, Error, Mark, NewEpisode, NewNote, Note,
    NoteId, Outcome, RecordKind, Result, Timestamp,
};

impl Decider {
    pub(super) fn add_episode(&mut self, new: &NewEpisode, origin: Option<Origin>) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(EpisodeId::generate);
        if let Some(there) = self.episodes.get(&id, &self.wide) {
            if there.origin != origin && !build::made_episode(new, &there.record) {
                return Err(other_body("episode", id.as_str()));
            }
            return Ok(changed(id, Outcome::Episode(there.record.clone())));
        }
        let workspace = new.workspace.clone().unwrap_or_default();
        let created_at = new.created_at.unwrap_or(self.now);
        let given =
            build::Given { id: id.clone(), workspace: workspace.clone(), created_at, index: 0 };
        let episode = build::episode(new, given);
        self.insert_episode(Stored { record: episode.clone(), origin });
        let mark = Mark::Created { id: id.into(), workspace, index: 0, created_at, hash: None };
        Ok((Outcome::Episode(episode), mark))
    }

    pub(super) fn insert_episode(&mut self, episode: Stored<Episode>) {
        let one = Counts::one(RecordKind::Episode);
        self.added(&episode.record.workspace, one);
        self.episodes.set(episode.record.id.clone(), episode, self.at);
    }

    fn change_episode(
        &mut self,
        id: &EpisodeId,
        change: impl FnOnce(&mut Episode),
    ) -> Result<Done> {
        let stored = self
            .episodes
            .get_mut(id, &self.wide, self.at)
            .ok_or_else(|| Error::not_found("episode", id))?;
        change(&mut stored.record);
        Ok(changed(id, Outcome::Episode(stored.record.clone())))
    }

    pub(super) fn revise_episode(&mut self, revision: &EpisodeRevision) -> Result<Done> {
        self.change_episode(&revision.episode, |episode| {
            if let Some(problem) = &revision.problem {
                episode.problem.clone_from(problem);
            }
            if let Some(summary) = &revision.summary {
                episode.summary.clone_from(summary);
            }
            if let Some(metadata) = &revision.metadata {
                episode.metadata.clone_from(metadata);
            }
        })
    }

    pub(super) fn set_episode_open(&mut self, id: &EpisodeId, open: bool) -> Result<Done> {
        let now = self.now;
        self.change_episode(id, |episode| {
            if episode.open != open {
                episode.open = open;
                episode.closed_at = (!open).then_some(now);
            }
        })
    }

    pub(super) fn delete_episode(
        &mut self,
        id: &EpisodeId,
        closed_before: Option<Timestamp>,
    ) -> Done {
        let there = self.episodes.get(id, &self.wide).map(|stored| &stored.record);
        let is_meant = |episode: &&Episode| {
            closed_before.is_none_or(|before| episode.closed_at.is_some_and(|at| at < before))
        };
        let Some(episode) = there.filter(is_meant) else {
            return deleted(Deleted::default());
        };
        let counts = Counts::one(RecordKind::Episode);
        let workspace = episode.workspace.clone();
        self.removed(&workspace, counts);
        self.episodes.remove(id, self.at);
        deleted(Deleted { existed: true, counts })
    }

    pub(super) fn add_note(&mut self, new: &NewNote, generated: bool) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(NoteId::generate);
        if let Some(there) = self.notes.get(&id, &self.wide) {
            if generated || !build::made_note(new, there) {
                return Err(other_body("note", id.as_str()));
            }
            return Ok(changed(id, Outcome::Note(there.clone())));
        }
        let mut workspace = new.workspace.clone();
        for source in new.sources.iter().flatten() {
            let episode = self
                .episodes
                .get(source, &self.wide)
                .map(|stored| &stored.record)
                .filter(|e| workspace.as_ref().is_none_or(|w| *w == e.workspace))
                .ok_or_else(|| Error::not_found("episode", source))?;
            workspace.get_or_insert_with(|| episode.workspace.clone());
        }
        let workspace = workspace.unwrap_or_default();
        let created_at = new.created_at.unwrap_or(self.now);
        let given =
            build::Given { id: id.clone(), workspace: workspace.clone(), created_at, index: 0 };
        let note = build::note(new, given);
        self.insert_note(note.clone());
        let mark = Mark::Created { id: id.into(), workspace, index: 0, created_at, hash: None };
        Ok((Outcome::Note(note), mark))
    }

    pub(super) fn insert_note(&mut self, note: Note) {
        self.added(&note.workspace, Counts::one(RecordKind::Note));
        self.notes.set(note.id.clone(), note, self.at);
    }

    pub(super) fn delete_note(&mut self, id: &NoteId) -> Done {
        let Some(note) = self.notes.get(id, &self.wide) else {
            return deleted(Deleted::default());
        };
        let counts = Counts::one(RecordKind::Note);
        let workspace = note.workspace.clone();
        self.removed(&workspace, counts);
        self.notes.remove(id, self.at);
        deleted(Deleted { existed: true, counts })
    }
}

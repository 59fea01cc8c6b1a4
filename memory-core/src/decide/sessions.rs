use super::{
    Origin, Stored, build,
    decider::{Decider, Done, changed, deleted, other_body},
};
use crate::{
    Counts, Deleted, Error, Mark, NewSession, Outcome, RecordKind, Result, Session, SessionId,
    Timestamp,
};

impl Decider {
    pub(super) fn start_session(
        &mut self,
        new: &NewSession,
        origin: Option<Origin>,
        ensure: bool,
    ) -> Result<Done> {
        let id = new.id.clone().unwrap_or_else(SessionId::generate);
        if let Some(there) = self.sessions.get(&id, &self.wide) {
            let same = there.origin == origin
                || build::made_session(new, &there.record)
                || (ensure && build::ensures_session(new, &there.record));
            if !same {
                return Err(other_body("session", id.as_str()));
            }
            return Ok(changed(id, Outcome::Session(there.record.clone())));
        }
        let given = build::Given {
            id: id.clone(),
            workspace: new.workspace.clone().unwrap_or_default(),
            created_at: new.created_at.unwrap_or(self.now),
            index: 0,
        };
        let session = build::session(new, given);
        self.insert_session(Stored { record: session.clone(), origin });
        let mark = Mark::Created {
            id: id.into(),
            workspace: session.workspace.clone(),
            index: 0,
            created_at: session.created_at,
            hash: None,
        };
        Ok((Outcome::Session(session), mark))
    }

    pub(super) fn insert_session(&mut self, session: Stored<Session>) {
        let one = Counts::one(RecordKind::Session);
        self.added(&session.record.workspace, one);
        self.sessions.set(session.record.id.clone(), session, self.at);
    }

    /// The session of a turn or step, to be changed.
    pub(super) fn session_mut(&mut self, id: &SessionId) -> Result<&mut Session> {
        self.sessions
            .get_mut(id, &self.wide, self.at)
            .map(|stored| &mut stored.record)
            .ok_or_else(|| Error::not_found("session", id))
    }

    pub(super) fn change_session(
        &mut self,
        id: &SessionId,
        change: impl FnOnce(&mut Session),
    ) -> Result<Done> {
        let session = self.session_mut(id)?;
        change(session);
        Ok(changed(id, Outcome::Session(session.clone())))
    }

    pub(super) fn end_session(&mut self, id: &SessionId, at: Option<Timestamp>) -> Result<Done> {
        let end = at.unwrap_or(self.now);
        self.change_session(id, |session| {
            session.ended_at.get_or_insert(end);
        })
    }

    pub(super) fn delete_session(
        &mut self,
        id: &SessionId,
        ended_before: Option<Timestamp>,
    ) -> Done {
        let there = self.sessions.get(id, &self.wide).map(|stored| &stored.record);
        let is_meant = |session: &&Session| {
            ended_before.is_none_or(|before| session.ended_at.is_some_and(|end| end < before))
        };
        let Some(session) = there.filter(is_meant) else {
            return deleted(Deleted::default());
        };
        let counts = Counts {
            sessions: 1,
            turns: session.turn_count,
            steps: session.step_count,
            ..Counts::default()
        };
        let workspace = session.workspace.clone();
        self.removed(&workspace, counts);
        self.sessions.remove(id, self.at);
        self.wide.sessions.insert(id.clone(), self.at);
        deleted(Deleted { existed: true, counts })
    }
}

//! Keeps a change inside the workspace that was named.

use std::collections::HashSet;

use memkeep::{Error, ErrorKind, MemoryBackend, Op, Result, Scope, Workspace};

/// Lets only those ops through that change one workspace.
pub(crate) struct Confinement<'a> {
    store: &'a dyn MemoryBackend,
    workspace: &'a Workspace,
    /// Sessions found to be of the workspace, so that a batch of turns asks once.
    sessions: HashSet<String>,
}

impl<'a> Confinement<'a> {
    pub(crate) fn new(store: &'a dyn MemoryBackend, workspace: &'a Workspace) -> Self {
        Self { store, workspace, sessions: HashSet::new() }
    }

    /// Gives `op` the workspace where it may name one. `InvalidArgument` if it names another,
    /// `NotFound` if it names a record of another by its id. A record that is nowhere is left to
    /// the store to judge: an earlier op of the same batch may create it, a deletion may miss it.
    pub(crate) async fn admit(&mut self, op: &mut Op) -> Result<()> {
        let (store, all) = (self.store, &Scope::All);
        match op {
            Op::StartSession(r) | Op::EnsureSession(r) => self.place(&mut r.workspace),
            Op::AddEpisode(r) => self.place(&mut r.workspace),
            Op::AddNote(r) => self.place(&mut r.workspace),
            Op::PutState(r) => self.place(&mut r.workspace),
            Op::DeleteState(r) => self.place(&mut r.workspace),
            Op::AppendAudit(r) => self.place(&mut r.workspace),
            Op::ForgetWorkspace { workspace } => self.same(workspace),
            Op::Restore { record } => self.same(record.workspace()),

            Op::EndSession { session, .. }
            | Op::ResumeSession { session }
            | Op::SetSummary { session, .. }
            | Op::DeleteSession { session, .. } => self.session(session.as_str()).await,
            Op::RecordTurn(turn) => self.session(turn.session.as_str()).await,
            Op::RecordStep(step) => self.session(step.session.as_str()).await,

            Op::DeleteTurn { turn }
            | Op::TagTurn { turn, .. }
            | Op::UntagTurn { turn, .. }
            | Op::SetEmbedding { turn, .. } => {
                let home = store.turn(all, turn).await?.map(|found| found.workspace);
                self.own("turn", turn.as_str(), home.as_ref())
            }

            Op::SetEpisodeOpen { episode, .. } | Op::DeleteEpisode { episode, .. } => {
                let home = store.episode(all, episode).await?.map(|found| found.workspace);
                self.own("episode", episode.as_str(), home.as_ref())
            }
            Op::ReviseEpisode(revision) => {
                let home = store.episode(all, &revision.episode).await?.map(|e| e.workspace);
                self.own("episode", revision.episode.as_str(), home.as_ref())
            }
            Op::DeleteNote { note } => {
                let home = store.note(all, note).await?.map(|found| found.workspace);
                self.own("note", note.as_str(), home.as_ref())
            }

            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                "this op concerns the whole store: leave --workspace out",
            )),
        }
    }

    async fn session(&mut self, id: &str) -> Result<()> {
        if self.sessions.contains(id) {
            return Ok(());
        }
        let found = self.store.session(&Scope::All, &id.into()).await?;
        self.own("session", id, found.as_ref().map(|session| &session.workspace))?;
        if found.is_some() {
            self.sessions.insert(id.to_owned());
        }
        Ok(())
    }

    fn own(&self, kind: &'static str, id: &str, home: Option<&Workspace>) -> Result<()> {
        if home.is_none_or(|home| home == self.workspace) {
            return Ok(());
        }
        Err(Error::not_found(kind, id).with("workspace", self.workspace))
    }

    fn place(&self, given: &mut Option<Workspace>) -> Result<()> {
        self.same(given.get_or_insert_with(|| self.workspace.clone()))
    }

    fn same(&self, given: &Workspace) -> Result<()> {
        if given == self.workspace {
            return Ok(());
        }
        Err(Error::invalid("workspace", "not the one that --workspace names")
            .with("workspace", given))
    }
}

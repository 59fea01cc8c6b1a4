use async_trait::async_trait;

use super::Backend;
use crate::{
    Deleted, Episode, EpisodeId, EpisodeRevision, Hit, ListEpisodes, NewEpisode, Op, Page,
    RecallQuery, Result, Scope, search,
};

/// Episodes: problems and what came of them.
///
/// # Rules
///
/// - What the caller leaves out has a default: a new id, the workspace `default`, the clock's time,
///   open (`EPISODE-ADD-01`).
/// - A deleted episode is in no read, and deleting it again succeeds (`EPISODE-DELETE-01`); its id
///   can be added again, and nothing of the old one comes back (`EPISODE-ADD-02`).
/// - A call that commits one op does what the op does in a batch (`ONE-OP-02`).
#[async_trait]
pub trait EpisodicBackend: Backend {
    /// The episode `id`, if it is in scope (`SCOPE-EPISODE-01`).
    async fn episode(&self, scope: &Scope, id: &EpisodeId) -> Result<Option<Episode>>;

    /// Episodes by `created_at`, then insertion (`EPISODE-ORDER-01`); a change leaves an episode in
    /// its place (`EPISODE-ORDER-02`). The filter `open` applies before the limit (`EPISODE-OPEN-01`).
    async fn episodes(&self, list: &ListEpisodes) -> Result<Page<Episode>>;

    /// The episodes that fit a question best: the ids and scores of the shared scorer
    /// (`RECALL-EPISODE-01`). See [`RecallQuery`] for every rule.
    async fn recall(&self, query: &RecallQuery) -> Result<Vec<Hit<Episode>>> {
        search::recall(self, query).await
    }

    /// Commits [`Op::AddEpisode`].
    async fn add_episode(&self, episode: NewEpisode) -> Result<Episode> {
        self.commit_one(episode.into()).await?.into_episode()
    }

    /// Commits [`Op::ReviseEpisode`]: changes what the revision sets and nothing else
    /// (`EPISODE-REVISE-01`), also to recall (`EPISODE-REVISE-02`). An unknown episode is `NotFound`
    /// (`EPISODE-REVISE-03`).
    async fn revise_episode(&self, revision: EpisodeRevision) -> Result<Episode> {
        self.commit_one(revision.into()).await?.into_episode()
    }

    /// Commits [`Op::SetEpisodeOpen`]: closing notes the time in `closed_at`, opening removes it,
    /// and doing either again changes nothing (`EPISODE-CLOSE-01`).
    async fn set_episode_open(&self, id: &EpisodeId, open: bool) -> Result<Episode> {
        let episode = id.clone();
        self.commit_one(Op::SetEpisodeOpen { episode, open }).await?.into_episode()
    }

    /// Commits [`Op::DeleteEpisode`].
    async fn delete_episode(&self, id: &EpisodeId) -> Result<Deleted> {
        let op = Op::DeleteEpisode { episode: id.clone(), closed_before: None };
        self.commit_one(op).await?.into_deleted()
    }
}

use clap::{ArgGroup, Args};
use memkeep::{EpisodeId, EpisodeRevision, ListEpisodes, MemoryBackend, Op};

use crate::{
    context::{Context, PAGE},
    failure::Failure,
    output::View,
};

/// List episodes, oldest first
#[derive(Args)]
pub(crate) struct List {
    /// Only open ones
    #[arg(long)]
    open: bool,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let list = ListEpisodes::new()
            .scope(context.scope.clone())
            .open(self.open.then_some(true))
            .limit(PAGE);
        let read = async |store: &dyn MemoryBackend, after| {
            store.episodes(&list.clone().after(after)).await
        };
        context.list(View::Table, read).await
    }
}

/// Change an episode's texts
#[derive(Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args(["problem", "summary"]))]
pub(crate) struct Revise {
    /// The episode
    #[arg(value_name = "ID")]
    id: EpisodeId,
    /// The problem
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    problem: Option<String>,
    /// What came of it
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    summary: Option<String>,
}

impl Revise {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut revision = EpisodeRevision::new(self.id);
        revision.problem = self.problem;
        revision.summary = self.summary;
        change(context, revision).await
    }
}

/// Close an episode: it is resolved
#[derive(Args)]
pub(crate) struct Close {
    /// The episode
    #[arg(value_name = "ID")]
    id: EpisodeId,
}

impl Close {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        change(context, Op::SetEpisodeOpen { episode: self.id, open: false }).await
    }
}

/// Open a closed episode again
#[derive(Args)]
pub(crate) struct Reopen {
    /// The episode
    #[arg(value_name = "ID")]
    id: EpisodeId,
}

impl Reopen {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        change(context, Op::SetEpisodeOpen { episode: self.id, open: true }).await
    }
}

async fn change(context: &mut Context, op: impl Into<Op>) -> Result<(), Failure> {
    let episode = context.commit(op).await?.into_episode()?;
    context.out.record(&episode)
}

//! `tokio-memory` on SQLite, storing records as `memkeep-bench published` tells it to.

use anyhow::Result;
use clap::Parser as _;
use memkeep_bench_common::ingest::Job;
use tokio_memory::{
    AgentId, SessionId,
    episodic::{
        EpisodicStore as _,
        episode::{Episode, EpisodeKind},
    },
    sqlite::SqliteMemory,
};

fn main() -> Result<()> {
    let job = Job::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    let store = runtime.block_on(SqliteMemory::open(job.folder.join("tokio-memory.db")))?;
    job.run(|shares| {
        runtime.block_on(async {
            let (agent, session) = (AgentId::new(), SessionId::new());
            let mut writers = tokio::task::JoinSet::new();
            for share in shares {
                let (store, agent, session) = (store.clone(), agent.clone(), session.clone());
                writers.spawn(async move {
                    for text in share {
                        let kind = EpisodeKind::Observation;
                        let episode =
                            Episode::new(agent.clone(), session.clone(), kind, text, 0.5, vec![])?;
                        store.record(episode).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(writer) = writers.join_next().await {
                writer??;
            }
            Ok(store.episode_count().await?)
        })
    })
}

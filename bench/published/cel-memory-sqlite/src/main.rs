//! `cel-memory-sqlite`, storing records as `memkeep-bench published` tells it to.

use std::sync::Arc;

use anyhow::Result;
use cel_memory::{ChunkKind, ChunkSource, MemoryProvider as _, NewMemoryChunk};
use cel_memory_sqlite::{MockEmbedder, SqliteMemoryProvider};
use clap::Parser as _;
use memkeep_bench_common::ingest::Job;
use serde_json::Value;

fn main() -> Result<()> {
    let job = Job::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    // Embeddings from a hash instead of a model: only storing is measured.
    let embedder = Arc::new(MockEmbedder::new());
    let path = job.folder.join("cel-memory.db");
    let store = Arc::new(runtime.block_on(SqliteMemoryProvider::open(path, embedder))?);
    job.run(|shares| {
        runtime.block_on(async {
            let mut writers = tokio::task::JoinSet::new();
            for share in shares {
                let store = store.clone();
                writers.spawn(async move {
                    for content in share {
                        store.write(chunk(content)).await?;
                    }
                    anyhow::Ok(())
                });
            }
            while let Some(writer) = writers.join_next().await {
                writer??;
            }
            Ok(store.stats().await?.total_chunks)
        })
    })
}

fn chunk(content: String) -> NewMemoryChunk {
    NewMemoryChunk {
        kind: ChunkKind::Chat,
        source: ChunkSource::Embedded,
        session_id: None,
        project_root: None,
        caller_id: "bench".to_owned(),
        content,
        metadata: Value::Null,
        importance: None,
        shareable: false,
        pinned: false,
    }
}

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use memkeep::{Batch, ListSessions, ListTurns, MemoryBackend, NewSession, NewTurn, Op, Scope};
use tokio::{runtime::Runtime, task::JoinSet};

use super::Store;

/// memkeep, by its public calls.
pub(crate) struct Memkeep {
    name: String,
    runtime: Runtime,
    store: Arc<dyn MemoryBackend>,
}

impl Memkeep {
    pub(crate) fn open(url: &str, backend: &str) -> Result<Self> {
        let runtime = Runtime::new()?;
        let store = runtime.block_on(memkeep::open(url))?;
        Ok(Self { name: format!("memkeep {backend}"), runtime, store })
    }

    pub(crate) fn open_file(backend: &str, path: &Path) -> Result<Self> {
        Self::open(&format!("{backend}:{}", path.display()), backend)
    }

    /// Lets go of the file.
    pub(crate) fn close(self) -> Result<()> {
        Ok(self.runtime.block_on(self.store.close())?)
    }
}

impl Store for Memkeep {
    fn name(&self) -> &str {
        &self.name
    }

    fn start_sessions(&mut self, ids: &[String]) -> Result<()> {
        let batch: Batch =
            ids.iter().map(|id| Op::StartSession(NewSession::new().id(id.as_str()))).collect();
        self.runtime.block_on(self.store.commit(batch))?;
        Ok(())
    }

    fn record(&mut self, session: &str, texts: &[String], writers: usize) -> Result<Vec<Duration>> {
        self.runtime.block_on(async {
            if writers == 1 {
                return record_each(&*self.store, session, texts).await;
            }
            let mut tasks = JoinSet::new();
            for texts in texts.chunks(texts.len().div_ceil(writers)) {
                let (store, session, texts) =
                    (self.store.clone(), session.to_owned(), texts.to_vec());
                tasks.spawn(async move { record_each(&*store, &session, &texts).await });
            }
            let mut waits = Vec::with_capacity(texts.len());
            while let Some(task) = tasks.join_next().await {
                waits.append(&mut task??);
            }
            Ok(waits)
        })
    }

    fn record_batch(&mut self, turns: &[(&str, String)]) -> Result<()> {
        let turns =
            turns.iter().map(|(session, text)| NewTurn::new(*session, "user", text.as_str()));
        self.runtime.block_on(self.store.commit(turns.collect()))?;
        Ok(())
    }

    fn newest_sessions(&mut self, limit: usize) -> Result<usize> {
        let list = ListSessions::new().limit(limit);
        Ok(self.runtime.block_on(self.store.sessions(&list))?.items.len())
    }

    fn last_turns(&mut self, session: &str, n: usize) -> Result<usize> {
        let session = session.into();
        Ok(self.runtime.block_on(self.store.last_turns(&Scope::All, &session, n))?.len())
    }

    fn page_through(&mut self, session: &str, page: usize) -> Result<(Vec<Duration>, usize)> {
        let mut list = ListTurns::new(session).limit(page);
        let (mut times, mut turns) = (Vec::new(), 0);
        loop {
            let started = Instant::now();
            let page = self.runtime.block_on(self.store.turns(&list))?;
            times.push(started.elapsed());
            turns += page.items.len();
            match page.next {
                None => return Ok((times, turns)),
                next => list.after = next,
            }
        }
    }
}

async fn record_each(
    store: &dyn MemoryBackend,
    session: &str,
    texts: &[String],
) -> Result<Vec<Duration>> {
    let mut waits = Vec::with_capacity(texts.len());
    for text in texts {
        let started = Instant::now();
        store.record_turn(NewTurn::new(session, "user", text.as_str())).await?;
        waits.push(started.elapsed());
    }
    Ok(waits)
}

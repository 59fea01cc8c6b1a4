use std::sync::Arc;

use memkeep_core::{
    Backend, EpisodicBackend, Error, MemoryBackend, ReflectiveStore, SessionStore, SystemClock,
};

use crate::{Factory, Part, Place};

/// An open store, with the parts of the contract that it has.
///
/// One with two of them: `Handle::episodic(store.clone()).with_reflective(store)`.
#[derive(Clone)]
pub struct Handle {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) episodic: Option<Arc<dyn EpisodicBackend>>,
    pub(crate) sessions: Option<Arc<dyn SessionStore>>,
    pub(crate) reflective: Option<Arc<dyn ReflectiveStore>>,
}

impl Handle {
    /// A store with all parts.
    pub fn new(store: Arc<impl MemoryBackend>) -> Self {
        Self::episodic(store.clone()).with_sessions(store.clone()).with_reflective(store)
    }

    /// A store of episodes.
    pub fn episodic(store: Arc<impl EpisodicBackend>) -> Self {
        Self::of(store.clone()).with_episodic(store)
    }

    /// A store of sessions.
    pub fn sessions(store: Arc<impl SessionStore>) -> Self {
        Self::of(store.clone()).with_sessions(store)
    }

    /// A store of notes, state and audit.
    pub fn reflective(store: Arc<impl ReflectiveStore>) -> Self {
        Self::of(store.clone()).with_reflective(store)
    }

    /// The same store keeps episodes too.
    #[must_use]
    pub fn with_episodic(mut self, store: Arc<impl EpisodicBackend>) -> Self {
        self.episodic = Some(store);
        self
    }

    /// The same store keeps sessions too.
    #[must_use]
    pub fn with_sessions(mut self, store: Arc<impl SessionStore>) -> Self {
        self.sessions = Some(store);
        self
    }

    /// The same store keeps notes, state and audit too.
    #[must_use]
    pub fn with_reflective(mut self, store: Arc<impl ReflectiveStore>) -> Self {
        self.reflective = Some(store);
        self
    }

    fn of(backend: Arc<dyn Backend>) -> Self {
        Self { backend, episodic: None, sessions: None, reflective: None }
    }

    /// The single parts it has.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let there = |part: &Part| match part {
            Part::Episodic => self.episodic.is_some(),
            Part::Sessions => self.sessions.is_some(),
            _ => self.reflective.is_some(),
        };
        Part::SINGLE.into_iter().filter(there).collect()
    }

    /// A store of the factory, closed again: for its name and its parts.
    pub(crate) fn of_fresh_store(factory: &Arc<dyn Factory>) -> Result<Self, String> {
        let failed =
            |e: &dyn std::fmt::Debug| format!("the factory opens and closes a fresh store: {e:?}");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|e| failed(&e))?;
        let opened = runtime.block_on(async {
            let place = Place::new()?;
            let handle = factory.open(&place, Arc::new(SystemClock)).await?;
            handle.backend.close().await?;
            factory.destroy(&place).await?;
            Ok::<_, Error>(handle)
        });
        opened.map_err(|e| failed(&e))
    }
}

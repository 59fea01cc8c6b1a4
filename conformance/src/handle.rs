use std::sync::Arc;

use memkeep_core::{Backend, EpisodicBackend, MemoryBackend, ReflectiveStore, SessionStore};

/// An open store, with the parts of the contract that it has.
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
        Self {
            backend: store.clone(),
            episodic: Some(store.clone()),
            sessions: Some(store.clone()),
            reflective: Some(store),
        }
    }

    /// A store of episodes only.
    pub fn episodic(store: Arc<impl EpisodicBackend>) -> Self {
        Self { backend: store.clone(), episodic: Some(store), sessions: None, reflective: None }
    }

    /// A store of sessions only.
    pub fn sessions(store: Arc<impl SessionStore>) -> Self {
        Self { backend: store.clone(), episodic: None, sessions: Some(store), reflective: None }
    }

    /// A store of notes, state and audit only.
    pub fn reflective(store: Arc<impl ReflectiveStore>) -> Self {
        Self { backend: store.clone(), episodic: None, sessions: None, reflective: Some(store) }
    }
}

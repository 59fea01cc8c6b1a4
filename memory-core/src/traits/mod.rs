//! What a backend implements. See [`Backend`] for where to begin.

mod backend;
mod episodic;
mod reflective;
mod sessions;

pub use backend::{Backend, BackendInfo, Durability, Sharing, Stats, WorkspaceCounts};
pub use episodic::EpisodicBackend;
pub use reflective::ReflectiveStore;
pub use sessions::SessionStore;

/// A backend with all three parts. Every type that has them is one.
pub trait MemoryBackend: EpisodicBackend + SessionStore + ReflectiveStore {}

impl<T: EpisodicBackend + SessionStore + ReflectiveStore + ?Sized> MemoryBackend for T {}

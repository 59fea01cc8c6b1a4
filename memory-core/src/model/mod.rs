//! The records of a memory. All fields are plain data; [`crate::decide`] keeps their rules.

mod audit;
mod counts;
mod episode;
mod note;
mod record;
mod session;
mod state;
mod step;
mod turn;

pub use audit::{AuditHead, AuditRecord, Hash};
pub use counts::{Counts, Deleted};
pub use episode::Episode;
pub use note::Note;
pub use record::{Record, RecordKind};
pub use session::{FIRST_PROMPT_CHARS, Session, first_prompt};
pub use state::{StateEntry, StateKey, StateSlot};
pub use step::Step;
pub use turn::Turn;

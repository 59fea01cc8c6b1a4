#![doc = include_str!("../README.md")]

pub mod bounds;
pub mod decide;
pub mod embedded;
pub mod json;
pub mod recall;
pub mod traits;
pub mod verify;

mod batch;
mod error;
mod feed;
mod id;
mod maintain;
mod model;
mod op;
mod page;
mod query;
mod receipt;
mod search;
mod time;
mod url;
mod window;
mod workspace;

pub use batch::Batch;
pub use error::{Error, ErrorKind, Result};
pub use feed::{Event, Feed};
pub use id::{AuditId, EpisodeId, NoteId, SessionId, StepId, TurnId};
pub use json::{Json, Metadata};
pub use model::*;
pub use op::*;
pub use page::{Cursor, Page, Position};
pub use query::*;
pub use receipt::{Mark, Outcome, RECEIPT_RETENTION, Receipt, StoredReceipt};
pub use time::{Clock, ManualClock, SystemClock, Timestamp};
pub use traits::*;
pub use url::StoreUrl;
pub use window::Window;
pub use workspace::{Scope, Workspace};

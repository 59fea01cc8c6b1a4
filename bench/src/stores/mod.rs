//! What keeps sessions and turns: memkeep's backends, and hand-written code that writes the same rows
//! under the same tables or keys, with the same durability.

mod hand_redb;
mod hand_sqlite;
mod memkeep;

use std::time::Duration;

use anyhow::Result;

use self::{hand_redb::HandRedb, hand_sqlite::HandSqlite, memkeep::Memkeep};

use crate::folder::Folder;

/// memkeep's backends that keep a file, by their URL's scheme.
pub(crate) const FILES: &[&str] = &["sqlite", "redb"];

/// A store of sessions and turns.
pub(crate) trait Store {
    /// The backend, and who wrote the code.
    fn name(&self) -> &str;

    /// Starts sessions, in one commit.
    fn start_sessions(&mut self, ids: &[String]) -> Result<()>;

    /// Records each text as a turn of `session`, by so many writers at once; what each writer waited
    /// for each of its turns. Hand-written code has no writers to coordinate: it commits as many turns
    /// together.
    fn record(&mut self, session: &str, texts: &[String], writers: usize) -> Result<Vec<Duration>>;

    /// Records turns, session and text, in one commit.
    fn record_batch(&mut self, turns: &[(&str, String)]) -> Result<()>;

    /// Reads the newest sessions; how many.
    fn newest_sessions(&mut self, limit: usize) -> Result<usize>;

    /// Reads the last turns of a session; how many.
    fn last_turns(&mut self, session: &str, n: usize) -> Result<usize>;

    /// Pages through all turns of a session; how long each page took, and the number of turns.
    fn page_through(&mut self, session: &str, page: usize) -> Result<(Vec<Duration>, usize)>;
}

/// A new store of each backend, each followed by its hand-written counterpart.
pub(crate) fn all(folder: &Folder) -> Result<Vec<Box<dyn Store>>> {
    Ok(vec![
        Box::new(Memkeep::open("inmem:", "inmem")?),
        Box::new(Memkeep::open_file("sqlite", &folder.path("memkeep.db"))?),
        Box::new(HandSqlite::new(&folder.path("hand.db"))?),
        Box::new(Memkeep::open_file("redb", &folder.path("memkeep.redb"))?),
        Box::new(HandRedb::new(&folder.path("hand.redb"))?),
    ])
}

/// What memkeep's backend is compared with: its hand-written counterpart.
pub(crate) fn counterpart(name: &str) -> Option<String> {
    Some(format!("hand-written {}", name.strip_prefix("memkeep ")?))
}

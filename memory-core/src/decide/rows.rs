use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
};

use super::Stored;
use crate::{AuditRecord, Episode, Note, Session, SessionId, StateSlot, Step, Turn, Workspace};

/// What a row goes with when a session or a workspace is deleted as a whole.
pub(super) trait Belongs {
    fn workspace(&self) -> &Workspace;
    fn session(&self) -> Option<&SessionId> {
        None
    }
}

macro_rules! belongs {
    ($($ty:ty $(, $session:ident)?;)*) => {$(
        impl Belongs for $ty {
            fn workspace(&self) -> &Workspace {
                &self.workspace
            }
            $(fn session(&self) -> Option<&SessionId> {
                Some(&self.$session)
            })?
        }
    )*};
}

belongs! {
    Session;
    Turn, session;
    Step, session;
    Episode;
    Note;
    StateSlot;
    AuditRecord;
}

impl<T: Belongs> Belongs for Stored<T> {
    fn workspace(&self) -> &Workspace {
        self.record.workspace()
    }
    fn session(&self) -> Option<&SessionId> {
        self.record.session()
    }
}

/// The deletions of this batch that take rows with them which were never loaded: at which op each
/// was decided, counted from 1.
#[derive(Default)]
pub(super) struct Wide {
    pub(super) workspaces: BTreeMap<Workspace, usize>,
    pub(super) sessions: HashMap<SessionId, usize>,
}

impl Wide {
    /// Whether what op `at` wrote (0: before the batch) in a workspace and session is still there.
    pub(super) fn spares(
        &self,
        workspace: &Workspace,
        session: Option<&SessionId>,
        at: usize,
    ) -> bool {
        let workspace = self.workspaces.get(workspace).copied();
        let session = session.and_then(|s| self.sessions.get(s)).copied();
        workspace.max(session).is_none_or(|deleted| deleted < at)
    }

    fn spares_row(&self, row: &impl Belongs, at: usize) -> bool {
        self.spares(row.workspace(), row.session(), at)
    }
}

/// The rows of one kind: as they were loaded, and as the ops so far have left them.
pub(super) struct Rows<K, V> {
    loaded: HashMap<K, V>,
    touched: HashMap<K, Touched<V>>,
}

struct Touched<V> {
    row: Option<V>,
    /// The op that wrote it first, or anew after a deletion.
    at: usize,
    /// Whether an op of this batch deleted the row by name, so that its successor is another row.
    deleted: bool,
}

/// What became of one row in the end.
pub(super) enum Fate<K, V> {
    /// The stored row goes.
    Delete(K),
    /// The row is to be put; `replaces` if the stored one must be deleted first.
    Put { key: K, row: V, new: bool, replaces: bool },
}

impl<K: Eq + Hash + Clone, V: Belongs + Clone> Rows<K, V> {
    pub(super) fn new(loaded: HashMap<K, V>) -> Self {
        Self { loaded, touched: HashMap::new() }
    }

    /// The row as the next op sees it.
    pub(super) fn get(&self, key: &K, wide: &Wide) -> Option<&V> {
        match self.touched.get(key) {
            Some(touched) => touched.row.as_ref().filter(|row| wide.spares_row(*row, touched.at)),
            None => self.loaded.get(key).filter(|row| wide.spares_row(*row, 0)),
        }
    }

    /// The row, to be changed by op `at`.
    pub(super) fn get_mut(&mut self, key: &K, wide: &Wide, at: usize) -> Option<&mut V> {
        if !self.touched.contains_key(key) {
            let row = self.loaded.get(key).filter(|row| wide.spares_row(*row, 0))?.clone();
            self.set(key.clone(), row, at);
        }
        let touched = self.touched.get_mut(key)?;
        let first = touched.at;
        touched.row.as_mut().filter(|row| wide.spares_row(&**row, first))
    }

    /// Writes a row that was not there.
    pub(super) fn set(&mut self, key: K, row: V, at: usize) {
        let deleted = self.touched.get(&key).is_some_and(|touched| touched.deleted);
        self.touched.insert(key, Touched { row: Some(row), at, deleted });
    }

    /// Writes a row, over the one that is there if one is.
    pub(super) fn put(&mut self, key: K, row: V, wide: &Wide, at: usize) {
        match self.get_mut(&key, wide, at) {
            Some(there) => *there = row,
            None => self.set(key, row, at),
        }
    }

    /// Deletes a row by name.
    pub(super) fn remove(&mut self, key: &K, at: usize) {
        let gone = Touched { row: None, at, deleted: true };
        self.touched.insert(key.clone(), gone);
    }

    /// What became of the rows that were touched; new ones in the order in which they were written.
    pub(super) fn fates(self, wide: &Wide) -> Vec<Fate<K, V>> {
        let Self { loaded, touched } = self;
        let mut touched: Vec<_> = touched.into_iter().collect();
        touched.sort_unstable_by_key(|(_, touched)| touched.at);
        let fate = |(key, touched): (K, Touched<V>)| {
            let stored = loaded.get(&key).is_some_and(|row| wide.spares_row(row, 0));
            match touched.row.filter(|row| wide.spares_row(row, touched.at)) {
                Some(row) => {
                    let replaces = stored && touched.deleted;
                    Some(Fate::Put { key, row, new: !stored || replaces, replaces })
                }
                None => stored.then_some(Fate::Delete(key)),
            }
        };
        touched.into_iter().filter_map(fate).collect()
    }
}

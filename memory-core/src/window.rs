use sha2::{Digest, Sha256};

use crate::{
    Cursor, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps, ListTurns,
    Page, Position, Result, Scan, Scope, SessionOrder, Timestamp, Workspace,
};

/// The rows of a listing that a query asks for: those after a place, at most so many.
///
/// A backend asks the query for it before it reads a row, reads from the place on, and cuts the page.
#[derive(Clone, Debug)]
pub struct Window {
    listing: [u8; 8],
    after: Option<Position>,
    /// At most so many rows.
    pub limit: usize,
}

/// What the positions of a listing are.
#[derive(Clone, Copy)]
enum Places {
    Insertion,
    Time,
    Index,
    State,
    Audit,
}

impl Places {
    /// Whether a row of a listing in `scope` may be at `position`.
    fn include(self, position: &Position, scope: &Scope) -> bool {
        let seen =
            |workspace: &str| scope.workspace().is_none_or(|seen| seen.as_str() == workspace);
        match (self, position) {
            (Self::Insertion, Position::Insertion(_))
            | (Self::Time, Position::Time(..))
            | (Self::Index, Position::Index(_)) => true,
            (Self::State, Position::Key(workspace, key)) => {
                seen(workspace) && std::str::from_utf8(key).is_ok()
            }
            (Self::Audit, Position::Index(_)) => scope.workspace().is_some(),
            (Self::Audit, Position::Key(_, seq)) => {
                scope.workspace().is_none() && seq.len() == size_of::<u64>()
            }
            _ => false,
        }
    }
}

impl Window {
    /// Of the listing that `name`, the scope and `of` tell from every other.
    fn new(
        (name, places): (&str, Places),
        scope: &Scope,
        of: &[&str],
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Self> {
        let mut sha = Sha256::new();
        let scope_text = scope.workspace().map(Workspace::as_str);
        // How many `of` has is the name's, so only the scope may be absent: no two listings are alike.
        let parts = [name].into_iter().chain(of.iter().copied()).chain(scope_text);
        for part in parts {
            sha.update((part.len() as u64).to_be_bytes());
            sha.update(part);
        }
        let mut listing = [0; 8];
        listing.copy_from_slice(&sha.finalize()[..8]);
        let own =
            |cursor: &Cursor| cursor.listing == listing && places.include(&cursor.position, scope);
        match after {
            Some(cursor) if !own(cursor) => Err(Cursor::foreign()),
            after => {
                Ok(Self { listing, after: after.map(|cursor| cursor.position.clone()), limit })
            }
        }
    }

    /// The cursor of this listing after a row at `position`.
    pub fn cursor(&self, position: Position) -> Cursor {
        Cursor { listing: self.listing, position }
    }

    /// Of a listing by insertion: the number after which it goes on, if not at its beginning.
    pub fn insertion(&self) -> Option<u64> {
        match self.after {
            Some(Position::Insertion(number)) => Some(number),
            _ => None,
        }
    }

    /// Of a listing by time: the time and number after which it goes on, if not at its beginning.
    pub fn time(&self) -> Option<(Timestamp, u64)> {
        match self.after {
            Some(Position::Time(at, number)) => Some((at, number)),
            _ => None,
        }
    }

    /// Of a listing by index, also of one workspace's audit records: the index after which it goes on,
    /// if not at its beginning.
    pub fn index(&self) -> Option<u64> {
        match self.after {
            Some(Position::Index(index)) => Some(index),
            _ => None,
        }
    }

    /// Of a listing of state entries: the workspace and key after which it goes on, if not at its
    /// beginning.
    pub fn state(&self) -> Option<(&str, &str)> {
        let (workspace, key) = self.key()?;
        Some((workspace, std::str::from_utf8(key).ok()?))
    }

    /// Of a listing of all workspaces' audit records: the workspace and sequence number after which it
    /// goes on, if not at its beginning.
    pub fn audit(&self) -> Option<(&str, u64)> {
        let (workspace, seq) = self.key()?;
        Some((workspace, u64::from_be_bytes(seq.try_into().ok()?)))
    }

    fn key(&self) -> Option<(&str, &[u8])> {
        match &self.after {
            Some(Position::Key(workspace, key)) => Some((workspace, key)),
            _ => None,
        }
    }

    /// The page out of `rows`, which were read from the place on, with one row more than the limit to
    /// see whether any is left. Each row comes with its position.
    pub fn cut<T>(&self, mut rows: Vec<(T, Position)>) -> Page<T> {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        let last = rows.last().filter(|_| more);
        let next = last.map(|(_, position)| self.cursor(position.clone()));
        Page { items: rows.into_iter().map(|(item, _)| item).collect(), next }
    }

    /// The page out of `rows`, which are those from the place on. No more of them are taken than it
    /// needs. Each comes with its position.
    pub fn first<T>(&self, rows: impl IntoIterator<Item = (T, Position)>) -> Page<T> {
        // A page of nothing has no place to go on from, so it asks for no row more.
        let read = if self.limit == 0 { 0 } else { self.limit.saturating_add(1) };
        self.cut(rows.into_iter().take(read).collect())
    }

    /// The page of a listing whose rows are all at hand, in any order. Only those that are on the page
    /// are cloned.
    pub fn sorted<'r, T: Clone + 'r>(
        &self,
        rows: impl IntoIterator<Item = (&'r T, Position)>,
        newest_first: bool,
    ) -> Page<T> {
        let order = |a: &Position, b: &Position| match (a, b) {
            // Of one time the first inserted comes first, either way.
            (Position::Time(a, m), Position::Time(b, n)) if newest_first => b.cmp(a).then(m.cmp(n)),
            _ if newest_first => b.cmp(a),
            _ => a.cmp(b),
        };
        let after = self.after.as_ref();
        let is_rest = |at: &Position| after.is_none_or(|after| order(at, after).is_gt());
        let mut rows: Vec<_> = rows.into_iter().filter(|(_, at)| is_rest(at)).collect();
        rows.sort_unstable_by(|(_, a), (_, b)| order(a, b));
        self.first(rows.into_iter().map(|(row, at)| (row.clone(), at)))
    }
}

macro_rules! windows {
    ($($list:ident $name:literal $places:ident |$query:ident| [$($of:expr),*];)*) => {$(
        impl $list {
            /// What is asked for. `InvalidArgument` for a cursor that is not one of this listing: all
            /// but `limit` must be as it was.
            pub fn window(&self) -> Result<Window> {
                let $query = self;
                let of: &[&str] = &[$($of),*];
                let name = ($name, Places::$places);
                Window::new(name, &self.scope, of, self.after.as_ref(), self.limit)
            }
        }
    )*};
}

windows! {
    Scan "scan" Insertion |scan| [scan.kind.as_str()];
    ListEpisodes "episodes" Time |list| [
        match list.open {
            None => "all",
            Some(true) => "open",
            Some(false) => "closed",
        }
    ];
    ListNotes "notes" Time |_list| [];
    ListSessions "sessions" Time |list| [
        match list.order {
            SessionOrder::Started => "started",
            SessionOrder::Active => "active",
        }
    ];
    ListTurns "turns" Index |list| [
        list.session.as_str(),
        if list.newest_first { "newest" } else { "oldest" }
    ];
    ListSteps "steps" Index |list| [list.session.as_str()];
    ListStates "states" State |list| [list.prefix.as_str()];
    ListAudit "audit" Audit |_list| [];
}

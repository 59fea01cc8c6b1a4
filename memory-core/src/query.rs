use crate::{Cursor, EpisodeId, RecordKind, Scope, SessionId, Timestamp, recall::Scorer};

/// The `limit` of a listing that is not told another: turns, sessions, steps.
pub const DEFAULT_LIMIT: usize = 20;
/// The `limit` of [`FindTurns`] that is not told another.
pub const DEFAULT_FINDS: usize = 10;
/// The `k` of a [`RecallQuery`] that is not told another.
pub const DEFAULT_RECALL: usize = 3;

/// Query structs: required fields are the arguments of `new`, every other has a default and a
/// setter of its own name.
macro_rules! query {
    (
        $(#[$doc:meta])*
        $name:ident {
            $($(#[$rdoc:meta])* $req:ident: $rty:ty,)*
            ---
            $($(#[$odoc:meta])* $opt:ident: $oty:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$rdoc])* pub $req: $rty,)*
            $($(#[$odoc])* pub $opt: $oty,)*
        }

        impl $name {
            /// With the required fields; the others have their defaults.
            #[allow(clippy::new_without_default)]
            pub fn new($($req: impl Into<$rty>),*) -> Self {
                Self { $($req: $req.into(),)* $($opt: $default,)* }
            }

            $(
                $(#[$odoc])*
                #[must_use]
                pub fn $opt(mut self, $opt: impl Into<$oty>) -> Self {
                    self.$opt = $opt.into();
                    self
                }
            )*
        }
    };
}

query! {
    /// Every record of a kind, in order of insertion.
    Scan {
        /// The kind.
        kind: RecordKind,
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// At most so many rows.
        limit: usize = usize::MAX,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Episodes by `created_at`, then insertion.
    ListEpisodes {
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// Only open ones, or only closed ones.
        open: Option<bool> = None,
        /// At most so many rows.
        limit: usize = usize::MAX,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Notes by `created_at`, then insertion.
    ListNotes {
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// At most so many rows.
        limit: usize = usize::MAX,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

/// What sessions are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionOrder {
    /// `started_at`.
    #[default]
    Started,
    /// `last_active`.
    Active,
}

query! {
    /// Sessions, newest first, ties by insertion.
    ListSessions {
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// What "newest" means.
        order: SessionOrder = SessionOrder::Started,
        /// At most so many rows.
        limit: usize = DEFAULT_LIMIT,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Turns of a session by index. An unknown session is `NotFound`.
    ListTurns {
        /// The session.
        session: SessionId,
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// From the newest backwards instead of from the oldest on.
        newest_first: bool = false,
        /// At most so many rows.
        limit: usize = DEFAULT_LIMIT,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Steps of a session by index. An unknown session is `NotFound`.
    ListSteps {
        /// The session.
        session: SessionId,
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// At most so many rows.
        limit: usize = DEFAULT_LIMIT,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// State entries by workspace, then key, both bytewise. Expired entries are not there.
    ListStates {
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// Only keys that start so.
        prefix: String = String::new(),
        /// At most so many rows.
        limit: usize = usize::MAX,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Audit records by seq; over all workspaces, by workspace, then seq.
    ListAudit {
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// At most so many rows.
        limit: usize = usize::MAX,
        /// Where to go on.
        after: Option<Cursor> = None,
    }
}

query! {
    /// Turns whose content has `text` in it: a literal substring without wildcards, case-folded.
    /// Newest first, ties by insertion. An empty text is `InvalidArgument`.
    FindTurns {
        /// What is sought.
        text: String,
        ---
        /// What is seen.
        scope: Scope = Scope::All,
        /// Only turns of this role.
        role: Option<String> = None,
        /// At most so many rows.
        limit: usize = DEFAULT_FINDS,
    }
}

query! {
    /// A question to memory: any text, no syntax. What it returns is ranked, best first; ties by
    /// `created_at`, newest first, then insertion. Filters apply before `k`.
    RecallQuery {
        /// The question.
        text: String,
        ---
        /// How many hits at most.
        k: usize = DEFAULT_RECALL,
        /// How to score; [`Scorer::Overlap`] for episodes, [`Scorer::Context`] for turns,
        /// [`Scorer::Bm25`] for notes if absent.
        scorer: Option<Scorer> = None,
        /// What is seen.
        scope: Scope = Scope::All,
        /// Episodes: only open ones, or only closed ones.
        open: Option<bool> = None,
        /// Turns: only of this role.
        role: Option<String> = None,
        /// Turns: only those with this tag.
        tag: Option<String> = None,
        /// Turns: only of this session.
        session: Option<SessionId> = None,
        /// Notes: only those drawn from this episode.
        source: Option<EpisodeId> = None,
        /// Only from this instant on.
        since: Option<Timestamp> = None,
        /// Only before this instant.
        until: Option<Timestamp> = None,
    }
}

impl RecallQuery {
    /// The scorer that serves this query over records of `kind`.
    pub fn scorer_for(&self, kind: RecordKind) -> Scorer {
        self.scorer.unwrap_or(match kind {
            RecordKind::Turn => Scorer::Context,
            RecordKind::Note => Scorer::Bm25,
            _ => Scorer::Overlap,
        })
    }
}

/// A record that recall found.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Hit<T> {
    /// How well it fits; comparable within one answer only.
    pub score: f64,
    /// The record.
    pub record: T,
}

/// What [`Backend::prune`](crate::Backend::prune) takes away.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Prune {
    /// Sessions that ended, episodes that were closed and state that expired before this instant.
    pub before: Timestamp,
    /// In which workspaces.
    pub scope: Scope,
}

impl Prune {
    /// Everything that was over before `before`.
    pub fn new(before: Timestamp) -> Self {
        Self { before, scope: Scope::All }
    }

    /// In which workspaces.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<Scope>) -> Self {
        self.scope = scope.into();
        self
    }
}

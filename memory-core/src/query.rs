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
    /// Every record of a kind, in order of insertion. A new one comes after every cursor, though the
    /// newest have gone (`PAGE-NEW-03`).
    ///
    /// Pages hold under change (`PAGE-CHANGE-12`, `PAGE-CHANGE-13`, `PAGE-CHANGE-14`), also those of
    /// one workspace (`PAGE-SCOPE-07`, `PAGE-SCOPE-08`, `PAGE-SCOPE-09`). Limits: `PAGE-LIMIT-11`,
    /// `PAGE-LIMIT-12`, `PAGE-LIMIT-13`.
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
    ///
    /// A new one comes after every cursor, though the newest have gone (`PAGE-NEW-01`).
    ///
    /// Pages hold under change (`PAGE-CHANGE-06`, `PAGE-CHANGE-07`), also those of one workspace
    /// (`PAGE-SCOPE-03`, `PAGE-SCOPE-04`), and after reopening (`PAGE-REOPEN-02`). Limits:
    /// `PAGE-LIMIT-06`; of many rows: `MANY-EPISODE-01`. Times: `PAGE-TIME-03`. Filters hold together
    /// (`FILTER-EPISODE-02`). A cursor of another listing is refused (`PAGE-CURSOR-02`).
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
    ///
    /// A new one comes after every cursor, though the newest have gone (`PAGE-NEW-02`).
    ///
    /// Pages hold under change (`PAGE-CHANGE-08`), also those of one workspace (`PAGE-SCOPE-05`).
    /// Limits: `PAGE-LIMIT-07`; of many rows: `MANY-NOTE-01`. Times: `PAGE-TIME-04`.
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
    /// Sessions, newest first, ties by insertion; [`DEFAULT_LIMIT`] of them if not told otherwise, as
    /// with turns and steps (`SESSION-LIST-04`).
    ///
    /// Pages hold under change (`PAGE-CHANGE-01`, `PAGE-CHANGE-02`), also those of one workspace
    /// (`PAGE-SCOPE-01`, `PAGE-SCOPE-02`), and after reopening (`PAGE-REOPEN-01`). Limits:
    /// `PAGE-LIMIT-01`, `PAGE-LIMIT-02`; of many rows: `MANY-SESSION-01`. Times: `PAGE-TIME-01`,
    /// `PAGE-TIME-02`. A cursor of another listing is refused (`PAGE-CURSOR-01`).
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
    ///
    /// Pages hold under change (`PAGE-CHANGE-03`, `PAGE-CHANGE-04`). Limits: `PAGE-LIMIT-03`,
    /// `PAGE-LIMIT-04`; of many rows: `MANY-TURN-01`.
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
    ///
    /// Pages hold under change (`PAGE-CHANGE-05`). Limits: `PAGE-LIMIT-05`; of many rows:
    /// `MANY-STEP-01`.
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
    ///
    /// Pages hold under change (`PAGE-CHANGE-09`), also those of one workspace (`PAGE-SCOPE-06`), and
    /// after reopening (`PAGE-REOPEN-03`). Limits: `PAGE-LIMIT-08`; of many rows: `MANY-STATE-01`. A
    /// cursor of another listing is refused (`PAGE-CURSOR-03`).
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
    ///
    /// Pages hold under change (`PAGE-CHANGE-10`, `PAGE-CHANGE-11`). Limits: `PAGE-LIMIT-09`,
    /// `PAGE-LIMIT-10`; of many rows: `MANY-AUDIT-01`.
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
    /// Turns whose content has `text` in it.
    ///
    /// - A literal substring (`FIND-TEXT-02`) without wildcards (`FIND-TEXT-01`), of any length
    ///   (`FIND-TEXT-10`), U+0000 being a character (`FIND-TEXT-04`); any text (`HOSTILE-FIND-01`).
    /// - Case is folded, accents are not (`FIND-TEXT-03`).
    /// - Newest first, ties by insertion (`FIND-TEXT-05`), at most `limit` (`FIND-TEXT-06`,
    ///   `MANY-FIND-01`) of the role (`FIND-TEXT-07`) and in the scope, all together
    ///   (`FILTER-TURN-01`); what is there now (`FIND-TEXT-08`).
    /// - An empty text is `InvalidArgument` (`FIND-TEXT-09`).
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
    /// A question to memory.
    ///
    /// The clauses of each rule are those of episodes, turns and notes.
    ///
    /// - Ids, order and score bits are those of [`recall::Ranker`](crate::recall::Ranker) over the
    ///   records in order of insertion, after any history (`RECALL-EPISODE-01`, `RECALL-TURN-01`,
    ///   `RECALL-NOTE-01`), after reopening (`RECALL-EPISODE-02`, `RECALL-TURN-02`, `RECALL-NOTE-02`)
    ///   and over many records (`RECALL-EPISODE-03`, `RECALL-TURN-03`, `RECALL-NOTE-03`), as many of them
    ///   as are asked for (`MANY-RECALL-01`, `MANY-RECALL-02`, `MANY-RECALL-03`).
    /// - Best first; ties by `created_at`, newest first, then insertion (`RECALL-EPISODE-04`,
    ///   `RECALL-TURN-04`, `RECALL-NOTE-04`).
    /// - Other workspaces change no score (`RECALL-EPISODE-05`, `RECALL-TURN-05`, `RECALL-NOTE-05`), and
    ///   filters neither (`RECALL-EPISODE-06`, `RECALL-TURN-06`, `RECALL-NOTE-06`). Filters apply before
    ///   `k` (`RECALL-EPISODE-07`, `RECALL-TURN-07`, `RECALL-NOTE-07`); a tag is a name
    ///   (`RECALL-TURN-08`). Each holds beside all others (`FILTER-EPISODE-01`, `FILTER-TURN-02`,
    ///   `FILTER-NOTE-01`).
    /// - Any text is a question; nothing in it is syntax (`ASK-EPISODE-01`, `ASK-TURN-01`,
    ///   `ASK-NOTE-01`, `HOSTILE-QUERY-01`, `HOSTILE-QUERY-02`, `HOSTILE-QUERY-03`). Without a known word nothing answers (`ASK-EPISODE-02`, `ASK-TURN-02`,
    ///   `ASK-NOTE-02`); one is enough (`ASK-EPISODE-04`, `ASK-TURN-04`, `ASK-NOTE-04`).
    /// - [`Scorer::Bm25`] and [`Scorer::Context`] stem in the handle's language,
    ///   [`BackendInfo::language`](crate::BackendInfo::language).
    /// - Words are: names such as `gpt-4o` (`ASK-EPISODE-03`, `ASK-TURN-03`, `ASK-NOTE-03`), words in
    ///   scripts without spaces (`ASK-EPISODE-05`, `ASK-TURN-05`, `ASK-NOTE-05`), parts of identifiers
    ///   (`ASK-EPISODE-06`, `ASK-TURN-06`, `ASK-NOTE-06`), in any case and without accents
    ///   (`ASK-EPISODE-07`, `ASK-TURN-07`, `ASK-NOTE-07`), numbers and `C++` (`ASK-EPISODE-08`,
    ///   `ASK-TURN-08`, `ASK-NOTE-08`), and what stands behind U+0000 (`ASK-EPISODE-09`, `ASK-TURN-09`,
    ///   `ASK-NOTE-09`) or in 2 MB of text (`ASK-EPISODE-10`, `ASK-TURN-10`, `ASK-NOTE-10`).
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

use std::fmt::Debug;

use memkeep::{
    Cursor, ErrorKind, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates,
    ListSteps, ListTurns, MemoryBackend, Page, RecallQuery, RecordKind, Result, Scan, Scope,
    SessionOrder, Workspace, recall::Scorer,
};

/// A listing of a store.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "they are named after what they list")]
pub enum Listing {
    Scan(RecordKind),
    Sessions(SessionOrder),
    Turns { session: String, newest_first: bool },
    Steps { session: String },
    Episodes,
    Notes,
    States,
    Audit,
}

impl Listing {
    /// All listings, of the session `session` where they are of one.
    pub fn all(session: &str) -> Vec<Self> {
        let session = session.to_owned();
        let orders = [SessionOrder::Started, SessionOrder::Active].map(Self::Sessions);
        let turns = [false, true]
            .map(|newest_first| Self::Turns { session: session.clone(), newest_first });
        let others = [
            Self::Steps { session: session.clone() },
            Self::Episodes,
            Self::Notes,
            Self::States,
            Self::Audit,
        ];
        let scans = RecordKind::ALL.into_iter().map(Self::Scan);
        scans.chain(orders).chain(turns).chain(others).collect()
    }

    /// The page after a cursor, each row as text.
    pub async fn page(
        &self,
        store: &dyn MemoryBackend,
        scope: &Scope,
        limit: usize,
        after: Option<Cursor>,
    ) -> Result<Page<String>> {
        macro_rules! page {
            ($method:ident($list:expr)) => {{
                let mut list = $list.scope(scope.clone()).limit(limit);
                list.after = after;
                store.$method(&list).await.map(|page| page.map(|row| format!("{row:?}")))
            }};
        }
        match self {
            Self::Scan(kind) => page!(scan(Scan::new(*kind))),
            Self::Sessions(order) => page!(sessions(ListSessions::new().order(*order))),
            Self::Turns { session, newest_first } => {
                page!(turns(ListTurns::new(&**session).newest_first(*newest_first)))
            }
            Self::Steps { session } => page!(steps(ListSteps::new(&**session))),
            Self::Episodes => page!(episodes(ListEpisodes::new())),
            Self::Notes => page!(notes(ListNotes::new())),
            Self::States => page!(states(ListStates::new())),
            Self::Audit => page!(audit_log(ListAudit::new())),
        }
    }
}

/// Makes every read that there is. Each must answer, or say that it met a row that cannot be read, or
/// that a session is not there. Returns whether a row could not be read.
pub async fn read_everything(store: &dyn MemoryBackend, session: &str, ids: &[&str]) -> bool {
    let mut corrupt = false;
    macro_rules! read {
        ($read:expr) => {
            corrupt |= is_corrupt($read.await)
        };
    }
    for scope in [Scope::All, Scope::from("acme")] {
        for listing in Listing::all(session) {
            read!(listing.page(store, &scope, usize::MAX, None));
        }
        for id in ids {
            let id = *id;
            read!(store.session(&scope, &id.into()));
            read!(store.turn(&scope, &id.into()));
            read!(store.step(&scope, &id.into()));
            read!(store.episode(&scope, &id.into()));
            read!(store.note(&scope, &id.into()));
        }
        for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
            let query =
                RecallQuery::new("the problem of a user").scope(scope.clone()).scorer(scorer);
            if scorer != Scorer::Context {
                read!(store.recall(&query));
                read!(store.recall_notes(&query));
            }
            read!(store.recall_turns(&query));
        }
        read!(store.find_turns(&FindTurns::new("of").scope(scope.clone())));
        read!(store.stats(&scope));
    }
    read!(store.workspaces());
    for workspace in ["acme", "", "default"].map(Workspace::from) {
        read!(store.audit_head(&workspace));
        read!(store.state(&workspace, "key"));
    }
    corrupt
}

fn is_corrupt<T: Debug>(answer: Result<T>) -> bool {
    match answer {
        Ok(_) => false,
        Err(error) => match error.kind() {
            ErrorKind::Corrupt => {
                assert!(error.get("table").is_some() && error.get("row").is_some(), "{error:?}");
                true
            }
            ErrorKind::NotFound => false,
            _ => panic!("a read failed otherwise: {error:?}"),
        },
    }
}

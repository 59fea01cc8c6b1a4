//! What a store answers to a read, in the form in which the model answers.

use memkeep_core::{
    AuditHead, Counts, Cursor, Error, ErrorKind, FindTurns, Hit, ListAudit, ListEpisodes,
    ListNotes, ListSessions, ListStates, ListSteps, ListTurns, Page, RecallQuery, Record,
    RecordKind, Result, Scan, SessionOrder, WorkspaceCounts,
};

use super::{
    command::{Listing, Of, Read, Recall, scope},
    knowledge::as_slot,
};
use crate::{Failure, Handle};

/// What a read comes to. A state entry is shown as a live slot; a score by its bits.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Records(Vec<Record>),
    Hits(Vec<(u64, Record)>),
    Head(AuditHead),
    Workspaces(Vec<WorkspaceCounts>),
    Counts(Counts),
    Refused(ErrorKind),
}

impl Answer {
    /// The first place in which two answers differ.
    pub(super) fn differs(&self, actual: &Self) -> Option<Failure> {
        fn first<T: PartialEq + std::fmt::Debug>(expected: &[T], actual: &[T]) -> Option<Failure> {
            let longer = expected.len().max(actual.len());
            let at = (0..longer).find(|at| expected.get(*at) != actual.get(*at))?;
            let shown = |rows: &[T]| match rows.get(at) {
                Some(row) => format!("row {at} of {} is {row:?}", rows.len()),
                None => format!("{} rows", rows.len()),
            };
            Some(Failure::new(shown(expected), shown(actual)))
        }
        match (self, actual) {
            (Self::Records(expected), Self::Records(actual)) => first(expected, actual),
            (Self::Hits(expected), Self::Hits(actual)) => first(expected, actual),
            (Self::Workspaces(expected), Self::Workspaces(actual)) => first(expected, actual),
            (expected, actual) if expected == actual => None,
            (expected, actual) => Some(Failure::values("the answer", expected, actual)),
        }
    }
}

/// Reads from the store. A failure is a rule of paging that was not kept.
pub(super) async fn answer(handle: &Handle, read: &Read) -> std::result::Result<Answer, Failure> {
    let answer = match read {
        Read::All(listing) => return all_pages(handle, listing).await,
        Read::ById { kind, scope, id } => by_id(handle, *kind, scope.as_ref(), id).await,
        Read::State { workspace, key } => {
            async {
                let entry = reflective(handle)?.state(workspace, key).await?;
                Ok(Answer::Records(entry.into_iter().map(|e| Record::State(as_slot(e))).collect()))
            }
            .await
        }
        Read::Find { text, scope: seen, role, limit } => {
            async {
                let mut find = FindTurns::new(text).scope(scope(seen.as_ref())).limit(*limit);
                find.role.clone_from(role);
                let turns = sessions(handle)?.find_turns(&find).await?;
                Ok(Answer::Records(turns.into_iter().map(Record::Turn).collect()))
            }
            .await
        }
        Read::Recall(asked) => recall(handle, asked).await,
        Read::AuditHead { workspace } => {
            async { Ok(Answer::Head(reflective(handle)?.audit_head(workspace).await?)) }.await
        }
        Read::Workspaces => handle.backend.workspaces().await.map(Answer::Workspaces),
        Read::Stats { scope: seen } => {
            let stats = handle.backend.stats(&scope(seen.as_ref())).await;
            stats.map(|stats| Answer::Counts(stats.counts))
        }
    };
    Ok(answer.unwrap_or_else(|error| Answer::Refused(error.kind())))
}

async fn by_id(
    handle: &Handle,
    kind: RecordKind,
    workspace: Option<&memkeep_core::Workspace>,
    id: &str,
) -> Result<Answer> {
    let scope = &scope(workspace);
    macro_rules! get {
        ($part:ident.$get:ident $kind:ident) => {
            $part(handle)?.$get(scope, &id.into()).await?.map(Record::$kind)
        };
    }
    let record = match kind {
        RecordKind::Session => get!(sessions.session Session),
        RecordKind::Turn => get!(sessions.turn Turn),
        RecordKind::Step => get!(sessions.step Step),
        RecordKind::Episode => get!(episodic.episode Episode),
        RecordKind::Note => get!(reflective.note Note),
        RecordKind::State | RecordKind::Audit => None,
    };
    Ok(Answer::Records(record.into_iter().collect()))
}

async fn recall(handle: &Handle, asked: &Recall) -> Result<Answer> {
    fn hits<T>(hits: Vec<Hit<T>>, record: impl Fn(T) -> Record) -> Answer {
        let hit = |hit: Hit<T>| (hit.score.to_bits(), record(hit.record));
        Answer::Hits(hits.into_iter().map(hit).collect())
    }
    let mut query = RecallQuery::new(&asked.text).k(asked.k).scope(scope(asked.scope.as_ref()));
    query.scorer = asked.scorer;
    query.open = asked.open;
    query.role.clone_from(&asked.role);
    query.tag.clone_from(&asked.tag);
    query.session = asked.session.as_deref().map(Into::into);
    query.source = asked.source.as_deref().map(Into::into);
    query.since = asked.since;
    query.until = asked.until;
    Ok(match asked.kind {
        RecordKind::Turn => hits(sessions(handle)?.recall_turns(&query).await?, Record::Turn),
        RecordKind::Note => hits(reflective(handle)?.recall_notes(&query).await?, Record::Note),
        _ => hits(episodic(handle)?.recall(&query).await?, Record::Episode),
    })
}

async fn all_pages(handle: &Handle, listing: &Listing) -> std::result::Result<Answer, Failure> {
    let mut records = Vec::new();
    let mut after = None;
    loop {
        let page = match page(handle, listing, after.take()).await {
            Ok(page) => page,
            Err(error) => return Ok(Answer::Refused(error.kind())),
        };
        well_formed(&page, listing.limit)?;
        records.extend(page.items);
        if page.next.is_none() || listing.limit == 0 {
            return Ok(Answer::Records(records));
        }
        after = page.next;
    }
}

/// A page holds `limit` rows if it says that there are more, and never more than that.
pub(super) fn well_formed(page: &Page<Record>, limit: usize) -> std::result::Result<(), Failure> {
    let rows = page.items.len();
    if rows > limit || (page.next.is_some() && rows < limit) {
        let more = if page.next.is_some() { "and says there are more" } else { "and no more" };
        let expected = format!("a page of {limit} rows, or the last one");
        return Err(Failure::new(expected, format!("it has {rows} rows {more}")));
    }
    Ok(())
}

/// One page of a listing.
pub(crate) async fn page(
    handle: &Handle,
    listing: &Listing,
    after: Option<Cursor>,
) -> Result<Page<Record>> {
    let Listing { of, scope: seen, limit } = listing;
    macro_rules! list {
        ($part:ident.$method:ident($list:expr) $record:expr) => {{
            let mut list = $list.scope(scope(seen.as_ref())).limit(*limit);
            list.after = after;
            $part(handle)?.$method(&list).await?.map($record)
        }};
    }
    Ok(match of {
        Of::Scan(kind) => {
            let mut scan = Scan::new(*kind).scope(scope(seen.as_ref())).limit(*limit);
            scan.after = after;
            handle.backend.scan(&scan).await?
        }
        Of::Episodes { open } => {
            let mut list = ListEpisodes::new();
            list.open = *open;
            list!(episodic.episodes(list) Record::Episode)
        }
        Of::Notes => list!(reflective.notes(ListNotes::new()) Record::Note),
        Of::Sessions { by_activity } => {
            let order = if *by_activity { SessionOrder::Active } else { SessionOrder::Started };
            list!(sessions.sessions(ListSessions::new().order(order)) Record::Session)
        }
        Of::Turns { session, newest_first } => {
            let list = ListTurns::new(session.as_str()).newest_first(*newest_first);
            list!(sessions.turns(list) Record::Turn)
        }
        Of::Steps { session } => {
            list!(sessions.steps(ListSteps::new(session.as_str())) Record::Step)
        }
        Of::States { prefix } => {
            let list = ListStates::new().prefix(prefix.as_str());
            list!(reflective.states(list) | entry | Record::State(as_slot(entry)))
        }
        Of::Audit => list!(reflective.audit_log(ListAudit::new()) Record::Audit),
    })
}

macro_rules! part {
    ($($part:ident $store:ident;)*) => {$(
        fn $part(handle: &Handle) -> Result<&dyn memkeep_core::$store> {
            let lack = || Error::new(ErrorKind::Unsupported, "the handle has not this part");
            handle.$part.as_deref().ok_or_else(lack)
        }
    )*};
}

part! {
    episodic EpisodicBackend;
    sessions SessionStore;
    reflective ReflectiveStore;
}

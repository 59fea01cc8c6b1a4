//! Paging: what comes and goes between the pages of a listing, limits.

use memkeep_core::{
    Cursor, ListEpisodes, ListNotes, NewEpisode, NewNote, NewSession, NewTurn, Page, Record,
    RecordKind, Scan, Scope, SessionOrder, Timestamp,
};

use super::listing::{Listing, Row};
use crate::{Case, Failure, Verdict, failure::must_equal};

/// Rows on a page: not a multiple of the three that share a time.
const LIMIT: usize = 4;

/// What a listing must hold, in its order.
struct Rows {
    listing: Listing,
    scope: Scope,
    held: Vec<Row>,
    inserted: i64,
}

impl Rows {
    /// The listing with `count` rows more than it starts with; three share a time.
    async fn new(
        case: &Case,
        listing: Listing,
        scope: &Scope,
        count: i64,
    ) -> Result<Self, Failure> {
        listing.prepare(case).await?;
        let held = listing.prepared();
        let mut rows = Self { listing, scope: scope.clone(), held, inserted: 0 };
        rows.held.retain(|row| scope.includes(&row.workspace.into()));
        for n in 0..count {
            // Half of the rows are backdated.
            let time = if n < count / 2 { 50 + n / 3 } else { 30 + n / 3 };
            rows.insert(case, time).await?;
        }
        Ok(rows)
    }

    async fn insert(&mut self, case: &Case, time: i64) -> Verdict {
        self.inserted += 1;
        let row = self.listing.insert(case, self.inserted, time).await?;
        if self.scope.includes(&row.workspace.into()) {
            self.held.push(row);
            self.held.sort_by_key(|row| row.place);
        }
        Ok(())
    }

    async fn delete(&mut self, case: &Case, row: &Row) -> Verdict {
        if self.listing.delete(case, row).await? {
            self.held.retain(|other| other.id != row.id);
        }
        Ok(())
    }

    async fn change(&mut self, case: &Case, row: &Row) -> Verdict {
        let place = self.listing.change(case, row).await?;
        if let Some(there) = self.held.iter_mut().find(|there| there.id == row.id) {
            there.place = place;
        }
        self.held.sort_by_key(|row| row.place);
        Ok(())
    }

    /// The rows after a place.
    fn after(&self, place: Option<(i64, i64)>) -> &[Row] {
        let seen = self.held.partition_point(|row| place.is_some_and(|place| row.place <= place));
        &self.held[seen..]
    }

    /// The page after a cursor, by way of the cursor's text.
    async fn page(
        &self,
        case: &Case,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<String>, Failure> {
        let cursor = cursor.map(|cursor| cursor.to_string().parse()).transpose()?;
        self.listing.page(case, &self.scope, limit, cursor).await
    }
}

fn ids(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

async fn under_change(case: &Case, listing: Listing, scope: Scope) -> Verdict {
    let mut rows = Rows::new(case, listing, &scope, 18).await?;
    let (mut cursor, mut place) = (None, None);
    for number in 1.. {
        let page = rows.page(case, LIMIT, cursor.as_ref()).await?;
        let rest = rows.after(place);
        let expected = &rest[..rest.len().min(LIMIT)];
        must_equal!(page.items, ids(expected), "page {number} of {listing:?}");
        must_equal!(page.next.is_some(), rest.len() > LIMIT, "that another follows page {number}");
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
        let (first, last) = (expected[0].clone(), expected[LIMIT - 1].clone());
        let unseen = rest[LIMIT].clone();
        let changed = [expected[1].clone(), rest.get(LIMIT + 1).unwrap_or(&expected[1]).clone()];
        place = Some(last.place);
        if number <= 2 {
            // Some seen go, the one that the cursor stands on with them, and one that was to come.
            for row in [first, last, unseen] {
                rows.delete(case, &row).await?;
            }
            for row in changed {
                rows.change(case, &row).await?;
            }
            for time in [0, 40, 90] {
                rows.insert(case, time).await?;
            }
        }
    }
    let whole = rows.page(case, usize::MAX, None).await?;
    must_equal!(whole.items, ids(&rows.held), "the whole of {listing:?}");
    Ok(())
}

async fn scans_under_change(case: &Case, kinds: &[RecordKind], scope: Scope) -> Verdict {
    for kind in kinds {
        under_change(case, Listing::Scan(*kind), scope.clone()).await?;
    }
    Ok(())
}

async fn limits(case: &Case, listing: Listing, scope: Scope) -> Verdict {
    let rows = Rows::new(case, listing, &scope, 5).await?;
    let all = ids(&rows.held);
    let sizes = [0, 1, all.len() - 1, all.len(), all.len() + 1, usize::MAX];
    for limit in sizes {
        let page = rows.page(case, limit, None).await?;
        must_equal!(page.items, all[..limit.min(all.len())], "{listing:?} at limit {limit}");
        let more = limit > 0 && limit < all.len();
        must_equal!(page.next.is_some(), more, "that more of {listing:?} follows at limit {limit}");
    }
    // The same limits on the rows after the first.
    let first = rows.page(case, 1, None).await?.next;
    for limit in sizes {
        let page = rows.page(case, limit, first.as_ref()).await?;
        let rest = &all[1..];
        must_equal!(page.items, rest[..limit.min(rest.len())], "{listing:?} after the first row");
    }
    Ok(())
}

/// Rows of times at which a number without a sign, of too few bits or of whole seconds goes wrong.
async fn of_all_times(case: &Case, listing: Listing) -> Verdict {
    const SECOND: i64 = 1_000_000;
    let times = [
        0,
        -1,
        Timestamp::MAX.as_micros(),
        -SECOND - 1,
        i64::from(u32::MAX) * SECOND,
        Timestamp::MIN.as_micros(),
        1,
        -1,
        -SECOND,
        i64::from(i32::MAX) * SECOND + 1,
        i64::from(i32::MIN) * SECOND,
        Timestamp::MIN.as_micros() + 1,
        Timestamp::MAX.as_micros() - 1,
        Timestamp::MIN.as_micros(),
    ];
    let mut rows = Rows::new(case, listing, &Scope::All, 0).await?;
    for time in times {
        rows.insert(case, time - Case::at(0).as_micros()).await?;
    }
    let all = ids(&rows.held);
    for limit in [1, 3, usize::MAX] {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = rows.page(case, limit, cursor.as_ref()).await?;
            seen.extend(page.items);
            cursor = page.next;
            if cursor.is_none() || seen.len() > all.len() {
                break;
            }
        }
        must_equal!(seen, all, "{listing:?} in pages of {limit}");
    }
    Ok(())
}

async fn after_reopening(case: &mut Case, listings: &[Listing]) -> Verdict {
    for listing in listings {
        let rows = Rows::new(case, *listing, &Scope::All, 9).await?;
        let first = rows.page(case, LIMIT, None).await?;
        case.reopen().await?;
        let second = rows.page(case, usize::MAX, first.next.as_ref()).await?;
        let seen = [first.items, second.items].concat();
        must_equal!(seen, ids(&rows.held), "{listing:?}, reopened between the pages");
    }
    Ok(())
}

macro_rules! clauses {
    ($($name:ident = $test:ident($($argument:expr),*);)*) => {$(
        pub(crate) async fn $name(case: &mut Case) -> Verdict {
            $test(case, $($argument),*).await
        }
    )*};
}

const STARTED: Listing = Listing::Sessions(SessionOrder::Started);
const ACTIVE: Listing = Listing::Sessions(SessionOrder::Active);
const TURNS: Listing = Listing::Turns { newest_first: false };
const NEWEST_TURNS: Listing = Listing::Turns { newest_first: true };
const EPISODES: Listing = Listing::Episodes { only_open: false };
const OPEN_EPISODES: Listing = Listing::Episodes { only_open: true };
const SCANNED_SESSIONS: &[RecordKind] = &[RecordKind::Session, RecordKind::Turn, RecordKind::Step];
const SCANNED_REFLECTIONS: &[RecordKind] =
    &[RecordKind::Note, RecordKind::State, RecordKind::Audit];

const fn scan(kind: RecordKind) -> Listing {
    Listing::Scan(kind)
}

/// The workspace that two thirds of the rows are in.
fn one() -> Scope {
    Scope::from("")
}

clauses! {
    started_change = under_change(STARTED, Scope::All);
    active_change = under_change(ACTIVE, Scope::All);
    turns_change = under_change(TURNS, Scope::All);
    newest_turns_change = under_change(NEWEST_TURNS, Scope::All);
    steps_change = under_change(Listing::Steps, Scope::All);
    episodes_change = under_change(EPISODES, Scope::All);
    open_episodes_change = under_change(OPEN_EPISODES, Scope::All);
    notes_change = under_change(Listing::Notes, Scope::All);
    states_change = under_change(Listing::States, Scope::All);
    audit_change = under_change(Listing::Audit, one());
    all_audit_change = under_change(Listing::Audit, Scope::All);
    scanned_sessions_change = scans_under_change(SCANNED_SESSIONS, Scope::All);
    scanned_episodes_change = scans_under_change(&[RecordKind::Episode], Scope::All);
    scanned_reflections_change = scans_under_change(SCANNED_REFLECTIONS, Scope::All);

    started_scope = under_change(STARTED, one());
    active_scope = under_change(ACTIVE, one());
    episodes_scope = under_change(EPISODES, one());
    open_episodes_scope = under_change(OPEN_EPISODES, one());
    notes_scope = under_change(Listing::Notes, one());
    states_scope = under_change(Listing::States, one());
    scanned_sessions_scope = scans_under_change(SCANNED_SESSIONS, one());
    scanned_episodes_scope = scans_under_change(&[RecordKind::Episode], one());
    scanned_reflections_scope = scans_under_change(SCANNED_REFLECTIONS, one());

    started_limits = limits(STARTED, Scope::All);
    active_limits = limits(ACTIVE, Scope::All);
    turns_limits = limits(TURNS, Scope::All);
    newest_turns_limits = limits(NEWEST_TURNS, Scope::All);
    steps_limits = limits(Listing::Steps, Scope::All);
    episodes_limits = limits(EPISODES, Scope::All);
    notes_limits = limits(Listing::Notes, Scope::All);
    states_limits = limits(Listing::States, Scope::All);
    audit_limits = limits(Listing::Audit, one());
    all_audit_limits = limits(Listing::Audit, Scope::All);
    scanned_turns_limits = limits(scan(RecordKind::Turn), Scope::All);
    scanned_episodes_limits = limits(scan(RecordKind::Episode), Scope::All);
    scanned_notes_limits = limits(scan(RecordKind::Note), Scope::All);

    started_times = of_all_times(STARTED);
    active_times = of_all_times(ACTIVE);
    episodes_times = of_all_times(EPISODES);
    notes_times = of_all_times(Listing::Notes);

    sessions_reopened = after_reopening(&[STARTED, TURNS, scan(RecordKind::Step)]);
    episodes_reopened = after_reopening(&[EPISODES]);
    reflective_reopened = after_reopening(&[Listing::Notes, Listing::States, Listing::Audit]);
}

/// Scans on after a cursor, when the last rows have gone, the one that it stands on with them, and `e`
/// has come.
async fn scanned_on(case: &Case, scan: Scan, cursor: Option<Cursor>) -> Verdict {
    let rest = case.backend().scan(&scan.after(cursor)).await?.items;
    let rest: Vec<&str> = rest.iter().map(Record::id).collect();
    must_equal!(rest, ["e"], "the rest of the scan");
    Ok(())
}

pub(crate) async fn new_episodes_follow(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    for id in ["a", "b", "c", "d"] {
        store.add_episode(NewEpisode::new("", "").id(id)).await?;
    }
    let (list, scan) =
        (ListEpisodes::new().limit(3_usize), Scan::new(RecordKind::Episode).limit(3_usize));
    let (listed, scanned) = (store.episodes(&list).await?, case.backend().scan(&scan).await?);
    for id in ["d", "c"] {
        store.delete_episode(&id.into()).await?;
    }
    let new = store.add_episode(NewEpisode::new("", "").id("e")).await?;
    let rest = store.episodes(&list.after(listed.next)).await?.items;
    must_equal!(rest, [new], "the rest of the listing");
    scanned_on(case, scan, scanned.next).await
}

pub(crate) async fn new_notes_follow(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    for id in ["a", "b", "c", "d"] {
        store.add_note(NewNote::new("").id(id)).await?;
    }
    let (list, scan) =
        (ListNotes::new().limit(3_usize), Scan::new(RecordKind::Note).limit(3_usize));
    let (listed, scanned) = (store.notes(&list).await?, case.backend().scan(&scan).await?);
    for id in ["d", "c"] {
        store.delete_note(&id.into()).await?;
    }
    let new = store.add_note(NewNote::new("").id("e")).await?;
    let rest = store.notes(&list.after(listed.next)).await?.items;
    must_equal!(rest, [new], "the rest of the listing");
    scanned_on(case, scan, scanned.next).await
}

pub(crate) async fn new_turns_follow(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    for id in ["a", "b", "c", "d"] {
        store.record_turn(NewTurn::new("s", "user", "").id(id)).await?;
    }
    let scan = Scan::new(RecordKind::Turn).limit(3_usize);
    let scanned = case.backend().scan(&scan).await?;
    for id in ["d", "c"] {
        store.delete_turn(&id.into()).await?;
    }
    store.record_turn(NewTurn::new("s", "user", "").id("e")).await?;
    scanned_on(case, scan, scanned.next).await
}

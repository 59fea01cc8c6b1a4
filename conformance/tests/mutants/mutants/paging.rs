//! Listings: pages, limits, cursors.

use std::{
    cmp::Reverse,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use memkeep_core::*;

use super::listings::listings;
use crate::mutant::{Mutant, mutant};

/// The place of the query's cursor, changed or not, as a cursor of the query's own listing.
macro_rules! adopted {
    ($list:ident) => {
        adopted!($list, |place| place)
    };
    ($list:ident, $change:expr) => {{
        let place = $list.after.as_ref().map(|cursor| cursor.position().clone());
        $list.after = None;
        place.map($change).map(|place| $list.window().unwrap().cursor(place))
    }};
}

/// The place of a row, not before 1970.
fn since_1970(place: Position) -> Position {
    match place {
        Position::Time(at, n) => Position::Time(at.max(Timestamp::default()), n),
        other => other,
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("the last episode of a later page is left out", &["PAGE-NEW-01"], |d| {
        d.after(|list: &ListEpisodes, page: &mut Page<Episode>| {
            if list.after.is_some() && page.items.len() == 1 {
                page.items.clear();
            }
        })
    }),
    mutant("the last record of a later scan is left out", &["PAGE-NEW-02", "PAGE-NEW-03"], |d| {
        d.after(|scan: &Scan, page: &mut Page<Record>| {
            if scan.after.is_some() && page.items.len() == 1 {
                page.items.clear();
            }
        })
    }),
    mutant(
        "cursors count rows",
        &[
            "PAGE-CHANGE-01",
            "PAGE-CHANGE-06",
            "PAGE-CHANGE-07",
            "PAGE-CHANGE-08",
            "PAGE-CHANGE-09",
            "PAGE-CHANGE-13",
            "PAGE-CHANGE-12",
            "PAGE-SCOPE-02",
            "PAGE-CHANGE-14",
            "PAGE-SCOPE-03",
            "PAGE-SCOPE-05",
            "PAGE-SCOPE-04",
            "PAGE-SCOPE-06",
            "PAGE-SCOPE-08",
            "PAGE-SCOPE-07",
            "PAGE-SCOPE-09",
            "PAGE-CURSOR-02",
            "PAGE-CURSOR-03",
        ],
        |d| listings!(d, counted),
    ),
    mutant(
        "a page gives one row too few",
        &[
            "PAGE-CHANGE-01",
            "PAGE-CHANGE-07",
            "PAGE-CHANGE-08",
            "PAGE-CHANGE-09",
            "PAGE-CHANGE-11",
            "PAGE-CHANGE-13",
            "PAGE-CHANGE-12",
            "PAGE-CHANGE-14",
            "PAGE-SCOPE-03",
            "PAGE-SCOPE-05",
            "PAGE-SCOPE-04",
            "PAGE-SCOPE-06",
            "PAGE-SCOPE-08",
            "PAGE-LIMIT-01",
            "PAGE-LIMIT-02",
            "PAGE-SCOPE-09",
            "PAGE-LIMIT-03",
            "PAGE-LIMIT-04",
            "PAGE-LIMIT-05",
            "PAGE-LIMIT-06",
            "PAGE-LIMIT-07",
            "PAGE-LIMIT-08",
            "PAGE-LIMIT-09",
            "PAGE-LIMIT-10",
            "PAGE-LIMIT-11",
            "PAGE-LIMIT-12",
            "PAGE-LIMIT-13",
            "PAGE-REOPEN-02",
            "PAGE-REOPEN-03",
            "PAGE-REOPEN-01",
        ],
        |d| listings!(d, after | _q, page | drop((page.items.len() > 1).then(|| page.items.pop()))),
    ),
    mutant(
        "a limit is one row too many",
        &[
            "PAGE-CHANGE-02",
            "PAGE-CHANGE-11",
            "PAGE-LIMIT-02",
            "PAGE-LIMIT-03",
            "PAGE-LIMIT-04",
            "PAGE-LIMIT-05",
            "PAGE-LIMIT-06",
            "PAGE-LIMIT-07",
            "PAGE-LIMIT-08",
            "PAGE-LIMIT-09",
            "PAGE-LIMIT-10",
            "PAGE-LIMIT-11",
            "PAGE-LIMIT-12",
            "PAGE-LIMIT-13",
        ],
        |d| listings!(d, before | list | list.limit = list.limit.saturating_add(1)),
    ),
    mutant("a limit of 0 is no limit", &["PAGE-LIMIT-01"], |d| {
        listings!(
            d,
            before | list | {
                if list.limit == 0 {
                    list.limit = usize::MAX;
                }
            }
        )
    }),
    mutant(
        "the largest limit overflows",
        &["PAGE-CHANGE-02", "PAGE-CHANGE-03", "PAGE-REOPEN-02", "PAGE-REOPEN-03", "PAGE-REOPEN-01"],
        |d| listings!(d, before | list | list.limit = list.limit.wrapping_add(1).saturating_sub(1)),
    ),
    mutant("a listing never goes on", &["PAGE-CHANGE-03", "PAGE-CHANGE-04"], |d| {
        listings!(d, after | _q, page | page.next = None)
    }),
    mutant("a cursor is always told", &["PAGE-CHANGE-04", "PAGE-CHANGE-05"], |d| {
        listings!(
            d,
            after | list,
            page | {
                if page.next.is_none() && !page.items.is_empty() {
                    page.next = Some(list.window().unwrap().cursor(Position::Insertion(0)));
                }
            }
        )
    }),
    mutant(
        "a cursor is taken for one of the listing if its rows are placed in the same way",
        &["PAGE-CURSOR-01", "PAGE-CURSOR-02", "PAGE-CURSOR-03"],
        |d| listings!(d, before | list | list.after = adopted!(list)),
    ),
    mutant("a cursor of another session is taken", &["PAGE-CURSOR-01"], |d| {
        d.before(|list: &mut ListTurns| {
            let session = list.session.clone();
            for other in ["s0", "s1", "s0w", "s1w"] {
                list.session = other.into();
                let of_other = list.window().is_ok();
                list.session = session.clone();
                if of_other {
                    list.after = adopted!(list);
                }
            }
        })
    }),
    mutant("a cursor of open episodes is taken by all", &["PAGE-CURSOR-02"], |d| {
        d.before(|list: &mut ListEpisodes| {
            if list.open.is_none() && list.clone().open(true).window().is_ok() {
                list.after = adopted!(list);
            }
        })
    }),
    mutant("a cursor under a prefix is taken under another", &["PAGE-CURSOR-03"], |d| {
        d.before(|list: &mut ListStates| {
            if list.clone().prefix("k").window().is_ok() {
                list.after = adopted!(list);
            }
        })
    }),
    mutant("a cursor is refused under another limit", &["PAGE-CURSOR-04"], |d| {
        let begun = AtomicUsize::new(0);
        d.result(move |scan: &Scan, page: &mut Result<Page<Record>>| {
            if scan.after.is_none() {
                begun.store(scan.limit, SeqCst);
            } else if begun.load(SeqCst) != scan.limit {
                *page = Err(Error::invalid("cursor", "not a cursor of this listing"));
            }
        })
    }),
    mutant("the cursor of another listing begins anew", &["PAGE-CURSOR-01"], |d| {
        listings!(
            d,
            result | _q,
            result | {
                if result.as_ref().is_err_and(|error| error.get("field") == Some("cursor")) {
                    *result = Ok(Page::last(Vec::new()));
                }
            }
        )
    }),
    mutant(
        "the cursor of another listing is not looked at for no rows",
        &["PAGE-CURSOR-01"],
        |d| {
            listings!(
                d,
                result | list,
                result | {
                    if list.limit == 0 && list.after.is_some() {
                        *result = Ok(Page::last(Vec::new()));
                    }
                }
            )
        },
    ),
    mutant("cursors are forgotten", &["PAGE-CHANGE-05", "PAGE-CHANGE-06"], |d| {
        listings!(d, before | list | list.after = None)
    }),
    mutant(
        "times have no sign",
        &["PAGE-TIME-01", "PAGE-TIME-02", "PAGE-TIME-03", "PAGE-TIME-04"],
        |d| {
            let order = |at: Timestamp| at.as_micros().cast_unsigned();
            d.after(move |list: &ListSessions, page: &mut Page<Session>| {
                page.items.sort_by_key(|session| match list.order {
                    SessionOrder::Started => Reverse(order(session.started_at)),
                    SessionOrder::Active => Reverse(order(session.last_active)),
                });
            })
            .after(move |_: &ListEpisodes, page: &mut Page<Episode>| {
                page.items.sort_by_key(|episode| order(episode.created_at));
            })
            .after(move |_: &ListNotes, page: &mut Page<Note>| {
                page.items.sort_by_key(|note| order(note.created_at));
            })
        },
    ),
    mutant(
        "cursors know no time before 1970",
        &["PAGE-TIME-01", "PAGE-TIME-02", "PAGE-TIME-03", "PAGE-TIME-04"],
        |d| listings!(d, before | list | list.after = adopted!(list, since_1970)),
    ),
];

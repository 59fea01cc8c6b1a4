//! A listing that is given any text for a cursor, or a cursor of its own with any place in it, answers
//! with what follows that place, or refuses it; all backends alike.

#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use data_encoding::BASE64URL_NOPAD;
use libfuzzer_sys::fuzz_target;
use memkeep::{
    Batch, Cursor, ErrorKind, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op,
    PutState, Scope, Timestamp,
};
use memkeep_fuzz::{Listing, Store, inmem, run, sqlite};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    listing: u8,
    in_workspace: bool,
    limit: u8,
    cursor: Hostile<'a>,
}

#[derive(Arbitrary, Debug)]
enum Hostile<'a> {
    Text(&'a str),
    /// Bytes in the place of a cursor's own, from its version on.
    Bytes(&'a [u8]),
    /// Another place in a cursor of this listing.
    Place(&'a [u8]),
    /// The same, well formed.
    Number {
        tag: u8,
        numbers: [u64; 2],
    },
    Key {
        workspace: &'a str,
        key: &'a [u8],
    },
    /// A row's own place, changed a little.
    Near {
        row: u8,
        byte: u8,
        by: u8,
    },
}

const SESSION: &str = "ses-0";
const TEXTS: [&str; 4] = ["", "a", "a\0", "\u{10ffff}z"];

async fn fill(store: &Store) {
    let mut batch = Batch::new();
    for (n, workspace) in ["acme", "acme", "", "acme\0", "z"].into_iter().enumerate() {
        let at = [0, Timestamp::MIN.as_micros(), 0, Timestamp::MAX.as_micros(), 1][n];
        let at = Timestamp::from_micros(at).expect("within bounds");
        let session = format!("ses-{n}");
        let id = |kind: &str, m: usize| format!("{kind}-{n}-{m}");
        let new = NewSession::new().id(&*session).workspace(workspace);
        batch.push(Op::StartSession(new.created_at(at).started_at(at)));
        for (m, text) in TEXTS.into_iter().enumerate() {
            batch.push(NewTurn::new(&*session, "user", text).id(id("trn", m)).created_at(at));
            batch.push(NewStep::new(&*session, "s", "ok").id(id("stp", m)).created_at(at));
            let episode = NewEpisode::new(text, text).id(id("ep", m));
            batch.push(episode.workspace(workspace).created_at(at));
            let note = NewNote::new(text).id(id("nte", m));
            batch.push(note.workspace(workspace).created_at(at));
            batch.push(PutState::new(text, m).workspace(workspace));
            let audit = NewAudit::new("a", "b").id(id("aud", m));
            batch.push(audit.workspace(workspace).created_at(at));
        }
    }
    store.commit(batch).await.expect("the rows are stored");
}

/// The cursors after each row but the last, and all rows.
async fn listed(store: &Store, listing: &Listing, scope: &Scope) -> (Vec<Cursor>, Vec<String>) {
    let store = store.as_ref();
    let all =
        listing.page(store, scope, usize::MAX, None).await.expect("all rows are listed").items;
    let mut cursors = Vec::new();
    for limit in 1..all.len() {
        cursors.extend(listing.page(store, scope, limit, None).await.expect("a page").next);
    }
    (cursors, all)
}

struct Known {
    listing: Listing,
    scope: Scope,
    cursors: Vec<Cursor>,
    rows: Vec<String>,
}

static STORES: OnceLock<([Store; 2], Vec<Known>)> = OnceLock::new();

fn stores() -> &'static ([Store; 2], Vec<Known>) {
    STORES.get_or_init(|| {
        run(async {
            let stores = [inmem().await, sqlite().await];
            for store in &stores {
                fill(store).await;
            }
            let mut known = Vec::new();
            for listing in Listing::all(SESSION) {
                for scope in [Scope::All, Scope::from("acme")] {
                    let (cursors, rows) = listed(&stores[0], &listing, &scope).await;
                    assert_eq!(
                        (&cursors, &rows),
                        (&listed(&stores[1], &listing, &scope).await.0, &rows)
                    );
                    assert_eq!(cursors.len() + 1, rows.len(), "{listing:?}");
                    known.push(Known { listing: listing.clone(), scope, cursors, rows });
                }
            }
            (stores, known)
        })
    })
}

fn text(hostile: &Hostile<'_>, known: &Known) -> String {
    let own = BASE64URL_NOPAD.decode(known.cursors[0].to_string().as_bytes()).expect("a cursor");
    // The version, and what tells the listing.
    let own = &own[..9];
    let bytes = match hostile {
        Hostile::Text(text) => return (*text).to_owned(),
        Hostile::Bytes(bytes) => bytes.to_vec(),
        Hostile::Place(place) => [own, place].concat(),
        Hostile::Number { tag, numbers } => {
            let tag = b"itn"[usize::from(tag % 3)];
            let numbers = if tag == b't' { &numbers[..] } else { &numbers[1..] };
            let numbers: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
            [own, &[tag], &numbers].concat()
        }
        Hostile::Key { workspace, key } => {
            let length = (workspace.len() as u64).to_be_bytes();
            [own, b"k", &length, workspace.as_bytes(), key].concat()
        }
        Hostile::Near { row, byte, by } => {
            let cursor = &known.cursors[usize::from(*row) % known.cursors.len()];
            let mut bytes =
                BASE64URL_NOPAD.decode(cursor.to_string().as_bytes()).expect("a cursor");
            let place = bytes.len() - own.len();
            let changed = own.len() + usize::from(*byte) % place;
            bytes[changed] = bytes[changed].wrapping_add(*by);
            bytes
        }
    };
    BASE64URL_NOPAD.encode(&bytes)
}

fuzz_target!(|input: Input<'_>| {
    let (stores, all) = stores();
    let known =
        &all[(usize::from(input.listing) * 2 + usize::from(input.in_workspace)) % all.len()];
    let text = text(&input.cursor, known);
    let cursor = match text.parse::<Cursor>() {
        Ok(cursor) => cursor,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            return;
        }
    };
    assert_eq!(cursor.to_string(), text, "a cursor has one text");
    let limit = usize::from(input.limit);
    let mut answers = Vec::new();
    for store in stores {
        let page =
            run(known.listing.page(store.as_ref(), &known.scope, limit, Some(cursor.clone())));
        if let Ok(page) = &page {
            let rows = &known.rows;
            let from = page.items.first().map_or(rows.len(), |first| {
                rows.iter().position(|row| row == first).expect("a row of the listing")
            });
            let to = from + page.items.len();
            assert_eq!(rows[from..to], page.items, "rows without a gap");
            let is_full = page.items.len() == limit;
            assert!(is_full || to == rows.len(), "no row is left out");
            // A limit of nothing has no place to go on from.
            let more = limit > 0 && to < rows.len();
            assert_eq!(page.next.as_ref(), more.then(|| &known.cursors[to - 1]));
        }
        answers.push(page.map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
            error.kind()
        }));
    }
    assert_eq!(answers[0], answers[1], "{:?}", known.listing);
});

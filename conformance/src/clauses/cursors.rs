//! Cursors: each is of one listing, under any limit.

use memkeep_core::{
    Batch, Cursor, ErrorKind, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op,
    PutState, RecordKind, Workspace,
};
use serde_json::json;

use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal},
    model::{Listing, Of, page},
};

const WORKSPACES: [&str; 2] = ["", "w"];
/// How many rows a listing has at least.
const ROWS: usize = 3;

/// A session, and how many there are in each workspace: they are listed too.
fn session(workspace: &str, n: usize) -> String {
    format!("s{n}{workspace}")
}

/// Rows for every listing of the kinds that the backend keeps.
async fn fill(case: &Case) -> Verdict {
    let handle = case.handle();
    let mut batch = Batch::new();
    for (workspace, n) in WORKSPACES.into_iter().flat_map(|w| (0..ROWS).map(move |n| (w, n))) {
        if handle.sessions.is_some() {
            let id = session(workspace, n);
            batch.push(Op::StartSession(NewSession::new().id(&id[..]).workspace(workspace)));
            for _ in 0..ROWS {
                batch.push(NewTurn::new(&id[..], "user", "text"));
                batch.push(NewStep::new(&id[..], "look", "ok"));
            }
        }
        if handle.episodic.is_some() {
            for open in [true, false] {
                batch.push(NewEpisode::new("problem", "").workspace(workspace).open(open));
            }
        }
        if handle.reflective.is_some() {
            batch.push(NewNote::new("lesson").workspace(workspace));
            batch.push(PutState::new(format!("k{n}"), json!(n)).workspace(workspace));
            batch.push(NewAudit::new("act", "allow").workspace(workspace));
        }
    }
    case.backend().commit(batch).await?;
    Ok(())
}

/// The listings of some kinds of records: in every order, under every filter, of several owners.
fn listings(kinds: &[RecordKind]) -> Vec<Listing> {
    let mut all = Vec::new();
    let scopes = [None, Some(WORKSPACES[0]), Some(WORKSPACES[1])];
    for (kind, scope) in kinds.iter().flat_map(|kind| scopes.map(|scope| (*kind, scope))) {
        let sessions = || {
            let seen =
                WORKSPACES.into_iter().filter(move |w| scope.is_none_or(|scope| scope == *w));
            seen.flat_map(|w| [session(w, 0), session(w, 1)])
        };
        let mut of = vec![Of::Scan(kind)];
        match kind {
            RecordKind::Session => {
                of.extend([false, true].map(|by_activity| Of::Sessions { by_activity }));
            }
            RecordKind::Turn => of.extend(sessions().flat_map(|session| {
                [false, true]
                    .map(|newest_first| Of::Turns { session: session.clone(), newest_first })
            })),
            RecordKind::Step => of.extend(sessions().map(|session| Of::Steps { session })),
            RecordKind::Episode => {
                of.extend([None, Some(true), Some(false)].map(|open| Of::Episodes { open }));
            }
            RecordKind::Note => of.push(Of::Notes),
            RecordKind::State => {
                of.extend(["", "k"].map(|prefix| Of::States { prefix: prefix.to_owned() }));
            }
            RecordKind::Audit => of.push(Of::Audit),
        }
        let scope = scope.map(Workspace::new);
        all.extend(of.into_iter().map(|of| Listing { of, scope: scope.clone(), limit: 1 }));
    }
    all
}

/// Each listing with the cursor after its first row.
async fn begun(case: &Case, listings: Vec<Listing>) -> Result<Vec<(Listing, Cursor)>, Failure> {
    let mut begun = Vec::new();
    for listing in listings {
        let next = page(&case.handle(), &listing, None).await?.next;
        let expected = format!("the first of several rows of {listing:?} has a cursor");
        begun.push((listing, next.ok_or_else(|| Failure::new(expected, "it has none"))?));
    }
    Ok(begun)
}

/// Listings of some kinds refuse the cursor of every other listing.
async fn foreign(case: &Case, kinds: &[RecordKind]) -> Verdict {
    fill(case).await?;
    let cursors = begun(case, listings(&case.backend().info().kinds)).await?;
    for (at, listing) in listings(kinds).into_iter().enumerate() {
        for (from, (of, cursor)) in cursors.iter().enumerate() {
            if format!("{of:?}") == format!("{listing:?}") {
                continue;
            }
            let limit = [0, 1, usize::MAX][(at + from) % 3];
            let asked = Listing { limit, ..listing.clone() };
            let what = format!("{asked:?} refuses a cursor of {of:?} as InvalidArgument");
            match page(&case.handle(), &asked, Some(cursor.clone())).await {
                Err(error) if error.kind() == ErrorKind::InvalidArgument => {
                    must!(
                        error.get("field") == Some("cursor"),
                        error,
                        "the error names the field: cursor"
                    );
                }
                answer => return Err(Failure::new(what, format!("{answer:?}"))),
            }
        }
    }
    Ok(())
}

pub(crate) async fn sessions_foreign(case: &mut Case) -> Verdict {
    foreign(case, &[RecordKind::Session, RecordKind::Turn, RecordKind::Step]).await
}

pub(crate) async fn episodes_foreign(case: &mut Case) -> Verdict {
    foreign(case, &[RecordKind::Episode]).await
}

pub(crate) async fn reflective_foreign(case: &mut Case) -> Verdict {
    foreign(case, &[RecordKind::Note, RecordKind::State, RecordKind::Audit]).await
}

pub(crate) async fn any_limit(case: &mut Case) -> Verdict {
    fill(case).await?;
    for (listing, cursor) in begun(case, listings(&case.backend().info().kinds)).await? {
        let whole = Listing { limit: usize::MAX, ..listing };
        let rows = page(&case.handle(), &whole, None).await?.items;
        for limit in [0, 1, 2, rows.len(), usize::MAX] {
            let asked = Listing { limit, ..whole.clone() };
            let told = page(&case.handle(), &asked, Some(cursor.clone())).await?.items;
            let rest = &rows[1..];
            must_equal!(told, rest[..limit.min(rest.len())], "{asked:?}, begun at limit 1");
        }
    }
    Ok(())
}

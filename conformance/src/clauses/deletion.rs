//! Deleting a session: nothing of it is left.

use std::collections::BTreeMap;

use memkeep_core::{
    Batch, Counts, FindTurns, ListSessions, ListSteps, ListTurns, NewSession, NewStep, NewTurn, Op,
    RecallQuery, RecordKind, Scan, Scope, recall::Scorer,
};

use crate::{
    Case, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// A session of two turns and a step; its records' ids start with its own.
async fn furnish(case: &Case, session: &str) -> Verdict {
    let tags = BTreeMap::from([("tag".to_owned(), Some("value".to_owned()))]);
    let turn =
        |n: &str| NewTurn::new(session, "user", "zebra crossing").id(format!("{session}{n}"));
    let batch = Batch::new()
        .with(Op::StartSession(NewSession::new().id(session).workspace(session)))
        .with(turn("1").tags(tags).tokens(5))
        .with(turn("2"))
        .with(NewStep::new(session, "look", "ok").id(format!("{session}3")));
    case.backend().commit(batch).await?;
    Ok(())
}

async fn nothing_is_left(case: &Case) -> Verdict {
    let store = case.sessions()?;
    must_equal!(store.session(&Scope::All, &"gone".into()).await?, None, "the session");
    for id in ["gone1", "gone2"] {
        must_equal!(store.turn(&Scope::All, &id.into()).await?, None, "the turn {id:?}");
    }
    must_equal!(store.step(&Scope::All, &"gone3".into()).await?, None, "the step");
    must_refuse!(store.turns(&ListTurns::new("gone")).await, NotFound, "its turns");
    must_refuse!(store.steps(&ListSteps::new("gone")).await, NotFound, "its steps");
    let sessions = store.sessions(&ListSessions::new()).await?.items;
    must_equal!(
        sessions.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(),
        ["kept"],
        "the sessions"
    );
    for kind in [RecordKind::Session, RecordKind::Turn, RecordKind::Step] {
        let scanned = store.scan(&Scan::new(kind)).await?.items;
        let kept = scanned.iter().all(|record| record.workspace().as_str() == "kept");
        must!(
            kept && !scanned.is_empty(),
            scanned,
            "the {} records are those of the other session",
            kind.as_str()
        );
    }
    let left = Counts { sessions: 1, turns: 2, steps: 1, ..Counts::default() };
    must_equal!(store.stats(&Scope::All).await?.counts, left, "what is counted");
    must_equal!(store.stats(&Scope::from("gone")).await?.counts, Counts::default(), "of it");
    let workspaces = store.workspaces().await?;
    must_equal!(workspaces.len(), 1, "the workspaces");
    case.verify().await
}

async fn nothing_is_found(case: &Case) -> Verdict {
    let store = case.sessions()?;
    let found = store.find_turns(&FindTurns::new("zebra")).await?;
    let found: Vec<&str> = found.iter().map(|t| t.id.as_str()).collect();
    must_equal!(found, ["kept1", "kept2"], "the turns found");
    for scorer in [Scorer::Overlap, Scorer::Bm25, Scorer::Context] {
        for (query, hits) in [
            (RecallQuery::new("zebra"), 2),
            (RecallQuery::new("zebra").tag("tag".to_owned()), 1),
            (RecallQuery::new("zebra").session(memkeep_core::SessionId::from("gone")), 0),
            (RecallQuery::new("zebra").scope("gone"), 0),
        ] {
            let query = query.k(usize::MAX).scorer(scorer);
            let answer = store.recall_turns(&query).await?;
            let of_kept = answer.iter().all(|hit| hit.record.session.as_str() == "kept");
            must_equal!((answer.len(), of_kept), (hits, true), "the hits of {query:?}");
        }
    }
    Ok(())
}

async fn delete(case: &Case) -> Verdict {
    furnish(case, "gone").await?;
    furnish(case, "kept").await?;
    // What is counted before is not what is counted after.
    let store = case.sessions()?;
    must_equal!(store.workspaces().await?.len(), 2, "the workspaces before");
    must_equal!(store.stats(&Scope::All).await?.counts.total(), 8, "what is counted before");
    must_equal!(store.stats(&Scope::from("gone")).await?.counts.total(), 4, "of it");
    let deleted = case.sessions()?.delete_session(&"gone".into()).await?;
    let counts = Counts { sessions: 1, turns: 2, steps: 1, ..Counts::default() };
    must_equal!((deleted.existed, deleted.counts), (true, counts), "what was deleted");
    Ok(())
}

pub(crate) async fn leaves_no_record(case: &mut Case) -> Verdict {
    delete(case).await?;
    nothing_is_left(case).await
}

pub(crate) async fn leaves_nothing_to_find(case: &mut Case) -> Verdict {
    delete(case).await?;
    nothing_is_found(case).await
}

pub(crate) async fn leaves_nothing_after_reopening(case: &mut Case) -> Verdict {
    delete(case).await?;
    case.reopen().await?;
    nothing_is_left(case).await?;
    nothing_is_found(case).await
}

pub(crate) async fn same_id_again(case: &mut Case) -> Verdict {
    furnish(case, "s").await?;
    let store = case.sessions()?;
    store.end_session(&"s".into()).await?;
    store.delete_session(&"s".into()).await?;
    let new = NewSession::new().id("s").workspace("elsewhere").model("other");
    let session = store.start_session(new).await?;
    must_equal!((session.turn_count, session.next_turn, session.total_tokens), (0, 0, 0), "totals");
    must_equal!(store.turns(&ListTurns::new("s")).await?.items, [], "the new session's turns");
    // The ids of what went are free.
    let turn = store.record_turn(NewTurn::new("s", "tool", "something else").id("s1")).await?;
    let step = store.record_step(NewStep::new("s", "run", "ok").id("s3")).await?;
    must_equal!((turn.index, step.index, turn.tags.len()), (0, 0, 0), "the first turn and step");
    must_equal!(turn.workspace.as_str(), "elsewhere", "the turn's workspace");
    let found = store.find_turns(&FindTurns::new("zebra")).await?;
    must_equal!(found, [], "what the old session said");
    case.verify().await
}

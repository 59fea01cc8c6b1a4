//! The end of a handle.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
};

use memkeep_core::{
    ErrorKind, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates, ListSteps,
    ListTurns, Prune, RecallQuery, Result, Scan, Scope, Workspace, verify::Verify,
};
use tokio::{sync::Semaphore, task::JoinSet};

use super::bundle::{bundle, deletions, ids, kinds, whole_bundles};
use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal},
    one_op::one_op,
};

pub(crate) async fn closing_twice(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    store.backend.close().await?;
    store.backend.close().await?;
    Ok(())
}

fn closed<T: std::fmt::Debug>(call: &str, result: Result<T>) -> Verdict {
    match result {
        Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
        other => Err(Failure::new(format!("{call} after close: Closed"), format!("{other:?}"))),
    }
}

/// What need not exist at all.
fn closed_or_unsupported<T>(call: &str, result: Result<T>) -> Verdict {
    match result {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(()),
        other => closed(call, other.map(|_| ())),
    }
}

pub(crate) async fn later_calls_are_closed(case: &mut Case) -> Verdict {
    let store = case.handle();
    let backend = &store.backend;
    backend.commit(bundle(&store, "x")).await?;
    backend.close().await?;
    closed("commit", backend.commit(bundle(&store, "y")).await)?;
    for kind in kinds(&store) {
        closed("scan", backend.scan(&Scan::new(kind)).await)?;
    }
    closed("workspaces", backend.workspaces().await)?;
    closed("stats", backend.stats(&Scope::All).await)?;
    closed("prune", backend.prune(&Prune::new(case.now())).await)?;
    closed("verify", backend.verify(&Verify::new()).await)?;
    closed_or_unsupported("repair", backend.verify(&Verify::new().repair(true)).await)?;
    closed_or_unsupported("compact", backend.compact().await)?;
    closed_or_unsupported("backup", backend.backup(&case.place.path().join("copy")).await)?;
    closed_or_unsupported("subscribe", backend.subscribe())?;
    for op in [bundle(&store, "y").ops, deletions(&store, "x").ops].concat() {
        closed("commit_one", backend.commit_one(op.clone()).await)?;
        let call = format!("the call for {op:?}");
        closed(&call, one_op(&store, op).await)?;
    }
    if let Some(sessions) = &store.sessions {
        closed("session", sessions.session(&Scope::All, &"x".into()).await)?;
        closed("sessions", sessions.sessions(&ListSessions::new()).await)?;
        closed("turn", sessions.turn(&Scope::All, &"x".into()).await)?;
        closed("turns", sessions.turns(&ListTurns::new("x")).await)?;
        closed("last_turns", sessions.last_turns(&Scope::All, &"x".into(), 1).await)?;
        closed("step", sessions.step(&Scope::All, &"x".into()).await)?;
        closed("steps", sessions.steps(&ListSteps::new("x")).await)?;
        closed("find_turns", sessions.find_turns(&FindTurns::new("x")).await)?;
        closed("recall_turns", sessions.recall_turns(&RecallQuery::new("x")).await)?;
    }
    if let Some(episodic) = &store.episodic {
        closed("episode", episodic.episode(&Scope::All, &"x".into()).await)?;
        closed("episodes", episodic.episodes(&ListEpisodes::new()).await)?;
        closed("recall", episodic.recall(&RecallQuery::new("x")).await)?;
    }
    if let Some(reflective) = &store.reflective {
        closed("note", reflective.note(&Scope::All, &"x".into()).await)?;
        closed("notes", reflective.notes(&ListNotes::new()).await)?;
        closed("state", reflective.state(&Workspace::default(), "x").await)?;
        closed("states", reflective.states(&ListStates::new()).await)?;
        closed("audit_log", reflective.audit_log(&ListAudit::new()).await)?;
        closed("recall_notes", reflective.recall_notes(&RecallQuery::new("x")).await)?;
        closed("audit_head", reflective.audit_head(&Workspace::default()).await)?;
    }
    Ok(())
}

/// Runs `call` to its end, and tells when it has begun: when it has been polled once.
async fn telling<F: Future>(call: F, begun: &Semaphore) -> F::Output {
    let mut call = pin!(call);
    let first = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
    begun.add_permits(1);
    match first {
        Poll::Ready(answer) => answer,
        Poll::Pending => call.await,
    }
}

pub(crate) async fn accepted_batches_are_finished(case: &mut Case) -> Verdict {
    const COMMITS: u32 = 32;
    let store = case.handle();
    let begun = Arc::new(Semaphore::new(0));
    let mut tasks = JoinSet::new();
    for n in 0..COMMITS {
        let (store, begun) = (store.clone(), begun.clone());
        tasks.spawn(async move {
            let id = n.to_string();
            let commit = store.backend.commit(bundle(&store, &id));
            (id.clone(), telling(commit, &begun).await)
        });
    }
    let all = begun.acquire_many(COMMITS).await;
    must!(all.is_ok(), all, "all commits begin");
    store.backend.close().await?;
    let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
    for (id, result) in tasks.join_all().await {
        match result {
            Ok(_) => acknowledged.push(id),
            Err(error) if error.kind() == ErrorKind::Closed => refused.push(id),
            Err(error) => return Err(error.into()),
        }
    }
    case.open().await?;
    let there = whole_bundles(&case.handle()).await?;
    for id in ids(acknowledged.iter().map(String::as_str)) {
        must!(there.contains(&id), there, "batch {id}, which was acknowledged, is there");
    }
    for id in ids(refused.iter().map(String::as_str)) {
        must!(!there.contains(&id), there, "batch {id}, which was refused as Closed, is not there");
    }
    must_equal!(acknowledged.len() + refused.len(), 32, "the answers");
    case.verify().await
}

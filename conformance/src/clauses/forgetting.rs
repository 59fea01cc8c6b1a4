//! Forgetting: deletions, conditional ones, whole workspaces, pruning, compacting.

use std::time::Duration;

use memkeep_core::{
    Batch, Counts, DeleteState, Deleted, NewAudit, NewEpisode, NewNote, NewSession, NewTurn, Op,
    Outcome, Prune, PutState, Record, RecordKind, Scan, Scope, Workspace,
};
use serde_json::json;

use super::bundle::{all_records, bundle, bundle_in, ids, ids_of, kinds, whole_bundles};
use crate::{Case, Failure, Handle, Verdict, failure::must_equal};

async fn deletes(case: &Case, op: Op) -> Result<Deleted, Failure> {
    Ok(case.backend().commit_one(op).await?.into_deleted()?)
}

pub(crate) async fn sessions_ended_before(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let delete = |before| Op::DeleteSession { session: "s".into(), ended_before: Some(before) };
    store.start_session(NewSession::new().id("s")).await?;
    let far = memkeep_core::Timestamp::MAX;
    must_equal!(deletes(case, delete(far)).await?, Deleted::default(), "an open session");
    let end = Case::at(10);
    store.commit_one(Op::EndSession { session: "s".into(), at: Some(end) }).await?;
    must_equal!(deletes(case, delete(end)).await?, Deleted::default(), "ended at that instant");
    store.resume_session(&"s".into()).await?;
    must_equal!(deletes(case, delete(far)).await?, Deleted::default(), "a resumed session");
    store.commit_one(Op::EndSession { session: "s".into(), at: Some(end) }).await?;
    must_equal!(ids_of(&case.handle(), RecordKind::Session).await?, ["s"], "the sessions");
    let counts = Counts::one(RecordKind::Session);
    let gone = deletes(case, delete(Case::at(11))).await?;
    must_equal!(gone, Deleted { existed: true, counts }, "ended before");
    Ok(())
}

pub(crate) async fn episodes_closed_before(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let delete = |before| Op::DeleteEpisode { episode: "e".into(), closed_before: Some(before) };
    store.add_episode(NewEpisode::new("p", "s").id("e").created_at(Case::at(-100))).await?;
    let far = memkeep_core::Timestamp::MAX;
    must_equal!(deletes(case, delete(far)).await?, Deleted::default(), "an open episode");
    store.set_episode_open(&"e".into(), false).await?;
    must_equal!(deletes(case, delete(case.now())).await?, Deleted::default(), "closed right then");
    store.set_episode_open(&"e".into(), true).await?;
    case.set_clock(Case::at(50));
    store.set_episode_open(&"e".into(), false).await?;
    must_equal!(deletes(case, delete(case.now())).await?, Deleted::default(), "closed anew then");
    must_equal!(ids_of(&case.handle(), RecordKind::Episode).await?, ["e"], "the episodes");
    let counts = Counts::one(RecordKind::Episode);
    let gone = deletes(case, delete(Case::at(51))).await?;
    must_equal!(gone, Deleted { existed: true, counts }, "closed before");
    Ok(())
}

pub(crate) async fn state_expired_before(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let delete = |key: &str, at| DeleteState::new(key).expired_before(Case::at(at)).into();
    store.put_state(PutState::new("lives", json!(1))).await?;
    store.put_state(PutState::new("k", json!(1)).expires_at(Case::at(10))).await?;
    let nothing = Deleted::default();
    must_equal!(deletes(case, delete("lives", 1_000)).await?, nothing, "what never expires");
    must_equal!(deletes(case, delete("k", 1_000)).await?, nothing, "what has not expired yet");
    case.set_clock(Case::at(10));
    must_equal!(deletes(case, delete("k", 10)).await?, nothing, "what expires at that instant");
    let counts = Counts::one(RecordKind::State);
    let gone = deletes(case, delete("k", 11)).await?;
    must_equal!(gone, Deleted { existed: false, counts }, "what expired before");
    let stats = store.stats(&Scope::All).await?.counts;
    must_equal!(stats, counts, "what is left");
    let put = store.put_state(PutState::new("k", json!(1))).await?;
    must_equal!(put.version, 2, "the next version of the key");
    Ok(())
}

/// How many records a bundle has of each kind.
fn bundle_counts(store: &Handle, bundles: u64) -> Counts {
    let mut counts = Counts::default();
    for _ in 0..bundles {
        for kind in kinds(store) {
            counts += Counts::one(kind);
        }
    }
    counts
}

/// What other workspaces than `workspace` have.
async fn beside(store: &Handle, workspace: &str) -> Result<Vec<Record>, Failure> {
    let mut records = all_records(store).await?;
    records.retain(|record| record.workspace().as_str() != workspace);
    Ok(records)
}

pub(crate) async fn a_workspace_leaves_nothing(case: &mut Case) -> Verdict {
    let store = case.handle();
    for (id, workspace) in [("1", "a"), ("2", "a-b"), ("3", "a"), ("4", ""), ("5", "A")] {
        store.backend.commit(bundle_in(&store, id, workspace)).await?;
    }
    if let Some(reflective) = &store.reflective {
        reflective.put_state(PutState::new("slot", json!(1)).workspace("a")).await?;
        reflective.delete_state(DeleteState::new("slot").workspace("a")).await?;
    }
    let others = beside(&store, "a").await?;
    let forget = || Op::ForgetWorkspace { workspace: "a".into() };
    let expected = Deleted { existed: true, counts: bundle_counts(&store, 2) };
    must_equal!(deletes(case, forget()).await?, expected, "what was forgotten");
    must_equal!(all_records(&store).await?, others, "what is left");
    must_equal!(deletes(case, forget()).await?, Deleted::default(), "the second time");
    // Its ids are free, and its counts begin anew.
    store.backend.commit(bundle_in(&store, "1", "a")).await?;
    if let Some(reflective) = &store.reflective {
        let put = reflective.put_state(PutState::new("slot", json!(1)).workspace("a")).await?;
        must_equal!(put.version, 1, "the version of a key that was forgotten");
        let head = reflective.audit_head(&Workspace::new("a")).await?;
        must_equal!(head.seq, 1, "the length of the new audit chain");
    }
    case.verify().await
}

pub(crate) async fn a_workspace_within_a_batch(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "old")).await?;
    let mut batch = bundle(&store, "made");
    let made = batch.ops.len();
    batch.push(Op::ForgetWorkspace { workspace: Workspace::default() });
    batch.ops.extend(bundle(&store, "new").ops);
    let outcomes = store.backend.commit(batch).await?.outcomes;
    let expected = Deleted { existed: true, counts: bundle_counts(&store, 2) };
    must_equal!(outcomes[made], Outcome::Deleted(expected), "what was forgotten");
    must_equal!(whole_bundles(&store).await?, ids(["new"]), "what is stored");
    case.verify().await
}

/// A session that ended, an episode that was closed and a state entry that expired at `at`, named
/// `name`, in `workspace`; and notes and audit records, which stay.
async fn over(case: &Case, name: &str, workspace: &str, at: i64) -> Verdict {
    let store = case.handle();
    let now = case.now();
    case.set_clock(Case::at(at));
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(Op::StartSession(NewSession::new().id(name).workspace(workspace)));
        batch.push(NewTurn::new(name, "user", "x"));
        batch.push(Op::EndSession { session: name.into(), at: None });
    }
    if store.episodic.is_some() {
        let episode = NewEpisode::new("p", "s").id(name).workspace(workspace);
        batch.push(episode);
        batch.push(Op::SetEpisodeOpen { episode: name.into(), open: false });
    }
    if store.reflective.is_some() {
        let put = PutState::new(name, json!(1)).workspace(workspace).expires_at(Case::at(at));
        batch.push(put);
        batch.push(NewNote::new(name).workspace(workspace));
        batch.push(NewAudit::new(name, "allow").workspace(workspace));
    }
    store.backend.commit(batch).await?;
    case.set_clock(now);
    Ok(())
}

/// What [`over`] makes that can be pruned.
fn prunable(store: &Handle) -> Counts {
    let mut counts = Counts::default();
    if store.sessions.is_some() {
        (counts.sessions, counts.turns) = (1, 1);
    }
    counts.episodes = u64::from(store.episodic.is_some());
    counts.states = u64::from(store.reflective.is_some());
    counts
}

pub(crate) async fn prune_twice(case: &mut Case) -> Verdict {
    let store = case.handle();
    over(case, "before", "default", 999).await?;
    over(case, "then", "default", 1_000).await?;
    over(case, "later", "w", 1_001).await?;
    case.set_clock(Case::at(5_000));
    let prune = Prune::new(Case::at(1_000));
    must_equal!(store.backend.prune(&prune).await?, prunable(&store), "what is pruned");
    must_equal!(store.backend.prune(&prune).await?, Counts::default(), "what the second time");
    for kind in [RecordKind::Session, RecordKind::Episode] {
        if kinds(&store).contains(&kind) {
            must_equal!(ids_of(&store, kind).await?, ["then", "later"], "{} left", kind.as_str());
        }
    }
    let all = Prune::new(case.now());
    let mut two = prunable(&store);
    two += prunable(&store);
    must_equal!(store.backend.prune(&all).await?, two, "what was over before now");
    case.verify().await
}

pub(crate) async fn prune_spares_the_rest(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    if let Some(sessions) = &store.sessions {
        sessions.end_session(&"x".into()).await?;
        sessions.resume_session(&"x".into()).await?;
    }
    if let Some(episodic) = &store.episodic {
        episodic.set_episode_open(&"x".into(), false).await?;
        episodic.set_episode_open(&"x".into(), true).await?;
    }
    if let Some(reflective) = &store.reflective {
        let put = PutState::new("x", json!(1)).ttl(Duration::from_hours(2));
        reflective.put_state(put).await?;
    }
    let before = all_records(&store).await?;
    case.set_clock(Case::at(3_600_000_000));
    let pruned = store.backend.prune(&Prune::new(memkeep_core::Timestamp::MAX)).await?;
    must_equal!(pruned, Counts::default(), "what is pruned");
    must_equal!(all_records(&store).await?, before, "what is stored");
    Ok(())
}

pub(crate) async fn prune_a_workspace(case: &mut Case) -> Verdict {
    let store = case.handle();
    over(case, "here", "w", 0).await?;
    over(case, "there", "w2", 0).await?;
    over(case, "home", "default", 0).await?;
    let prune = Prune::new(Case::at(10)).scope("w");
    case.set_clock(Case::at(20));
    let before = beside(&store, "w").await?;
    must_equal!(store.backend.prune(&prune).await?, prunable(&store), "what is pruned");
    must_equal!(beside(&store, "w").await?, before, "what other workspaces have");
    Ok(())
}

pub(crate) async fn prune_thousands(case: &mut Case) -> Verdict {
    const SESSIONS: u64 = 5_000;
    let store = case.sessions()?;
    let mut batch = Batch::new();
    for n in 0..SESSIONS {
        let id = format!("s{n}");
        batch.push(Op::StartSession(NewSession::new().id(&id[..])));
        batch.push(NewTurn::new(&id[..], "user", "x"));
        batch.push(Op::EndSession { session: id.into(), at: None });
    }
    store.commit(batch).await?;
    store.start_session(NewSession::new().id("open")).await?;
    case.set_clock(Case::at(60_000_000));
    let counts = Counts { sessions: SESSIONS, turns: SESSIONS, ..Counts::default() };
    must_equal!(store.prune(&Prune::new(case.now())).await?, counts, "what is pruned");
    let left = store.scan(&Scan::new(RecordKind::Turn)).await?.items.len();
    must_equal!(left, 0, "the turns that are left");
    must_equal!(ids_of(&case.handle(), RecordKind::Session).await?, ["open"], "sessions left");
    case.verify().await
}

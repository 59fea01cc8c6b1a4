//! Statistics, and compaction.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use memkeep_core::{
    Batch, Counts, DeleteState, EpisodeRevision, ErrorKind, ListEpisodes, ListTurns, NewAudit,
    NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, Prune, PutState, Receipt, Record, Scan,
    Scope, Stats, Workspace, WorkspaceCounts,
};
use serde_json::json;

use super::{
    bundle::{all_records, bundle, changes, creations, deletions},
    sample::{Sample, kinds, read_all},
};
use crate::{
    Case, Failure, Part, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// `workspaces` and `stats` say what scans give; `right` is how many records there are.
async fn counted(case: &Case, part: Part, right: u64) -> Verdict {
    let backend = case.backend();
    let mut counts: BTreeMap<Workspace, Counts> = BTreeMap::new();
    let mut all = Counts::default();
    for &kind in kinds(part) {
        for record in backend.scan(&Scan::new(kind)).await?.items {
            // What a deleted entry leaves is no entry.
            if matches!(&record, Record::State(slot) if slot.value.is_none()) {
                continue;
            }
            *counts.entry(record.workspace().clone()).or_default() += Counts::one(kind);
            all += Counts::one(kind);
        }
    }
    must_equal!(all.total(), right, "how many records the scans give");
    must_equal!(backend.stats(&Scope::All).await?.counts, all, "the counts of everything");
    for workspace in ["", "acme", "acme-corp", "default", "nowhere"] {
        let of_it = counts.get(workspace).copied().unwrap_or_default();
        let told = backend.stats(&Scope::from(workspace)).await?.counts;
        must_equal!(told, of_it, "the counts of {workspace:?}");
    }
    let rows: Vec<WorkspaceCounts> = counts
        .into_iter()
        .map(|(workspace, counts)| WorkspaceCounts { workspace, counts })
        .collect();
    must_equal!(backend.workspaces().await?, rows, "the workspaces");
    Ok(())
}

/// Commits these ops, which must leave `right` records.
async fn leaves(case: &Case, part: Part, right: u64, ops: Vec<Op>) -> Verdict {
    case.backend().commit(ops.into_iter().collect()).await?;
    counted(case, part, right).await
}

fn forget(workspace: &str) -> Op {
    Op::ForgetWorkspace { workspace: workspace.into() }
}

const WORKSPACES: [&str; 3] = ["acme", "acme-corp", ""];

pub(crate) async fn episodes_counted(case: &mut Case) -> Verdict {
    let part = Part::Episodic;
    counted(case, part, 0).await?;
    for workspace in WORKSPACES {
        let new = |n| NewEpisode::new("", "").id(format!("{workspace}{n}")).workspace(workspace);
        case.backend().commit((0..4).map(new).collect()).await?;
    }
    counted(case, part, 12).await?;
    let delete = |id: &str| vec![Op::DeleteEpisode { episode: id.into(), closed_before: None }];
    leaves(case, part, 11, delete("acme0")).await?;
    leaves(case, part, 11, delete("acme0")).await?;
    let revised = EpisodeRevision::new("acme1").problem("x");
    leaves(
        case,
        part,
        11,
        vec![revised.into(), NewEpisode::new("", "").id("acme2").workspace("acme").into()],
    )
    .await?;
    let refused = Batch::new().with(NewEpisode::new("", "")).with(EpisodeRevision::new("no"));
    must_refuse!(case.backend().commit(refused).await, NotFound, "a batch");
    counted(case, part, 11).await?;
    case.episodic()?.set_episode_open(&"acme1".into(), false).await?;
    counted(case, part, 11).await?;
    case.set_clock(Case::at(9));
    case.backend().prune(&Prune::new(case.now())).await?;
    counted(case, part, 10).await?;
    leaves(case, part, 8, vec![forget("acme")]).await?;
    leaves(case, part, 1, vec![forget("acme-corp"), NewEpisode::new("", "").into(), forget("")])
        .await
}

pub(crate) async fn sessions_counted(case: &mut Case) -> Verdict {
    let part = Part::Sessions;
    counted(case, part, 0).await?;
    for workspace in WORKSPACES {
        let mut batch = Batch::new();
        for session in [format!("{workspace}1"), format!("{workspace}2")] {
            batch.push(Op::StartSession(NewSession::new().id(&session[..]).workspace(workspace)));
            for n in 0..3 {
                batch.push(NewTurn::new(&session[..], "user", "").id(format!("{session} {n}")));
            }
            batch.push(NewStep::new(&session[..], "look", "ok"));
        }
        case.backend().commit(batch).await?;
    }
    counted(case, part, 30).await?;
    let delete_turn = |id: &str| vec![Op::DeleteTurn { turn: id.into() }];
    let delete = |id: &str| vec![Op::DeleteSession { session: id.into(), ended_before: None }];
    leaves(case, part, 29, delete_turn("acme1 1")).await?;
    leaves(case, part, 29, delete_turn("acme1 1")).await?;
    leaves(case, part, 25, delete("acme1")).await?;
    leaves(case, part, 25, delete("acme1")).await?;
    let refused =
        Batch::new().with(NewTurn::new("acme2", "user", "")).with(NewTurn::new("no", "user", ""));
    must_refuse!(case.backend().commit(refused).await, NotFound, "a batch");
    counted(case, part, 25).await?;
    leaves(case, part, 25, vec![Op::EndSession { session: "acme2".into(), at: None }]).await?;
    case.set_clock(Case::at(9));
    case.backend().prune(&Prune::new(case.now())).await?;
    counted(case, part, 20).await?;
    let start = Op::StartSession(NewSession::new().id("new"));
    leaves(case, part, 11, vec![start, forget("acme-corp")]).await?;
    leaves(case, part, 1, vec![forget("")]).await
}

pub(crate) async fn reflective_counted(case: &mut Case) -> Verdict {
    let part = Part::Reflective;
    counted(case, part, 0).await?;
    for workspace in WORKSPACES {
        let mut batch = Batch::new();
        for n in 0..3 {
            batch.push(NewNote::new("").id(format!("{workspace}{n}")).workspace(workspace));
            batch.push(PutState::new(format!("{n}"), json!(n)).workspace(workspace));
            batch.push(NewAudit::new("act", "allow").workspace(workspace));
        }
        case.backend().commit(batch).await?;
    }
    counted(case, part, 27).await?;
    let delete = |key: &str| vec![Op::from(DeleteState::new(key).workspace("acme"))];
    leaves(case, part, 26, vec![Op::DeleteNote { note: "acme1".into() }]).await?;
    leaves(case, part, 26, vec![Op::DeleteNote { note: "acme1".into() }]).await?;
    leaves(case, part, 25, delete("0")).await?;
    leaves(case, part, 25, delete("0")).await?;
    let put = |key: &str| PutState::new(key, json!(null)).workspace("acme");
    leaves(case, part, 26, vec![put("0").into()]).await?;
    leaves(case, part, 26, vec![put("0").expires_at(Case::at(5)).into()]).await?;
    // What has expired is counted until it is pruned.
    case.set_clock(Case::at(9));
    counted(case, part, 26).await?;
    leaves(case, part, 26, vec![put("0").expires_at(Case::at(5)).into()]).await?;
    case.backend().prune(&Prune::new(case.now())).await?;
    counted(case, part, 25).await?;
    // A workspace whose entries have all been deleted is not there, though it keeps their versions.
    let only = |op: Op| vec![op];
    leaves(case, part, 26, only(PutState::new("k", json!(1)).workspace("nowhere").into())).await?;
    leaves(case, part, 25, only(DeleteState::new("k").workspace("nowhere").into())).await?;
    leaves(case, part, 18, vec![forget("acme")]).await?;
    leaves(case, part, 1, vec![forget("acme-corp"), NewNote::new("").into(), forget("")]).await
}

pub(crate) async fn bytes_are_the_stores(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let all = store.backend.stats(&Scope::All).await?;
    let of_it = store.backend.stats(&Scope::from("default")).await?;
    must_equal!(of_it, Stats { bytes: None, ..all }, "the statistics of the one workspace");
    let nothing = Stats { counts: Counts::default(), bytes: None };
    for unknown in ["", "defaul", "unknown"] {
        let told = store.backend.stats(&Scope::from(unknown)).await?;
        must_equal!(told, nothing, "the statistics of an unknown workspace");
    }
    Ok(())
}

/// Compacts, where the backend can; whether it can.
async fn compact(case: &Case) -> Result<bool, Failure> {
    match case.backend().compact().await {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Writes samples, forgets every other one, compacts; gives the samples that are left.
async fn thinned(case: &Case) -> Result<Vec<Sample>, Failure> {
    let (mut left, mut batch) = (Vec::new(), Batch::new());
    for n in 0..20 {
        let sample = Sample::new(n);
        sample.write(case).await?;
        if n % 2 == 0 {
            batch.push(forget(&sample.name));
        } else {
            left.push(sample);
        }
    }
    case.backend().commit(batch).await?;
    compact(case).await?;
    Ok(left)
}

pub(crate) async fn compacted(case: &mut Case) -> Verdict {
    let left = thinned(case).await?;
    read_all(case, &left).await
}

pub(crate) async fn order_after_compact(case: &mut Case) -> Verdict {
    thinned(case).await?;
    let store = case.episodic()?;
    let list = ListEpisodes::new().limit(4_usize);
    let page = store.episodes(&list).await?;
    store.delete_episode(&page.items[0].id).await?;
    compact(case).await?;
    // It has the same time as all others.
    let new = store.add_episode(NewEpisode::new("", "")).await?;
    let rest = store.episodes(&ListEpisodes::new().after(page.next)).await?.items;
    must_equal!(rest.len(), 7, "how many episodes follow the page read before");
    must_equal!(rest.last(), Some(&new), "the last of them");
    case.verify().await
}

pub(crate) async fn indexes_after_compact(case: &mut Case) -> Verdict {
    let left = thinned(case).await?;
    let store = case.sessions()?;
    let session = left[0].name[..].into();
    store.resume_session(&session).await?;
    store.delete_turn(&left[0].name[..].into()).await?;
    compact(case).await?;
    let turn = store.record_turn(NewTurn::new(&session, "user", "")).await?;
    must_equal!(turn.index, 2, "the index after a deleted turn's");
    let turns = store.turns(&ListTurns::new(&session)).await?.items;
    let indexes: Vec<u64> = turns.iter().map(|turn| turn.index).collect();
    must_equal!(indexes, [0, 2], "the indexes of the turns");
    case.verify().await
}

pub(crate) async fn versions_after_compact(case: &mut Case) -> Verdict {
    let left = thinned(case).await?;
    let store = case.reflective()?;
    let name = &left[0].name[..];
    store.delete_state(DeleteState::new(name).workspace(name)).await?;
    compact(case).await?;
    let put = store.put_state(PutState::new(name, json!(0)).workspace(name)).await?;
    must_equal!(put.version, 2, "the version after a deleted entry's");
    let audit = store.append_audit(NewAudit::new("act", "allow").workspace(name)).await?;
    must_equal!(audit.seq, 2, "the number of the next audit record");
    case.verify().await
}

/// A batch under a key, whose records are changed after it.
async fn changed(case: &Case) -> Result<(Batch, Receipt), Failure> {
    let store = case.handle();
    let batch = bundle(&store, "x").key("key");
    let receipt = store.backend.commit(batch.clone()).await?;
    store.backend.commit(changes(&store, "x")).await?;
    Ok((batch, receipt))
}

/// The batch is answered as it was, and its records are known by their ids.
async fn retries_known(case: &Case, by_key: Option<(Batch, Receipt)>, by_id: bool) -> Verdict {
    let store = case.handle();
    let stored = all_records(&store).await?;
    if let Some((batch, receipt)) = by_key {
        must_equal!(store.backend.commit(batch).await?, receipt, "the receipt under the key");
    }
    if by_id {
        store.backend.commit(creations(&store, "x")).await?;
    }
    must_equal!(all_records(&store).await?, stored, "what is stored after retries");
    Ok(())
}

pub(crate) async fn receipts_after_compact(case: &mut Case) -> Verdict {
    let keyed = changed(case).await?;
    compact(case).await?;
    retries_known(case, Some(keyed), false).await
}

pub(crate) async fn origins_after_compact(case: &mut Case) -> Verdict {
    changed(case).await?;
    compact(case).await?;
    retries_known(case, None, true).await
}

pub(crate) async fn reopened_after_compact(case: &mut Case) -> Verdict {
    thinned(case).await?;
    let keyed = changed(case).await?;
    let stored = all_records(&case.handle()).await?;
    compact(case).await?;
    case.reopen().await?;
    must_equal!(all_records(&case.handle()).await?, stored, "what is stored");
    retries_known(case, Some(keyed), true).await?;
    case.verify().await
}

/// What no file holds by chance.
const DELETED: &str = "text-that-was-deleted-8d1f0c";

pub(crate) async fn wiped(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = Batch::new();
    if store.sessions.is_some() {
        batch.push(Op::StartSession(NewSession::new().id("x").model(DELETED)));
        batch.push(NewTurn::new("x", "user", DELETED).id("x"));
        batch.push(NewStep::new("x", "step", "ok").payload(json!(DELETED)));
    }
    if store.episodic.is_some() {
        batch.push(NewEpisode::new(DELETED, "").id("x"));
    }
    if store.reflective.is_some() {
        batch.push(NewNote::new(DELETED).id("x"));
        batch.push(PutState::new("x", json!(DELETED)));
    }
    store.backend.commit(batch.key("key")).await?;
    store.backend.commit(bundle(&store, "left")).await?;
    store.backend.commit(deletions(&store, "x")).await?;
    if compact(case).await? {
        let held = holding(case.place.path()).map_err(|error| {
            Failure::new("the files of the store's folder can be read", error.to_string())
        })?;
        must!(held.is_empty(), held, "no file holds the text");
    }
    Ok(())
}

/// The files in `folder`, and in the folders in it, that hold the deleted text.
fn holding(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(holding(&path)?);
        } else {
            let bytes = fs::read(&path)?;
            if bytes.windows(DELETED.len()).any(|part| part == DELETED.as_bytes()) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

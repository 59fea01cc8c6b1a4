//! Copies that `backup` writes.

use std::{
    collections::BTreeSet,
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use memkeep_core::{NewTurn, verify::Verify};
use tokio::task::JoinSet;

use super::{
    bundle::{all_records, bundle, ids_of, kinds, read, whole_bundles},
    restore::{furnish, goes_on},
};
use crate::{
    Case, Failure, Handle, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// Where nothing is yet.
fn nowhere(case: &mut Case) -> Result<PathBuf, Failure> {
    Ok(case.other_place()?.path().join("copy"))
}

async fn sound(copy: &Handle) -> Verdict {
    let problems = copy.backend.verify(&Verify::new()).await?.problems;
    must_equal!(problems, [], "what verify finds in the copy");
    Ok(())
}

pub(crate) async fn copied(case: &mut Case) -> Verdict {
    let store = case.handle();
    furnish(&store).await?;
    let keyed = bundle(&store, "keyed").key("key");
    let receipt = store.backend.commit(keyed.clone()).await?;
    let records = all_records(&store).await?;
    let workspaces = store.backend.workspaces().await?;
    let mut heads = Vec::new();
    if let Some(reflective) = &store.reflective {
        for row in &workspaces {
            heads.push(reflective.audit_head(&row.workspace).await?);
        }
    }
    let path = nowhere(case)?;
    store.backend.backup(&path).await?;
    store.backend.commit(bundle(&store, "later")).await?;

    let copy = case.open_copy(&path).await?;
    must_equal!(all_records(&copy).await?, records, "what the copy has");
    must_equal!(copy.backend.workspaces().await?, workspaces, "what the copy counts");
    if let Some(reflective) = &copy.reflective {
        for head in heads {
            let of_copy = reflective.audit_head(&head.workspace).await?;
            must_equal!(of_copy, head, "the end of a chain in the copy");
        }
    }
    must_equal!(copy.backend.commit(keyed).await?, receipt, "the receipt under a key in the copy");
    if let Some(sessions) = &copy.sessions {
        // It has been tagged since, and its session has ended.
        let again = NewTurn::new("9", "user", "x").id("t2").tokens(2);
        must_equal!(sessions.record_turn(again).await?.index, 3, "the index of a turn, retried");
    }
    must_equal!(all_records(&copy).await?, records, "what the copy has after retries");

    goes_on(&copy).await?;
    copy.backend.commit(bundle(&copy, "new")).await?;
    for kind in kinds(&copy) {
        let last = ids_of(&copy, kind).await?.pop();
        must_equal!(last.as_deref(), Some("new"), "the last {} of the copy", kind.as_str());
    }
    must_equal!(read(&store, "new").await?, [], "what the store has of the copy's");
    sound(&copy).await?;
    case.verify().await
}

/// How many write, and how much each of them at most.
const WRITERS: usize = 4;
const MOST: usize = 2_000;

pub(crate) async fn copied_meanwhile(case: &mut Case) -> Verdict {
    let store = case.handle();
    let path = nowhere(case)?;
    let acknowledged: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let told = || acknowledged.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let enough = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, acknowledged, enough) = (store.clone(), acknowledged.clone(), enough.clone());
        writers.spawn(async move {
            for n in 0..MOST {
                if enough.load(Ordering::SeqCst) {
                    break;
                }
                let id = format!("{writer} {n}");
                store.backend.commit(bundle(&store, &id)).await?;
                acknowledged.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
            }
            Verdict::Ok(())
        });
    }
    while told().len() < 2 * WRITERS {
        tokio::task::yield_now().await;
    }
    let before = told();
    let written = store.backend.backup(&path).await;
    enough.store(true, Ordering::SeqCst);
    for verdict in writers.join_all().await {
        verdict?;
    }
    written?;
    let copy = case.open_copy(&path).await?;
    let there = whole_bundles(&copy).await?;
    let lost: Vec<&String> = before.difference(&there).collect();
    must_equal!(lost, [""; 0], "what was committed before and is not in the copy");
    for writer in 0..WRITERS {
        let own = |id: &&String| id.starts_with(&format!("{writer} "));
        let count = there.iter().filter(own).count();
        let first: BTreeSet<String> = (0..count).map(|n| format!("{writer} {n}")).collect();
        let own: BTreeSet<String> = there.iter().filter(own).cloned().collect();
        must_equal!(own, first, "what a writer committed up to one moment");
    }
    sound(&copy).await
}

pub(crate) async fn taken_paths(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    for content in ["", "of another program"] {
        let path = nowhere(case)?;
        fs::write(&path, content).map_err(|e| io_failed(&e))?;
        must_refuse!(store.backend.backup(&path).await, Conflict, "a path with a file");
        let now = fs::read_to_string(&path).map_err(|e| io_failed(&e))?;
        must_equal!(now, content, "what is in that file");
    }
    let path = nowhere(case)?;
    store.backend.backup(&path).await?;
    store.backend.commit(bundle(&store, "y")).await?;
    must_refuse!(store.backend.backup(&path).await, Conflict, "a path with an earlier copy");
    let copy = case.open_copy(&path).await?;
    must_equal!(read(&copy, "y").await?, [], "what the earlier copy has of later batches");
    let kept = read(&copy, "x").await?;
    must!(!kept.is_empty(), kept, "the earlier copy is as it was");
    Ok(())
}

fn io_failed(error: &std::io::Error) -> Failure {
    Failure::new("a folder to copy into", error.to_string())
}

pub(crate) async fn failed_backups(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let folder = nowhere(case)?;
    let path = folder.join("copy");
    let written = store.backend.backup(&path).await;
    must!(written.is_err(), written, "a backup into a folder that is not there fails");
    must!(!folder.exists(), folder, "the folder is not made");
    store.backend.close().await?;
    let path = nowhere(case)?;
    must_refuse!(store.backend.backup(&path).await, Closed, "a backup of a closed store");
    must!(!path.exists(), path, "a backup that failed leaves no file");
    Ok(())
}

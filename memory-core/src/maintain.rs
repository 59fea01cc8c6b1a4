//! Upkeep over plain reads and commits, for backends without something better.

use std::collections::BTreeMap;

use crate::{
    Backend, Batch, Counts, DeleteState, Op, Outcome, Prune, Record, RecordKind, Result, Scan,
    Scope, Workspace, WorkspaceCounts,
};

/// How many records are read or deleted at a time.
pub(crate) const PAGE: usize = 1_000;

/// Calls `f` with every record of a kind, page by page, in order of insertion.
pub(crate) async fn each<B: Backend + ?Sized>(
    backend: &B,
    kind: RecordKind,
    scope: &Scope,
    mut f: impl FnMut(Record) + Send,
) -> Result<()> {
    let mut scan = Scan::new(kind).scope(scope.clone()).limit(PAGE);
    loop {
        let page = backend.scan(&scan).await?;
        page.items.into_iter().for_each(&mut f);
        match page.next {
            None => return Ok(()),
            next => scan.after = next,
        }
    }
}

pub(crate) async fn workspaces<B: Backend + ?Sized>(backend: &B) -> Result<Vec<WorkspaceCounts>> {
    let mut all: BTreeMap<Workspace, Counts> = BTreeMap::new();
    for kind in backend.info().kinds {
        each(backend, kind, &Scope::All, |record| {
            // What a deleted entry leaves is no entry.
            if !matches!(&record, Record::State(slot) if slot.value.is_none()) {
                *all.entry(record.workspace().clone()).or_default() += Counts::one(kind);
            }
        })
        .await?;
    }
    let row = |(workspace, counts)| WorkspaceCounts { workspace, counts };
    Ok(all.into_iter().map(row).collect())
}

/// Each op carries its condition, so that what changes between the read and the deletion is spared.
pub(crate) async fn prune<B: Backend + ?Sized>(backend: &B, prune: &Prune) -> Result<Counts> {
    let before = prune.before;
    let mut pruned = Counts::default();
    let kinds = backend.info().kinds;
    let prunable = [RecordKind::Session, RecordKind::Episode, RecordKind::State];
    for kind in prunable.into_iter().filter(|kind| kinds.contains(kind)) {
        let mut scan = Scan::new(kind).scope(prune.scope.clone()).limit(PAGE);
        loop {
            let page = backend.scan(&scan).await?;
            let batch: Batch =
                page.items.into_iter().filter_map(|record| prune_op(record, prune)).collect();
            if !batch.ops.is_empty() {
                for outcome in backend.commit(batch).await?.outcomes {
                    if let Outcome::Deleted(deleted) = outcome {
                        pruned += deleted.counts;
                    }
                }
            }
            match page.next {
                None => break,
                next => scan.after = next,
            }
        }
    }
    backend.commit_one(Op::ForgetReceipts { before }).await?;
    Ok(pruned)
}

fn prune_op(record: Record, prune: &Prune) -> Option<Op> {
    let before = prune.before;
    let over = |at: Option<crate::Timestamp>| at.is_some_and(|at| at < before);
    match record {
        Record::Session(s) if over(s.ended_at) => {
            Some(Op::DeleteSession { session: s.id, ended_before: Some(before) })
        }
        Record::Episode(e) if over(e.closed_at) => {
            Some(Op::DeleteEpisode { episode: e.id, closed_before: Some(before) })
        }
        Record::State(s) if s.value.is_some() && over(s.expires_at) => {
            Some(DeleteState::new(s.key).workspace(s.workspace).expired_before(before).into())
        }
        _ => None,
    }
}

//! What an engine's failures come to.

use memkeep_core::{Error, ErrorKind, Receipt, Result};
use tokio::task::JoinSet;

use super::bundle::{all_records, bundle, ids, read, whole_bundles};
use crate::{
    Case, Failure, Verdict,
    failure::{must, must_equal},
};

/// An error of the engine, after which the same call may succeed.
fn passing(result: Result<Receipt>) -> Result<Error, Failure> {
    let error = match result {
        Err(error) => error,
        Ok(receipt) => {
            let expected = "a commit fails while the engine cannot write";
            return Err(Failure::new(expected, format!("Ok({receipt:?})")));
        }
    };
    let passing = matches!(
        error.kind(),
        ErrorKind::Timeout | ErrorKind::Unavailable | ErrorKind::StorageFull | ErrorKind::ReadOnly
    );
    must!(passing, error, "Timeout, Unavailable, StorageFull or ReadOnly: what hinders the engine");
    must!(error.is_retryable(), error, "an error that is retryable");
    Ok(error)
}

pub(crate) async fn failed_commits(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "before")).await?;
    let before = all_records(&store).await?;
    let broken = case.break_writes().await?;
    passing(store.backend.commit(bundle(&store, "lost")).await)?;
    drop(broken);
    must_equal!(all_records(&store).await?, before, "what is stored");
    store.backend.commit(bundle(&store, "lost")).await?;
    must_equal!(whole_bundles(&store).await?, ids(["before", "lost"]), "what is stored");
    case.verify().await
}

pub(crate) async fn readable_meanwhile(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "x")).await?;
    let (before, by_id) = (all_records(&store).await?, read(&store, "x").await?);
    let broken = case.break_writes().await?;
    must_equal!(all_records(&store).await?, before, "what is read while writes fail");
    passing(store.backend.commit(bundle(&store, "lost")).await)?;
    must_equal!(all_records(&store).await?, before, "what is read after a failed commit");
    must_equal!(read(&store, "x").await?, by_id, "what is read by id");
    drop(broken);
    Ok(())
}

pub(crate) async fn many_failed_commits(case: &mut Case) -> Verdict {
    let store = case.handle();
    let broken = case.break_writes().await?;
    let mut tasks = JoinSet::new();
    for n in 0..16 {
        let store = store.clone();
        let batch = bundle(&store, &n.to_string()).key(n.to_string());
        tasks.spawn(async move { store.backend.commit(batch).await });
    }
    for result in tasks.join_all().await {
        passing(result)?;
    }
    drop(broken);
    must_equal!(whole_bundles(&store).await?, ids([]), "what is stored");
    for n in 0..16 {
        let batch = bundle(&store, &n.to_string()).key(n.to_string());
        let first = store.backend.commit(batch.clone()).await?;
        must_equal!(store.backend.commit(batch).await?, first, "the receipt, asked for again");
    }
    must_equal!(whole_bundles(&store).await?.len(), 16, "how many batches are stored");
    case.verify().await
}

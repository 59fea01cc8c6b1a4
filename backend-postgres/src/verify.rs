use memkeep_core::{
    RecordKind, Result, Scope,
    decide::{Change, Put, Stored},
    verify::{Verifier, Verify, VerifyReport},
};

use std::{collections::HashSet, sync::Arc};

use crate::{
    commit, read,
    store::{Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

impl Store {
    pub(crate) async fn verify(self: Arc<Self>, verify: Verify) -> Result<VerifyReport> {
        let _permit = self.pool.permit().await?;
        if !verify.repair {
            return self.read_here(&(), |t, ()| Box::pin(look(t))).await;
        }
        let mut tries = Tries::default();
        loop {
            match self.repair().await {
                Ok(report) => return Ok(report),
                Err(trouble) => tries.again(trouble).await?,
            }
        }
    }

    /// Looks and repairs in one state of the store. A session that others change meanwhile makes it a
    /// serialization failure, and it begins anew.
    async fn repair(&self) -> Attempt<VerifyReport> {
        let mut transaction = self.begin(Mode::WriteSnapshot, "").await?;
        let report = repair_in(&mut transaction).await;
        transaction.end(report).await
    }
}

async fn look(transaction: &mut Transaction) -> Attempt<VerifyReport> {
    Ok(check(transaction).await?.finish().0)
}

/// Looks at everything.
async fn check(transaction: &mut Transaction) -> Attempt<Verifier> {
    let mut verifier = Verifier::default();
    for kind in RecordKind::ALL {
        read::each(transaction, kind, &Scope::All, &mut |record| match record {
            Ok(record) => verifier.record(record),
            Err(error) => verifier.unreadable(kind, &error),
        })
        .await?;
    }
    Ok(verifier)
}

async fn repair_in(transaction: &mut Transaction) -> Attempt<VerifyReport> {
    let (mut report, sessions) = check(transaction).await?.finish();
    if report.problems.is_empty() {
        return Ok(report);
    }
    // What a session is derived from is in the record alone.
    let put = |record| Change::PutSession(Put { row: Stored { record, origin: None }, new: false });
    commit::apply::apply(transaction, sessions.into_iter().map(put).collect(), &HashSet::new())
        .await?;
    let left = check(transaction).await?.finish().0.problems;
    for problem in &mut report.problems {
        problem.repaired = !left.contains(problem);
    }
    Ok(report)
}

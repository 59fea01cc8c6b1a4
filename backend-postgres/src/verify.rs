use memkeep_core::{
    RecordKind, Result, Scope,
    decide::{Change, Put, Stored},
    recall::{Language, index::RECALLED},
    verify::{Verifier, Verify, VerifyReport},
};

use std::{collections::HashSet, sync::Arc};

use crate::{
    commit, read, recall,
    store::{Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

impl Store {
    pub(crate) async fn verify(self: Arc<Self>, verify: Verify) -> Result<VerifyReport> {
        let _permit = self.pool.permit().await?;
        if !verify.repair {
            return self.read_here(&self.language, |t, l| Box::pin(look(t, *l))).await;
        }
        let mut tries = Tries::default();
        loop {
            match self.repair().await {
                Ok(report) => {
                    // The indexes may have been dropped.
                    self.signal.urge(&RECALLED);
                    return Ok(report);
                }
                Err(trouble) => tries.again(trouble).await?,
            }
        }
    }

    /// Looks and repairs in one state of the store. A session that others change meanwhile makes it a
    /// serialization failure, and it begins anew.
    async fn repair(&self) -> Attempt<VerifyReport> {
        let lock = format!("SELECT {}", self.names.lock_index(true));
        let mut transaction = self.begin(Mode::WriteSnapshot, &lock).await?;
        let report = repair_in(&mut transaction, self.language).await;
        transaction.end(report).await
    }
}

async fn look(transaction: &mut Transaction, language: Language) -> Attempt<VerifyReport> {
    Ok(check(transaction, language).await?.finish().0)
}

/// Looks at everything.
async fn check(transaction: &mut Transaction, language: Language) -> Attempt<Verifier> {
    let mut verifier = Verifier::default();
    for kind in RecordKind::ALL {
        read::each(transaction, kind, &Scope::All, &mut |record| match record {
            Ok(record) => verifier.record(record),
            Err(error) => verifier.unreadable(kind, &error),
        })
        .await?;
        if RECALLED.contains(&kind) {
            for problem in recall::check(transaction, kind, language).await? {
                verifier.problem(problem);
            }
        }
    }
    Ok(verifier)
}

async fn repair_in(transaction: &mut Transaction, language: Language) -> Attempt<VerifyReport> {
    let (mut report, sessions) = check(transaction, language).await?.finish();
    if report.problems.is_empty() {
        return Ok(report);
    }
    // Whatever an index was made of, it is made anew of what there is.
    for kind in RECALLED {
        recall::drop_index(transaction, kind).await?;
    }
    // What a session is derived from is in the record alone.
    let put = |record| Change::PutSession(Put { row: Stored { record, origin: None }, new: false });
    commit::apply::apply(transaction, sessions.into_iter().map(put).collect(), &HashSet::new())
        .await?;
    let left = check(transaction, language).await?.finish().0.problems;
    for problem in &mut report.problems {
        problem.repaired = !left.contains(problem);
    }
    Ok(report)
}

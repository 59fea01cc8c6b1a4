//! A commit: load, decide, apply, in one transaction.

pub(crate) mod apply;
mod insert;
mod kinds;
mod load;
mod locks;

use std::sync::Arc;

use memkeep_core::{
    Receipt, Result,
    decide::{Prepared, decide},
};

use crate::{
    error::Trouble,
    store::{Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

/// A batch that has been applied and not yet committed.
struct Applied {
    receipt: Receipt,
    /// Whether it changed anything: a replayed receipt was told before.
    is_news: bool,
}

impl Store {
    pub(crate) async fn commit(self: Arc<Self>, prepared: Prepared) -> Result<Receipt> {
        let _permit = self.pool.permit().await?;
        let mut tries = Tries::default();
        loop {
            let trouble = match self.apply(&prepared).await {
                Ok((transaction, applied)) => match self.end(transaction, applied).await {
                    Ok(receipt) => return Ok(receipt),
                    // Whether a commit came through that broke off is not known.
                    Err(trouble) if trouble.is_lost() => return Err(trouble.into()),
                    Err(trouble) => trouble,
                },
                Err(trouble) => trouble,
            };
            tries.again(trouble).await?;
        }
    }

    /// Everything up to the commit: the transaction holds all its locks.
    async fn apply(&self, prepared: &Prepared) -> Attempt<(Transaction, Applied)> {
        let locks = locks::first(&self.names, prepared);
        let mut transaction = self.begin(Mode::Write, &locks).await?;
        match self.apply_in(&mut transaction, prepared).await {
            Ok(applied) => Ok((transaction, applied)),
            Err(trouble) => Err(transaction.give_up(trouble).await),
        }
    }

    async fn apply_in(
        &self,
        transaction: &mut Transaction,
        prepared: &Prepared,
    ) -> Attempt<Applied> {
        let needs = prepared.needs();
        let workspaces = locks::everything_of(transaction, &needs.workspaces).await?;
        let mut loaded = load::load(transaction, &needs).await?;
        loaded.workspaces = workspaces;
        let absent = load::Absent::of(&needs, &loaded);
        let replaced = loaded.receipt.is_some();
        let decision = decide(prepared, loaded, self.clock.now())?;
        let is_news = !decision.changes.is_empty();
        if is_news && absent.matters(&decision.changes) {
            // Nothing locks a row that is not there. By now everything else is locked, so what is
            // missing still has been missing all the time.
            let again = load::load(transaction, &needs).await?;
            if absent != load::Absent::of(&needs, &again) {
                return Err(Trouble::Met);
            }
        }
        apply::apply(transaction, decision.changes, replaced).await?;
        Ok(Applied { receipt: decision.receipt, is_news })
    }

    async fn end(&self, transaction: Transaction, applied: Applied) -> Attempt<Receipt> {
        let ticket = applied.is_news.then(|| self.news.ticket());
        transaction.commit().await?;
        if let Some(ticket) = ticket {
            ticket.committed(&applied.receipt);
        }
        Ok(applied.receipt)
    }
}

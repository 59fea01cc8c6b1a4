//! A commit: load, decide, apply, in one transaction for all batches that wait.

pub(crate) mod apply;
mod insert;
mod kinds;
mod known;
mod load;
mod locks;
mod queue;

use std::{collections::HashSet, sync::Arc};

use memkeep_core::{
    Error, ErrorKind, Receipt, RecordKind, Result,
    decide::{Change, Needs, Put, decide},
};

pub(crate) use self::queue::Queue;
use self::queue::Waiting;
use crate::{
    error::Trouble,
    recall::{Counts, at},
    store::{Pending, Store, Tries},
    transaction::{Attempt, Mode, Transaction},
};

/// What a batch came to.
struct Answer {
    result: Result<Receipt>,
    /// Whether it changed anything: a replayed receipt was told before.
    is_news: bool,
}

impl Store {
    /// Commits a group, and answers everyone in it. If it fails, each is tried alone, so that one that
    /// cannot be stored, or waits for others, does not fail its neighbours.
    fn commit_group(self: Arc<Self>, mut group: Vec<Waiting>) -> Pending<'static, ()> {
        Box::pin(async move {
            let committed = match self.pool.permit().await {
                Ok(_permit) => self.try_group(&mut group).await,
                Err(error) => Err((error, true)),
            };
            // Nobody waits for an answer any more if the whole runtime ends.
            match committed {
                Ok(answers) => {
                    for (waiting, answer) in group.into_iter().zip(answers) {
                        let _ = waiting.reply.send(answer.result);
                    }
                }
                Err((error, for_all)) if for_all || group.len() == 1 => {
                    for waiting in group {
                        let _ = waiting.reply.send(Err(error.clone()));
                    }
                }
                Err(_) => {
                    for waiting in group {
                        tokio::spawn(Arc::clone(&self).commit_group(vec![waiting]));
                    }
                }
            }
        })
    }

    /// The answers to a group; or why it failed, and whether that goes for each batch of it.
    async fn try_group(&self, group: &mut [Waiting]) -> Result<Vec<Answer>, (Error, bool)> {
        let mut tries = Tries::default();
        loop {
            let trouble = match self.apply_group(group).await {
                Ok((transaction, answers, recalled)) => match self.end(transaction, &answers).await
                {
                    Ok(()) => {
                        self.signal.wake(recalled);
                        return Ok(answers);
                    }
                    // Whether a commit came through that broke off is not known.
                    Err(trouble) if trouble.is_lost() => return Err((trouble.into(), true)),
                    Err(trouble) => trouble,
                },
                Err(trouble) => trouble,
            };
            // What was refused, or met others, may be there already.
            if trouble.is_contention() && group.iter().any(|waiting| waiting.is_guess) {
                self.queue.be_wary();
                group.iter_mut().for_each(Waiting::be_careful);
                continue;
            }
            if let Err(error) = tries.again(trouble).await {
                let for_all = error.kind() == ErrorKind::Unavailable;
                return Err((error, for_all));
            }
        }
    }

    /// Everything up to the commit: the transaction holds all its locks. Tells, too, how many changes make
    /// a difference to recall.
    async fn apply_group(&self, group: &[Waiting]) -> Attempt<(Transaction, Vec<Answer>, Counts)> {
        let locks = locks::first(&self.names, group);
        let mut transaction = self.begin(Mode::Write, &locks).await?;
        match self.apply_in(&mut transaction, group).await {
            Ok((answers, recalled)) => Ok((transaction, answers, recalled)),
            Err(trouble) => Err(transaction.give_up(trouble).await),
        }
    }

    async fn apply_in(
        &self,
        transaction: &mut Transaction,
        group: &[Waiting],
    ) -> Attempt<(Vec<Answer>, Counts)> {
        let all;
        let needs = if let [only] = group {
            &only.needs
        } else {
            all = union(group);
            &all
        };
        let workspaces = locks::everything_of(transaction, &needs.workspaces).await?;
        let keys: Vec<&str> = group.iter().filter_map(|w| w.needs.receipt.as_deref()).collect();
        let mut known = load::load(transaction, needs, &keys).await?;
        known.rows.workspaces = workspaces;
        let absent = load::Absent::of(needs, &known.rows);
        let stored: HashSet<String> = known.receipts.keys().cloned().collect();
        let (mut answers, mut changes) = (Vec::new(), Vec::new());
        for Waiting { prepared, needs, .. } in group {
            let decided = decide(prepared, known.of(needs), self.clock.now());
            answers.push(match decided {
                Ok(decision) => {
                    if group.len() > 1 {
                        decision.changes.iter().for_each(|change| known.change(change));
                    }
                    let is_news = !decision.changes.is_empty();
                    changes.extend(decision.changes);
                    Answer { result: Ok(decision.receipt), is_news }
                }
                Err(refused) => Answer { result: Err(refused), is_news: false },
            });
        }
        if group.iter().zip(&answers).any(|(waiting, a)| waiting.is_guess && a.result.is_err()) {
            return Err(Trouble::Met);
        }
        if !changes.is_empty() && absent.matters(&changes) {
            // Nothing locks a row that is not there. By now everything else is locked, so what is
            // missing still has been missing all the time.
            let again = load::load(transaction, needs, &keys).await?;
            if absent != load::Absent::of(needs, &again.rows) {
                return Err(Trouble::Met);
            }
        }
        let recalled = recalled(&changes);
        apply::apply(transaction, changes, &stored).await?;
        Ok((answers, recalled))
    }

    async fn end(&self, transaction: Transaction, answers: &[Answer]) -> Attempt<()> {
        let news = answers.iter().filter(|answer| answer.is_news);
        let tickets: Vec<_> = news.map(|answer| (self.news.ticket(), &answer.result)).collect();
        transaction.commit().await?;
        for (ticket, result) in tickets {
            if let Ok(receipt) = result {
                ticket.committed(receipt);
            }
        }
        Ok(())
    }
}

/// How many changes make a difference to recall, by kind.
fn recalled(changes: &[Change]) -> Counts {
    let mut counts = Counts::default();
    for change in changes {
        let kind = match change {
            Change::PutTurn(Put { new: true, .. })
            | Change::DeleteTurn(_)
            | Change::DeleteSession(_) => RecordKind::Turn,
            Change::PutEpisode(_) | Change::DeleteEpisode(_) => RecordKind::Episode,
            Change::PutNote(_) | Change::DeleteNote(_) => RecordKind::Note,
            Change::DeleteWorkspace(_) => {
                counts = counts.map(|count| count + 1);
                continue;
            }
            _ => continue,
        };
        counts[at(kind)] += 1;
    }
    counts
}

/// What any of a group needs, receipts apart.
fn union(group: &[Waiting]) -> Needs {
    let mut all = Needs::default();
    for Waiting { needs, .. } in group {
        all.sessions.extend(needs.sessions.iter().cloned());
        all.turns.extend(needs.turns.iter().cloned());
        all.steps.extend(needs.steps.iter().cloned());
        all.episodes.extend(needs.episodes.iter().cloned());
        all.notes.extend(needs.notes.iter().cloned());
        all.states.extend(needs.states.iter().cloned());
        all.audits.extend(needs.audits.iter().cloned());
        all.audit_heads.extend(needs.audit_heads.iter().cloned());
        all.turn_slots.extend(needs.turn_slots.iter().cloned());
        all.step_slots.extend(needs.step_slots.iter().cloned());
        all.workspaces.extend(needs.workspaces.iter().cloned());
    }
    all
}

//! Damaged records, verify and repair.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use memkeep_core::{
    verify::{Problem, Verify, VerifyReport},
    *,
};

use crate::{
    defect::Defect,
    mutant::{Mutant, mutant},
};

/// What says that it is `Corrupt` says something else.
fn corrupt<Q: 'static, A: 'static>(d: Defect, instead: fn() -> Result<A>) -> Defect {
    d.result(move |_: &Q, result: &mut Result<A>| {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Corrupt) {
            *result = instead();
        }
    })
}

/// Reads by id, whose argument is a scope and an id, find nothing where they cannot read.
fn nothing<Id: 'static, A: 'static>(d: Defect) -> Defect {
    corrupt::<(Scope, Id), Option<A>>(d, || Ok(None))
}

/// Pages that cannot be read are empty.
fn no_rows<Q: 'static, A: 'static>(d: Defect) -> Defect {
    corrupt::<Q, Page<A>>(d, || Ok(Page { items: Vec::new(), next: None }))
}

/// Verify is done in the store's place where it is asked to repair.
fn repair<F>(d: Defect, f: fn(Arc<dyn MemoryBackend>, Verify) -> F) -> Defect
where
    F: Future<Output = Result<VerifyReport>> + Send + 'static,
{
    d.instead(move |store: Arc<dyn MemoryBackend>, verify: Verify| async move {
        if verify.repair { f(store, verify).await } else { store.verify(&verify).await }
    })
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("verify repairs unasked", &["VERIFY-COUNT-01"], |d| {
        d.before(|verify: &mut Verify| verify.repair = true).after(
            |_: &Verify, report: &mut VerifyReport| {
                report.problems.iter_mut().for_each(|problem| problem.repaired = false);
            },
        )
    }),
    mutant("an unreadable turn is not there", &["DAMAGE-READ-01", "REPAIR-DAMAGE-01"], |d| {
        nothing::<TurnId, Turn>(d)
    }),
    mutant("an unreadable note is not there", &["DAMAGE-READ-01", "REPAIR-DAMAGE-01"], |d| {
        nothing::<NoteId, Note>(d)
    }),
    mutant("nobody is told which record is unreadable", &["DAMAGE-READ-01"], |d| {
        d.result(|_: &(Scope, EpisodeId), result: &mut Result<Option<Episode>>| {
            if let Err(error) = result {
                *error = Error::new(error.kind(), "somewhere");
            }
        })
    }),
    mutant("a session with an unreadable step has no steps", &["DAMAGE-LIST-01"], |d| {
        no_rows::<ListSteps, Step>(d)
    }),
    mutant("an unreadable entry makes the list of state shorter", &["DAMAGE-LIST-01"], |d| {
        no_rows::<ListStates, StateEntry>(d)
    }),
    mutant("an unreadable row ends the audit log", &["DAMAGE-LIST-01"], |d| {
        no_rows::<ListAudit, AuditRecord>(d)
    }),
    mutant("open episodes are listed without the unreadable", &["DAMAGE-LIST-01"], |d| {
        d.result(|list: &ListEpisodes, result: &mut Result<Page<Episode>>| {
            if result.is_err() && list.open.is_some() {
                *result = Ok(Page { items: Vec::new(), next: None });
            }
        })
    }),
    mutant("a scan ends at an unreadable row", &["DAMAGE-SCAN-01"], no_rows::<Scan, Record>),
    mutant("recall leaves out what it cannot read", &["DAMAGE-FIND-01"], |d| {
        corrupt::<RecallQuery, Vec<Hit<Note>>>(d, || Ok(Vec::new()))
    }),
    mutant("find leaves out what it cannot read", &["DAMAGE-FIND-01"], |d| {
        corrupt::<FindTurns, Vec<Turn>>(d, || Ok(Vec::new()))
    }),
    mutant("an unreadable episode hides those of other workspaces", &["DAMAGE-BESIDE-01"], |d| {
        d.instead(|store, list: ListEpisodes| async move {
            store.episodes(&list.clone().scope(Scope::All)).await?;
            store.episodes(&list).await
        })
    }),
    mutant("an unreadable turn hides those of other sessions", &["DAMAGE-BESIDE-01"], |d| {
        d.instead(|store, list: ListTurns| async move {
            store.scan(&Scan::new(RecordKind::Turn)).await?;
            store.turns(&list).await
        })
    }),
    mutant("a batch on an unreadable row is acknowledged", &["DAMAGE-COMMIT-01"], |d| {
        corrupt::<Batch, Receipt>(d, || {
            Ok(Receipt { at: Timestamp::default(), outcomes: Vec::new() })
        })
    }),
    mutant("a batch on an unreadable row is stored without it", &["DAMAGE-COMMIT-01"], |d| {
        d.instead(|store, batch: Batch| async move {
            match store.commit(batch.clone()).await {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let mut rest = batch;
                    rest.ops.pop();
                    store.commit(rest).await?;
                    Err(error)
                }
                answer => answer,
            }
        })
    }),
    mutant("nothing is committed once a row was unreadable", &["DAMAGE-COMMIT-01"], |d| {
        let damaged = AtomicBool::new(false);
        d.result(move |_: &Batch, result: &mut Result<Receipt>| match result {
            Err(error) if error.kind() == ErrorKind::Corrupt => damaged.store(true, SeqCst),
            _ if damaged.load(SeqCst) => *result = Err(Error::closed()),
            _ => {}
        })
    }),
    mutant(
        "verify finds nothing",
        &["VERIFY-DAMAGE-01", "VERIFY-COUNT-01", "VERIFY-CHAIN-01", "REPAIR-DAMAGE-01"],
        |d| {
            d.after(|verify: &Verify, report: &mut VerifyReport| {
                if !verify.repair {
                    report.problems.clear();
                }
            })
        },
    ),
    mutant("verify stops at the first problem", &["VERIFY-DAMAGE-01", "VERIFY-COUNT-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| report.problems.truncate(1))
    }),
    mutant("verify fails where it should tell", &["VERIFY-DAMAGE-01"], |d| {
        d.result(|_: &Verify, result: &mut Result<VerifyReport>| {
            if result.as_ref().is_ok_and(|report| !report.is_clean()) {
                *result = Err(Error::new(ErrorKind::Corrupt, "something is wrong"));
            }
        })
    }),
    mutant("verify looks at nothing", &["VERIFY-SOUND-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| report.checked = Counts::default())
    }),
    mutant("verify takes a sound store for damaged", &["VERIFY-SOUND-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| {
            report.problems.push(Problem::new("session 9", "it looks odd"));
        })
    }),
    mutant("verify does not add tokens up", &["VERIFY-COUNT-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| {
            report.problems.retain(|problem| !problem.message.contains("total_tokens"));
        })
    }),
    mutant("verify names every session", &["VERIFY-COUNT-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| {
            for n in 0..10 {
                report.problems.push(Problem::new(format!("session s{n}"), "it looks odd"));
            }
        })
    }),
    mutant("verify names the last broken record", &["VERIFY-CHAIN-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| report.problems.reverse())
    }),
    mutant("verify does not compare hashes", &["VERIFY-CHAIN-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| {
            report.problems.retain(|problem| !problem.message.contains("hash"));
        })
    }),
    mutant("a repair tells what it repaired and does nothing", &["REPAIR-COUNT-01"], |d| {
        repair(d, |store, verify| async move {
            let mut report = store.verify(&verify.repair(false)).await?;
            report.problems.iter_mut().for_each(|problem| problem.repaired = true);
            Ok(report)
        })
    }),
    mutant("a repair drops the sessions that are wrong", &["REPAIR-COUNT-01"], |d| {
        repair(d, |store, verify| async move {
            let report = store.verify(&verify).await?;
            for problem in &report.problems {
                if let Some(id) = problem.location.strip_prefix("session ") {
                    store.delete_session(&id.into()).await?;
                }
            }
            Ok(report)
        })
    }),
    mutant("a repair tells nothing", &["REPAIR-COUNT-01"], |d| {
        d.after(|verify: &Verify, report: &mut VerifyReport| {
            if verify.repair {
                report.problems.clear();
            }
        })
    }),
    mutant("a repair numbers turns anew", &["REPAIR-COUNT-01", "REPAIR-SOUND-01"], |d| {
        let repairing = Arc::new(AtomicBool::new(false));
        let repaired = repairing.clone();
        d.before(move |verify: &mut Verify| {
            repairing.fetch_or(verify.repair, SeqCst);
        })
        .load(move |loaded| {
            for row in loaded.sessions.values_mut().filter(|_| repaired.load(SeqCst)) {
                row.record.next_turn = row.record.turn_count;
            }
        })
    }),
    mutant("a repair deletes what has ended", &["REPAIR-SOUND-01"], |d| {
        repair(d, |store, verify| async move {
            store.prune(&Prune::new(Timestamp::MAX)).await?;
            store.verify(&verify).await
        })
    }),
    mutant("a repair drops what it cannot read", &["REPAIR-DAMAGE-01"], |d| {
        repair(d, |store, verify| async move {
            let report = store.verify(&verify).await?;
            if !report.is_clean() {
                store.commit_one(Op::ForgetWorkspace { workspace: "default".into() }).await?;
            }
            Ok(report)
        })
    }),
    mutant("a repair says that all is well", &["REPAIR-DAMAGE-01"], |d| {
        d.after(|verify: &Verify, report: &mut VerifyReport| {
            if verify.repair {
                report.problems.iter_mut().for_each(|problem| problem.repaired = true);
            }
        })
    }),
];

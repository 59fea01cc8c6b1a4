//! Retries, by key and by id; restoring.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use memkeep_core::{decide::Change, *};

use crate::mutant::{Mutant, mutant};

const DAY: Duration = Duration::from_hours(24);

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "keys are ignored",
        &["HOSTILE-KEY-01", "RETRY-KEY-02", "RETRY-KEY-01", "RETRY-KEY-03", "RETRY-KEY-08"],
        |d| d.before(|batch: &mut Batch| batch.key = None),
    ),
    mutant("the key of a large batch is not kept", &["RETRY-KEY-01"], |d| {
        d.before(|batch: &mut Batch| {
            if batch.ops.len() > 1_000 {
                batch.key = None;
            }
        })
    }),
    mutant("what is answered again is not whole", &["RETRY-KEY-01"], |d| {
        let known: Mutex<HashSet<String>> = Mutex::default();
        d.after(move |batch: &Batch, receipt: &mut Receipt| {
            let Some(key) = &batch.key else { return };
            if known.lock().unwrap().insert(key.clone()) {
                return;
            }
            for outcome in &mut receipt.outcomes {
                match outcome {
                    Outcome::Turn(turn) => turn.metadata.clear(),
                    Outcome::Audit(record) => record.detail = Json::Null,
                    Outcome::Episode(episode) => episode.metadata.clear(),
                    _ => {}
                }
            }
        })
    }),
    mutant("keys never expire", &["RETRY-KEY-01", "RETRY-KEY-03"], |d| {
        d.load(|loaded| {
            loaded.receipt.iter_mut().for_each(|receipt| {
                // The receipt itself stays as it is.
                receipt.at = receipt.at.saturating_add(DAY * 365);
            })
        })
    }),
    mutant("keys expire after a day", &["RETRY-KEY-04", "RETRY-KEY-05"], |d| {
        d.load(|loaded| {
            loaded.receipt = loaded
                .receipt
                .take()
                .map(|receipt| StoredReceipt { at: receipt.at.saturating_sub(DAY * 6), ..receipt });
        })
    }),
    mutant("keys are known to one handle only", &["RETRY-KEY-04"], |d| {
        let opened = Arc::new(Mutex::new(0));
        let seen = opened.clone();
        d.open(move |_| *opened.lock().unwrap() += 1).before(move |batch: &mut Batch| {
            if *seen.lock().unwrap() > 1 {
                batch.key = None;
            }
        })
    }),
    mutant("any batch under a known key is answered with its receipt", &["RETRY-KEY-02"], |d| {
        let receipts: Mutex<HashMap<String, Receipt>> = Mutex::default();
        d.result(move |batch: &Batch, result: &mut Result<Receipt>| {
            let Some(key) = &batch.key else { return };
            let mut receipts = receipts.lock().unwrap();
            match result {
                Ok(receipt) => drop(receipts.insert(key.clone(), receipt.clone())),
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    if let Some(receipt) = receipts.get(key) {
                        *result = Ok(receipt.clone());
                    }
                }
                Err(_) => {}
            }
        })
    }),
    mutant("keys are compared without case and spaces", &["RETRY-KEY-02"], |d| {
        d.before(|batch: &mut Batch| {
            batch.key = batch.key.take().map(|key| key.trim().to_lowercase());
        })
    }),
    mutant("keys end at a NUL", &["HOSTILE-KEY-01"], |d| {
        d.before(|batch: &mut Batch| {
            if let Some(key) = &mut batch.key {
                key.truncate(key.find('\0').filter(|end| *end > 0).unwrap_or(key.len()));
            }
        })
    }),
    mutant("receipts are never pruned", &["RETRY-KEY-09"], |d| {
        d.keep(|change| !matches!(change, Change::DeleteReceipts(_)))
    }),
    mutant("pruning forgets young receipts", &["RETRY-KEY-08", "RETRY-KEY-09"], |d| {
        d.change(|change| {
            if let Change::DeleteReceipts(before) = change {
                *before = Timestamp::MAX;
            }
        })
    }),
    mutant("a refused batch takes its key", &["RETRY-KEY-10"], |d| {
        let refused: Mutex<HashMap<String, Error>> = Mutex::default();
        d.result(move |batch: &Batch, result: &mut Result<Receipt>| {
            let Some(key) = &batch.key else { return };
            let mut refused = refused.lock().unwrap();
            if let Some(error) = refused.get(key) {
                *result = Err(error.clone());
            } else if let Err(error) = result {
                refused.insert(key.clone(), error.clone());
            }
        })
    }),
    mutant("a key is looked at before the words", &["ERROR-PRECEDENCE-04"], |d| {
        d.refusal(|error| match error.kind() {
            ErrorKind::InvalidArgument => Error::new(ErrorKind::Conflict, "another batch"),
            _ => error.clone(),
        })
    }),
    mutant("a repeated batch tells what is there now", &["RETRY-KEY-06", "RETRY-KEY-05"], |d| {
        let keys: Mutex<Vec<String>> = Mutex::default();
        d.after(move |batch: &Batch, receipt: &mut Receipt| {
            let Some(key) = &batch.key else { return };
            let mut keys = keys.lock().unwrap();
            if keys.contains(key) {
                for outcome in &mut receipt.outcomes {
                    if let Outcome::Session(session) = outcome {
                        session.turn_count += 1;
                    } else if let Outcome::Episode(_) | Outcome::Note(_) = outcome {
                        *outcome = Outcome::Gone;
                    }
                }
            }
            keys.push(key.clone());
        })
    }),
    mutant(
        "a repeated batch answers with the first receipt to the letter",
        &["RETRY-KEY-07"],
        |d| {
            let receipts: Mutex<HashMap<String, Receipt>> = Mutex::default();
            d.after(move |batch: &Batch, receipt: &mut Receipt| {
                let Some(key) = &batch.key else { return };
                let mut receipts = receipts.lock().unwrap();
                *receipt = receipts.entry(key.clone()).or_insert_with(|| receipt.clone()).clone();
            })
        },
    ),
    mutant("a repeated batch is done again", &["RETRY-KEY-06", "RETRY-KEY-07"], |d| {
        d.load(|loaded| loaded.receipt = None)
    }),
    mutant(
        "what has changed since is another body",
        &["RETRY-ID-03", "RETRY-ID-04", "RETRY-ID-05", "RETRY-ID-06", "RESTORE-RECORD-03"],
        |d| {
            d.change(|change| match change {
                Change::PutTurn(put) => put.row.origin = None,
                Change::PutEpisode(put) => put.row.origin = None,
                Change::PutSession(put) => put.row.origin = None,
                _ => {}
            })
        },
    ),
    mutant("any body under a known id is the same", &["RETRY-ID-05", "RETRY-ID-06"], |d| {
        d.instead(|store, batch: Batch| async move {
            let answer = store.commit(batch.clone()).await;
            let [Op::AddEpisode(NewEpisode { id: Some(id), .. })] = &batch.ops[..] else {
                return answer;
            };
            match store.episode(&Scope::All, id).await? {
                Some(there) if answer.is_err() => {
                    let outcomes = vec![Outcome::Episode(there)];
                    Ok(Receipt { at: Timestamp::default(), outcomes })
                }
                _ => answer,
            }
        })
    }),
    mutant(
        "a known id is a Conflict",
        &["SESSION-PROMPT-04", "RETRY-ID-02", "RETRY-ID-01", "RETRY-ID-07", "RETRY-KEY-10"],
        |d| {
            let ids: Mutex<Vec<String>> = Mutex::default();
            d.result(move |batch: &Batch, result: &mut Result<Receipt>| {
                let mut ids = ids.lock().unwrap();
                for op in &batch.ops {
                    let id = match op {
                        Op::AddNote(NewNote { id: Some(id), .. }) => format!("note {id}"),
                        Op::StartSession(NewSession { id: Some(id), .. }) => {
                            format!("session {id}")
                        }
                        Op::AddEpisode(NewEpisode { id: Some(id), .. }) => format!("episode {id}"),
                        _ => continue,
                    };
                    if ids.contains(&id) && result.is_ok() {
                        *result = Err(Error::new(ErrorKind::Conflict, "the id is taken"));
                    }
                    ids.push(id);
                }
            })
        },
    ),
    mutant("a deleted id stays taken", &["RETRY-ID-08"], |d| {
        let gone: Mutex<Vec<EpisodeId>> = Mutex::default();
        d.result(move |batch: &Batch, result: &mut Result<Receipt>| {
            let mut gone = gone.lock().unwrap();
            for op in &batch.ops {
                match op {
                    Op::DeleteEpisode { episode, .. } => gone.push(episode.clone()),
                    Op::AddEpisode(NewEpisode { id: Some(id), .. }) if gone.contains(id) => {
                        *result = Err(Error::new(ErrorKind::Conflict, "the id was taken"));
                    }
                    _ => {}
                }
            }
        })
    }),
    mutant("a note is checked against its sources before its id", &["RETRY-ID-07"], |d| {
        d.instead(|store, batch: Batch| async move {
            for op in &batch.ops {
                if let Op::AddNote(new) = op {
                    for source in new.sources.iter().flatten() {
                        if store.episode(&Scope::All, source).await?.is_none() {
                            return Err(Error::not_found("episode", source).with("op", 0));
                        }
                    }
                }
            }
            store.commit(batch).await
        })
    }),
    mutant(
        "an ended session refuses the repetition of its turns",
        &["RETRY-ID-03", "RETRY-ID-04"],
        |d| {
            d.instead(|store, batch: Batch| async move {
                if let [Op::RecordTurn(new)] = &batch.ops[..]
                    && let Some(session) = store.session(&Scope::All, &new.session).await?
                    && session.ended_at.is_some()
                {
                    return Err(Error::new(ErrorKind::Conflict, "the session has ended"));
                }
                store.commit(batch).await
            })
        },
    ),
    mutant("ensuring a session compares what is left out", &["SESSION-ENSURE-02"], |d| {
        d.op(|op| {
            if let Op::EnsureSession(new) = op {
                *op = Op::StartSession(new.clone());
            }
        })
    }),
    mutant("ensuring a session compares nothing", &["SESSION-ENSURE-03"], |d| {
        d.op(|op| {
            if let Op::EnsureSession(new) = op
                && let Some(id) = new.id.clone()
                && new.workspace.is_none()
            {
                *new = NewSession::new().id(id);
            }
        })
    }),
    mutant("ensuring a session resumes it", &["SESSION-ENSURE-02"], |d| {
        d.after(|batch: &Batch, receipt: &mut Receipt| {
            for (op, outcome) in batch.ops.iter().zip(&mut receipt.outcomes) {
                if let (Op::EnsureSession(_), Outcome::Session(session)) = (op, outcome) {
                    session.ended_at = None;
                }
            }
        })
    }),
    mutant("an ensured session has no mode", &["SESSION-ENSURE-01", "SESSION-ENSURE-03"], |d| {
        d.op(|op| {
            if let Op::EnsureSession(new) = op {
                (new.model, new.mode) = (None, None);
            }
        })
    }),
    mutant("starting a session compares what is given only", &["RETRY-ID-08"], |d| {
        d.op(|op| {
            if let Op::StartSession(new) = op {
                *op = Op::EnsureSession(new.clone());
            }
        })
    }),
    mutant(
        "restored records have the clock's time",
        &["RESTORE-BATCH-01", "RESTORE-RECORD-01", "RESTORE-NOTE-01"],
        |d| {
            d.field("record", |record| {
                if record["kind"] != "audit" && record["kind"] != "state" {
                    record["created_at"] = Timestamp::default().to_string().into();
                }
            })
        },
    ),
    mutant("restored state counts anew", &["RESTORE-BATCH-01", "RESTORE-RECORD-01"], |d| {
        d.op(|op| {
            if let Op::Restore { record: Record::State(slot) } = op {
                slot.version = 1;
            }
        })
    }),
    mutant(
        "a restored record cannot be restored again",
        &["RESTORE-RECORD-03", "RESTORE-RECORD-02"],
        |d| {
            let seen: Mutex<Vec<Record>> = Mutex::default();
            d.result(move |batch: &Batch, result: &mut Result<Receipt>| {
                let mut seen = seen.lock().unwrap();
                for op in &batch.ops {
                    if let Op::Restore { record } = op {
                        if seen.contains(record) {
                            *result = Err(Error::new(ErrorKind::Conflict, "it is there"));
                        }
                        seen.push(record.clone());
                    }
                }
            })
        },
    ),
    mutant("restoring again takes changes back", &["RESTORE-RECORD-04"], |d| {
        d.before(|batch: &mut Batch| {
            let ids: Vec<EpisodeId> = batch
                .ops
                .iter()
                .filter_map(|op| match op {
                    Op::Restore { record: Record::Episode(episode) } => Some(episode.id.clone()),
                    _ => None,
                })
                .collect();
            let deletes =
                ids.into_iter().map(|episode| Op::DeleteEpisode { episode, closed_before: None });
            batch.ops.splice(0..0, deletes);
        })
        .after(|batch: &Batch, receipt: &mut Receipt| {
            let surplus = receipt.outcomes.len() - batch.ops.len();
            receipt.outcomes.drain(..surplus);
        })
    }),
    mutant("a restored body under a known id is not compared", &["RESTORE-RECORD-04"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            if let ([Op::Restore { record }], Err(error)) = (&batch.ops[..], &*result)
                && error.kind() == ErrorKind::Conflict
                && !matches!(record, Record::Turn(_) | Record::Step(_) | Record::Audit(_))
            {
                let outcomes = vec![Outcome::Restored { record: record.clone(), created: false }];
                *result = Ok(Receipt { at: Timestamp::default(), outcomes });
            }
        })
    }),
    mutant("whatever is restored is new", &["RESTORE-RECORD-05"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Restored { created, .. } = outcome {
                *created = true;
            }
        })
    }),
    mutant(
        "what a keyed batch restored is not new when asked again",
        &["RESTORE-RECORD-05"],
        |d| {
            let keys: Mutex<Vec<String>> = Mutex::default();
            d.after(move |batch: &Batch, receipt: &mut Receipt| {
                let Some(key) = &batch.key else { return };
                let mut keys = keys.lock().unwrap();
                for outcome in receipt.outcomes.iter_mut().filter(|_| keys.contains(key)) {
                    if let Outcome::Restored { created, .. } = outcome {
                        *created = false;
                    }
                }
                keys.push(key.clone());
            })
        },
    ),
    mutant("a restored turn may take any index", &["RESTORE-TURN-01"], |d| {
        d.load(|loaded| {
            loaded.turn_slots.clear();
            loaded.step_slots.clear();
        })
    }),
    mutant("any audit record is restored at the end of its chain", &["RESTORE-AUDIT-01"], |d| {
        d.instead(|store, batch: Batch| async move {
            let answer = store.commit(batch.clone()).await;
            match &batch.ops[..] {
                [Op::Restore { record: Record::Audit(record) }] if answer.is_err() => {
                    let new = NewAudit::new(&record.action[..], &record.decision[..]);
                    let new = new.workspace(record.workspace.clone());
                    store.commit(new.detail(record.detail.clone()).into()).await
                }
                _ => answer,
            }
        })
    }),
    mutant("a restored note needs its sources", &["RESTORE-RECORD-02"], |d| {
        d.instead(|store, batch: Batch| async move {
            for op in &batch.ops {
                if let Op::Restore { record: Record::Note(note) } = op {
                    for source in &note.sources {
                        if store.episode(&Scope::All, source).await?.is_none() {
                            return Err(Error::not_found("episode", source));
                        }
                    }
                }
            }
            store.commit(batch).await
        })
    }),
    mutant("a restored session loses its summary", &["RESTORE-BATCH-01", "RESTORE-COPY-01"], |d| {
        d.op(|op| {
            if let Op::Restore { record: Record::Session(session) } = op {
                session.summary = None;
            }
        })
    }),
];

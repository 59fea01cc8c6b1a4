//! Batches: atomic, in order, visible, durable; what refuses them, and by which error.

use std::{
    collections::HashMap,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use memkeep_core::{
    decide::{Change, Prepared},
    *,
};

use crate::{
    defect::Store,
    mutant::{Mutant, mutant},
    shared_map::SharedMap,
};

/// The same error with another kind and context.
fn remade(error: &Error, kind: ErrorKind, keep: fn(&str) -> bool) -> Error {
    let kept = error.context().iter().filter(|(name, _)| keep(name));
    kept.fold(Error::new(kind, error.message()), |error, (name, value)| error.with(name, value))
}

/// The same error of another kind, if it is of `from`.
fn rekinded(error: &Error, from: ErrorKind, to: ErrorKind) -> Error {
    if error.kind() == from { remade(error, to, |_| true) } else { error.clone() }
}

fn at_op(error: &Error) -> Option<usize> {
    error.get("op").and_then(|op| op.parse().ok())
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("a large batch is committed in pieces", &["BATCH-ATOMIC-01"], |d| {
        d.instead(|store: Store, batch: Batch| async move {
            if batch.ops.len() <= 500 {
                return store.commit(batch).await;
            }
            let mut whole = None;
            for ops in batch.ops.chunks(500) {
                let receipt = store.commit(ops.iter().cloned().collect()).await?;
                let whole =
                    whole.get_or_insert(Receipt { outcomes: Vec::new(), ..receipt.clone() });
                whole.outcomes.extend(receipt.outcomes);
            }
            Ok(whole.unwrap_or(Receipt { at: Timestamp::default(), outcomes: Vec::new() }))
        })
    }),
    mutant(
        "a refused batch leaves its beginning",
        &[
            "STATE-EXPECT-03",
            "BATCH-ATOMIC-01",
            "BATCH-ATOMIC-02",
            "BOUNDS-NAME-05",
            "BOUNDS-NAME-04",
            "WRITERS-INDEX-02",
        ],
        |d| {
            d.instead(|store, batch: Batch| async move {
                let answer = store.commit(batch.clone()).await;
                if let Err(error) = &answer {
                    let done = batch.ops.into_iter().take(at_op(error).unwrap_or(0));
                    let _ = store.commit(done.collect()).await;
                }
                answer
            })
        },
    ),
    mutant(
        "each op is committed alone",
        &[
            "STATE-EXPECT-03",
            "BATCH-ATOMIC-01",
            "BATCH-ATOMIC-02",
            "BOUNDS-NAME-05",
            "CANCEL-COMMIT-02",
            "CANCEL-COMMIT-01",
            "ERROR-PRECEDENCE-01",
            "WRITERS-READ-01",
        ],
        |d| {
            d.instead(|store, batch: Batch| async move {
                if batch.key.is_some() || batch.ops.len() > 50 {
                    return store.commit(batch).await;
                }
                let mut receipt = store.commit(Batch::new()).await?;
                for (position, op) in batch.ops.into_iter().enumerate() {
                    let done = store.commit(op.into()).await.map_err(|error| {
                        remade(&error, error.kind(), |name| name != "op").with("op", position)
                    })?;
                    receipt.outcomes.extend(done.outcomes);
                }
                Ok(receipt)
            })
        },
    ),
    mutant(
        "the last row of a batch is lost",
        &[
            "SCOPE-SESSION-02",
            "SCOPE-SESSION-04",
            "NOTE-SOURCE-04",
            "BATCH-OUTCOME-01",
            "BATCH-LATER-04",
            "BATCH-VISIBLE-01",
            "BATCH-LATER-05",
            "BATCH-VISIBLE-02",
            "BATCH-DURABLE-01",
            "BOUNDS-NAME-03",
            "BOUNDS-NAME-01",
            "CANCEL-COMMIT-03",
            "ERROR-UNKNOWN-02",
            "ID-UNIQUE-01",
            "RESTORE-TURN-01",
            "RESTORE-STATE-01",
            "RESTORE-TURN-02",
            "WRITERS-ONCE-03",
        ],
        |d| d.changes(|changes| drop((changes.len() > 1).then(|| changes.pop()))),
    ),
    mutant(
        "nothing is stored",
        &[
            "SCOPE-SESSION-03",
            "BATCH-OUTCOME-01",
            "BATCH-VISIBLE-01",
            "BATCH-LATER-05",
            "BOUNDS-NAME-02",
            "CANCEL-READ-01",
            "ERROR-ENDED-01",
            "ERROR-UNKNOWN-02",
            "ID-UNIQUE-01",
            "RESTORE-STATE-01",
            "RESTORE-TURN-02",
            "RESTORE-AUDIT-01",
            "WRITERS-ONCE-01",
            "WRITERS-ONCE-03",
            "WRITERS-ONCE-02",
        ],
        |d| d.changes(Vec::clear),
    ),
    mutant(
        "the ops of a batch are done backwards",
        &[
            "SCOPE-COUNT-04",
            "BATCH-CLOCK-01",
            "BOUNDS-NAME-06",
            "BOUNDS-JSON-01",
            "CLOSE-HANDLE-01",
            "ERROR-BODY-01",
            "ERROR-PRECEDENCE-04",
            "ID-GENERATED-01",
            "RESTORE-BATCH-01",
            "RESTORE-COPY-01",
            "WRITERS-ONCE-01",
            "WRITERS-ONCE-02",
            "WRITERS-ONCE-04",
        ],
        |d| {
            d.before(|batch: &mut Batch| batch.ops.reverse())
                .after(|_: &Batch, receipt: &mut Receipt| receipt.outcomes.reverse())
        },
    ),
    mutant(
        "the rows of a batch are inserted backwards",
        &["EPISODE-OPEN-01", "BATCH-ORDER-01"],
        |d| {
            d.changes(|changes| {
                let puts =
                    |change: &Change| matches!(change, Change::PutEpisode(_) | Change::PutNote(_));
                let mut rows: Vec<Change> = changes.iter().filter(|c| puts(c)).cloned().collect();
                for change in changes.iter_mut().filter(|c| puts(c)) {
                    *change = rows.pop().unwrap();
                }
            })
        },
    ),
    mutant("the sessions of a batch are inserted by their ids", &["BATCH-ORDER-01"], |d| {
        d.changes(|changes| {
            let puts = |change: &Change| matches!(change, Change::PutSession(_));
            let mut rows: Vec<Change> = changes.iter().filter(|c| puts(c)).cloned().collect();
            rows.sort_by_key(|change| match change {
                Change::PutSession(put) => put.row.record.id.to_string(),
                _ => String::new(),
            });
            for (change, row) in changes.iter_mut().filter(|c| puts(c)).zip(rows) {
                *change = row;
            }
        })
    }),
    mutant("an id made anew keeps its place", &["BATCH-ORDER-02"], |d| {
        d.changes(|changes| {
            let mut gone = Vec::new();
            changes.retain(|change| match change {
                Change::DeleteEpisode(id) => {
                    gone.push(id.clone());
                    false
                }
                _ => true,
            });
            for change in changes.iter_mut() {
                if let Change::PutEpisode(put) = change
                    && gone.contains(&put.row.record.id)
                {
                    gone.retain(|id| *id != put.row.record.id);
                    put.new = false;
                }
            }
            changes.splice(0..0, gone.into_iter().map(Change::DeleteEpisode));
        })
    }),
    mutant("a session made anew keeps its turns", &["BATCH-ORDER-02"], |d| {
        d.changes(|changes| {
            let anew = changes.iter().any(|c| matches!(c, Change::PutSession(put) if put.new));
            changes.retain(|change| !(anew && matches!(change, Change::DeleteSession(_))));
        })
    }),
    mutant("an empty batch is refused", &["BATCH-OUTCOME-02"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            if batch.ops.is_empty() {
                *result = Err(Error::invalid("batch", "there is nothing to do"));
            }
        })
    }),
    mutant("a batch that was prepared loses its key", &["BATCH-PREPARED-01"], |d| {
        d.before(|prepared: &mut Prepared| {
            let batch = Batch { key: None, ..prepared.clone().into_batch() };
            *prepared = batch.prepare().unwrap();
        })
    }),
    mutant("an outcome is left out", &["BATCH-LATER-01"], |d| {
        d.after(|_: &Batch, receipt: &mut Receipt| {
            if receipt.outcomes.len() > 1 {
                receipt.outcomes.pop();
            }
        })
    }),
    mutant("the receipt's time is another", &["BATCH-OUTCOME-02", "BATCH-CLOCK-01"], |d| {
        d.after(|_: &Batch, receipt: &mut Receipt| {
            receipt.at = receipt.at.saturating_add(std::time::Duration::from_micros(1));
        })
    }),
    mutant(
        "what a scan answered is answered ever after",
        &["MODEL-PROGRAM-03", "BATCH-VISIBLE-02"],
        |d| {
            let cache: Mutex<HashMap<String, Page<Record>>> = Mutex::default();
            d.after(move |scan: &Scan, page: &mut Page<Record>| {
                let mut cache = cache.lock().unwrap();
                *page = cache.entry(format!("{scan:?}")).or_insert_with(|| page.clone()).clone();
            })
        },
    ),
    mutant("statistics lag behind", &["SCOPE-COUNT-02", "SCOPE-COUNT-03"], |d| {
        let before: Mutex<Option<Stats>> = Mutex::default();
        d.after(move |_: &Scope, stats: &mut Stats| {
            let now = *stats;
            *stats = before.lock().unwrap().replace(now).unwrap_or(now);
        })
    }),
    mutant(
        "the last commit is lost at reopening",
        &["AUDIT-CHAIN-03", "MODEL-PROGRAM-02", "BATCH-DURABLE-01"],
        |d| d.open(SharedMap::lose_last),
    ),
    mutant(
        "generated ids are numbers",
        &["NOTE-ADD-01", "ID-GENERATED-01", "WRITERS-ONCE-04"],
        |d| {
            let next = AtomicU64::new(1);
            d.op(move |op| {
                let id = || format!("{}", next.fetch_add(1, Ordering::Relaxed));
                match op {
                    Op::AddEpisode(new) => drop(new.id.get_or_insert_with(|| id().into())),
                    Op::AddNote(new) => drop(new.id.get_or_insert_with(|| id().into())),
                    Op::RecordTurn(new) => drop(new.id.get_or_insert_with(|| id().into())),
                    _ => {}
                }
            })
        },
    ),
    mutant(
        "errors do not say which op",
        &["BATCH-LATER-01", "BOUNDS-NAME-06", "ERROR-PRECEDENCE-01"],
        |d| d.refusal(|error| remade(error, error.kind(), |name| name != "op")),
    ),
    mutant(
        "errors count ops from 1",
        &["BATCH-LATER-02", "BATCH-LATER-03", "ERROR-PRECEDENCE-03"],
        |d| {
            d.refusal(|error| {
                let bare = remade(error, error.kind(), |name| name != "op");
                at_op(error).map_or(bare.clone(), |op| bare.with("op", op + 1))
            })
        },
    ),
    mutant(
        "errors do not name the field",
        &["STATE-EXPIRE-02", "BOUNDS-BATCH-02", "ERROR-TOKENS-01"],
        |d| d.refusal(|error| remade(error, error.kind(), |name| name != "field")),
    ),
    mutant("errors name no record", &["ERROR-UNKNOWN-01", "ERROR-ENDED-01"], |d| {
        d.refusal(|error| remade(error, error.kind(), |name| ["op", "field"].contains(&name)))
    }),
    mutant("every error is said to be retryable", &["ERROR-UNKNOWN-01"], |d| {
        d.refusal(|error| error.clone().retryable())
    }),
    mutant("errors quote what was given", &["ERROR-CONTENT-01"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            if let Err(error) = result {
                *error = error.clone().with("batch", format!("{batch:?}"));
            }
        })
    }),
    mutant(
        "NotFound is Conflict",
        &[
            "SCOPE-NOTE-03",
            "EPISODE-REVISE-03",
            "NOTE-SOURCE-01",
            "BATCH-LATER-02",
            "ERROR-PRECEDENCE-02",
        ],
        |d| d.refusal(|error| rekinded(error, ErrorKind::NotFound, ErrorKind::Conflict)),
    ),
    mutant(
        "Conflict is InvalidArgument",
        &[
            "STATE-PUT-02",
            "STATE-EXPECT-01",
            "BATCH-LATER-03",
            "ERROR-BODY-01",
            "ERROR-PRECEDENCE-03",
        ],
        |d| d.refusal(|error| rekinded(error, ErrorKind::Conflict, ErrorKind::InvalidArgument)),
    ),
    mutant("InvalidArgument is Unexpected", &["ERROR-TOKENS-01", "ERROR-PRECEDENCE-02"], |d| {
        d.refusal(|error| rekinded(error, ErrorKind::InvalidArgument, ErrorKind::Unexpected))
    }),
    mutant("too many tokens are a Conflict", &["ERROR-TOKENS-01"], |d| {
        d.refusal(|error| match error.get("field") {
            Some("tokens") => rekinded(error, ErrorKind::InvalidArgument, ErrorKind::Conflict),
            _ => error.clone(),
        })
    }),
    mutant(
        "a Conflict is swallowed",
        &["STATE-EXPECT-02", "STATE-EXPECT-04", "STATE-EXPECT-05", "ERROR-CONTENT-01"],
        |d| {
            d.result(|batch: &Batch, result: &mut Result<Receipt>| {
                if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict) {
                    let outcomes = vec![Outcome::Deleted(Deleted::default()); batch.ops.len()];
                    *result = Ok(Receipt { at: Timestamp::default(), outcomes });
                }
            })
        },
    ),
    mutant("the op that is refused first by its state tells", &["ERROR-PRECEDENCE-01"], |d| {
        d.instead(|store, batch: Batch| async move {
            let answer = store.commit(batch.clone()).await;
            if let Err(error) = &answer
                && error.kind() == ErrorKind::InvalidArgument
                && let Some(op) = at_op(error)
            {
                store.commit(batch.ops.into_iter().take(op).collect()).await?;
            }
            answer
        })
    }),
    mutant("the op that is refused last tells", &["ERROR-PRECEDENCE-03"], |d| {
        d.instead(|store, batch: Batch| async move {
            let answer = store.commit(batch.clone()).await;
            if let Err(error) = &answer
                && let Some(last) = batch.ops.last().cloned()
                && let Err(other) = store.commit(last.into()).await
            {
                let position = batch.ops.len() - 1;
                let other = remade(&other, other.kind(), |name| name != "op");
                return Err(if error.kind() == other.kind() {
                    other.with("op", position)
                } else {
                    error.clone()
                });
            }
            answer
        })
    }),
    mutant("a deletion of nothing is NotFound", &["EPISODE-DELETE-01"], |d| {
        d.result(|_: &Batch, result: &mut Result<Receipt>| {
            let nothing = |outcome: &Outcome| matches!(outcome, Outcome::Deleted(d) if !d.existed);
            if result.as_ref().is_ok_and(|receipt| receipt.outcomes.iter().any(nothing)) {
                *result = Err(Error::not_found("record", "?"));
            }
        })
    }),
    mutant("whatever is deleted existed", &["EPISODE-DELETE-01"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Deleted(deleted) = outcome {
                deleted.existed = true;
            }
        })
    }),
    mutant("nothing that is deleted existed", &["NOTE-DELETE-01"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Deleted(deleted) = outcome {
                *deleted = Deleted::default();
            }
        })
    }),
    mutant("a commit panics at a deletion", &["BATCH-LATER-04"], |d| {
        d.before(|batch: &mut Batch| {
            assert!(!batch.ops.iter().any(|op| matches!(op, Op::DeleteTurn { .. })));
        })
    }),
    mutant("expectations are not looked at", &["STATE-EXPECT-05", "STATE-EXPECT-06"], |d| {
        d.op(|op| match op {
            Op::PutState(put) => put.expected = None,
            Op::DeleteState(delete) => delete.expected = None,
            _ => {}
        })
    }),
    mutant("an absent entry is as good as any", &["STATE-EXPECT-06"], |d| {
        d.op(|op| {
            if let Op::PutState(put) = op {
                put.expected = put.expected.filter(|expected| *expected != Expected::Absent);
            }
        })
    }),
    mutant("a note's sources are not looked for", &["NOTE-SOURCE-01", "NOTE-SOURCE-02"], |d| {
        d.op(|op| {
            if let Op::AddNote(new) = op {
                new.sources = None;
            }
        })
    }),
    mutant("a note's sources may be anywhere", &["NOTE-SOURCE-02"], |d| {
        d.instead(|store, mut batch: Batch| async move {
            for op in &mut batch.ops {
                if let Op::AddNote(new) = op
                    && let Some(source) = new.sources.iter().flatten().next()
                    && let Some(episode) = store.episode(&Scope::All, source).await?
                {
                    let workspace = new.workspace.clone().unwrap_or(episode.workspace);
                    *op = Op::from(Record::Note(Note {
                        id: new.id.clone().unwrap_or_else(NoteId::generate),
                        workspace,
                        created_at: new.created_at.unwrap_or_default(),
                        text: new.text.clone(),
                        sources: new.sources.clone().unwrap_or_default(),
                    }));
                }
            }
            store.commit(batch).await
        })
        .outcome(|outcome| {
            if let Outcome::Restored { record: Record::Note(note), .. } = outcome {
                *outcome = Outcome::Note(note.clone());
            }
        })
    }),
];

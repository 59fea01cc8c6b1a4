//! Turns and steps: order, indexes, tags, find.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use memkeep_core::{decide::Change, *};

use crate::mutant::{Mutant, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "turns of one timestamp come backwards",
        &["TURN-ORDER-02", "TURN-ORDER-03", "TURN-ORDER-01", "TURN-LAST-01"],
        |d| {
            d.after(|_: &ListTurns, page: &mut Page<Turn>| {
                page.items.reverse();
                page.items.sort_by_key(|turn| turn.created_at);
            })
        },
    ),
    mutant("turns are sorted by their times", &["TURN-ORDER-02", "TURN-ORDER-03"], |d| {
        d.after(|_: &ListTurns, page: &mut Page<Turn>| {
            page.items.sort_by_key(|turn| turn.created_at);
        })
    }),
    mutant("newest turns are those with the latest times", &["TURN-ORDER-04"], |d| {
        d.after(|list: &ListTurns, page: &mut Page<Turn>| {
            if list.newest_first {
                page.items.sort_by_key(|turn| Reverse(turn.created_at));
            }
        })
    }),
    mutant(
        "the last turns are the first",
        &["TURN-ORDER-04", "TURN-ORDER-01", "TURN-LAST-01"],
        |d| d.before(|list: &mut ListTurns| list.newest_first = false),
    ),
    mutant("steps are sorted by their times", &["STEP-ORDER-01", "STEP-ORDER-02"], |d| {
        d.after(|_: &ListSteps, page: &mut Page<Step>| {
            page.items.sort_by_key(|step| step.created_at);
        })
    }),
    mutant("steps come backwards", &["STEP-ORDER-01", "STEP-INDEX-01"], |d| {
        d.after(|_: &ListSteps, page: &mut Page<Step>| page.items.reverse())
    }),
    mutant(
        "the next index is the count of turns",
        &["TURN-INDEX-03", "TURN-INDEX-04", "TURN-DELETE-01"],
        |d| d.session_rows(|session| session.next_turn = session.turn_count),
    ),
    mutant("turns and steps share a counter", &["TURN-INDEX-01"], |d| {
        d.session_rows(|session| {
            let next = session.next_turn.max(session.next_step);
            (session.next_turn, session.next_step) = (next, next);
        })
    }),
    mutant("an index is skipped", &["TURN-INDEX-02", "TURN-INDEX-01"], |d| {
        d.session_rows(|session| session.next_turn += session.next_turn % 2)
    }),
    mutant(
        "a step's index is given twice",
        &["STEP-ORDER-02", "STEP-INDEX-01", "SESSION-LIST-04"],
        |d| d.session_rows(|session| session.next_step = session.next_step.min(1)),
    ),
    mutant("a refused turn takes an index", &["TURN-INDEX-02"], |d| {
        d.instead(|store, batch: Batch| async move {
            let answer = store.commit(batch.clone()).await;
            for op in batch.ops.into_iter().filter(|_| answer.is_err()) {
                if let Op::RecordTurn(mut new) = op {
                    new.id = Some("burnt".into());
                    let burn = Op::DeleteTurn { turn: "burnt".into() };
                    let _ = store.commit(Batch::from(new).with(burn)).await;
                }
            }
            answer
        })
    }),
    mutant("a turn's tags outlive it", &["TURN-DELETE-01"], |d| {
        let tags: Mutex<HashMap<TurnId, BTreeMap<_, _>>> = Mutex::default();
        d.change(move |change| {
            if let Change::PutTurn(put) = change {
                let turn = &mut put.row.record;
                let mut tags = tags.lock().unwrap();
                let tags = tags.entry(turn.id.clone()).or_default();
                tags.extend(turn.tags.clone());
                if put.new {
                    turn.tags.clone_from(tags);
                }
            }
        })
    }),
    mutant("tag names are case-folded", &["TURN-TAG-01"], |d| {
        d.op(|op| {
            if let Op::TagTurn { name, .. } | Op::UntagTurn { name, .. } = op {
                *name = name.to_lowercase();
            }
        })
    }),
    mutant("a tag without a value has an empty one", &["TURN-TAG-02", "TURN-TAG-01"], |d| {
        d.op(|op| {
            if let Op::TagTurn { value, .. } = op {
                value.get_or_insert_default();
            }
        })
    }),
    mutant("a tag keeps its first value", &["TURN-TAG-02"], |d| {
        d.instead(|store, mut batch: Batch| async move {
            for op in &mut batch.ops {
                if let Op::TagTurn { turn, name, value } = op
                    && let Some(there) = store.turn(&Scope::All, turn).await?
                    && let Some(first) = there.tags.get(name)
                {
                    value.clone_from(first);
                }
            }
            store.commit(batch).await
        })
    }),
    mutant("an embedding cannot be removed", &["TURN-TAG-02"], |d| {
        d.op(|op| {
            if let Op::SetEmbedding { embedding_id, .. } = op {
                embedding_id.get_or_insert_default();
            }
        })
    }),
    mutant("an unknown turn is untagged without a word", &["ERROR-UNKNOWN-01"], |d| {
        d.result(|batch: &Batch, result: &mut Result<Receipt>| {
            let untags = batch.ops.iter().all(|op| matches!(op, Op::UntagTurn { .. }));
            if result.is_err() && untags {
                let receipt = Receipt { at: Timestamp::default(), outcomes: vec![] };
                *result = Ok(receipt);
            }
        })
    }),
    mutant("a step's payload is lost", &["STEP-READ-01"], |d| {
        d.op(|op| {
            if let Op::RecordStep(new) = op {
                new.payload = None;
            }
        })
    }),
    mutant("a step's time is the clock's", &["STEP-READ-01"], |d| {
        d.op(|op| {
            if let Op::RecordStep(new) = op {
                new.created_at = None;
            }
        })
    }),
    mutant("a turn's time is the clock's", &["SESSION-LIST-02"], |d| {
        d.op(|op| {
            if let Op::RecordTurn(new) = op {
                new.created_at = None;
            }
        })
    }),
    mutant("a turn keeps no tokens", &["SESSION-TOTAL-01"], |d| {
        d.op(|op| {
            if let Op::RecordTurn(new) = op {
                new.tokens = None;
            }
        })
    }),
];

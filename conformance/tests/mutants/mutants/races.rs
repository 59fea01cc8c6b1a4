//! Many writers, two handles, killed processes.

use std::{sync::Mutex, time::Duration};

use memkeep_core::*;
use tokio::{task::yield_now, time::sleep};

use crate::mutant::{Mutant, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("compare-and-set reads, then writes", &["LINEAR-STATE-01"], |d| {
        d.instead(|store, mut batch: Batch| async move {
            for (position, op) in batch.ops.iter_mut().enumerate() {
                if let Op::PutState(put) = op
                    && let Some(expected) = put.expected.take()
                {
                    let workspace = put.workspace.clone().unwrap_or_default();
                    let there = store.state(&workspace, &put.key).await?;
                    let holds = match expected {
                        Expected::Any => true,
                        Expected::Absent => there.is_none(),
                        Expected::Version(version) => there.is_some_and(|e| e.version == version),
                    };
                    if !holds {
                        let error = Error::new(ErrorKind::Conflict, "another version");
                        return Err(error.with("key", &put.key).with("op", position));
                    }
                    yield_now().await;
                }
            }
            store.commit(batch).await
        })
    }),
    mutant(
        "an index is read, then given",
        &["LINEAR-INDEX-01", "WRITERS-INDEX-01", "WRITERS-READ-01"],
        |d| {
            d.instead(|store, mut batch: Batch| async move {
                for op in &mut batch.ops {
                    if let Op::RecordTurn(new) = op
                        && let Some(session) = store.session(&Scope::All, &new.session).await?
                    {
                        yield_now().await;
                        *op = Op::from(Record::Turn(Turn {
                            id: new.id.clone().unwrap_or_else(TurnId::generate),
                            workspace: session.workspace,
                            created_at: new.created_at.unwrap_or_default(),
                            session: session.id,
                            index: session.next_turn,
                            role: new.role.clone(),
                            content: new.content.clone(),
                            model: None,
                            tokens: None,
                            embedding_id: None,
                            metadata: Metadata::new(),
                            tags: std::collections::BTreeMap::new(),
                        }));
                    }
                }
                let mut receipt = store.commit(batch).await?;
                for outcome in &mut receipt.outcomes {
                    if let Outcome::Restored { record: Record::Turn(turn), .. } = outcome {
                        *outcome = Outcome::Turn(turn.clone());
                    }
                }
                Ok(receipt)
            })
        },
    ),
    mutant(
        "the end of a chain is read, then extended",
        &["LINEAR-AUDIT-01", "LINEAR-AUDIT-02"],
        |d| {
            d.instead(|store, mut batch: Batch| async move {
                if let [Op::AppendAudit(new)] = &mut batch.ops[..] {
                    let workspace = new.workspace.clone().unwrap_or_default();
                    let head = store.audit_head(&workspace).await?;
                    yield_now().await;
                    let mut record = AuditRecord {
                        id: new.id.clone().unwrap_or_else(AuditId::generate),
                        workspace,
                        created_at: new.created_at.unwrap_or_default(),
                        seq: head.seq + 1,
                        action: new.action.clone(),
                        decision: new.decision.clone(),
                        detail: new.detail.clone().unwrap_or_default(),
                        hash: Hash::default(),
                    };
                    record.hash = record.expected_hash(&head.hash);
                    batch = Batch::from(Op::from(Record::Audit(record)));
                }
                let mut receipt = store.commit(batch).await?;
                for outcome in &mut receipt.outcomes {
                    if let Outcome::Restored { record: Record::Audit(record), .. } = outcome {
                        *outcome = Outcome::Audit(record.clone());
                    }
                }
                Ok(receipt)
            })
        },
    ),
    mutant("the state of a moment ago is read", &["LINEAR-STATE-01", "LINEAR-STATE-02"], |d| {
        let last: Mutex<std::collections::HashMap<String, Option<StateEntry>>> = Mutex::default();
        d.after(move |(_, key): &(Workspace, String), entry: &mut Option<StateEntry>| {
            let now = entry.clone();
            if let Some(before) = last.lock().unwrap().insert(key.clone(), now) {
                *entry = before;
            }
        })
    }),
    mutant(
        "batches are acknowledged before they are stored",
        &[
            "LINEAR-STATE-02",
            "LINEAR-INDEX-01",
            "LINEAR-INDEX-02",
            "LINEAR-AUDIT-01",
            "LINEAR-AUDIT-02",
            "CRASH-KILL-01",
            "WRITERS-INDEX-01",
            "WRITERS-WHOLE-02",
            "WRITERS-WHOLE-01",
        ],
        |d| {
            d.instead(|store, batch: Batch| async move {
                tokio::spawn(async move {
                    sleep(Duration::from_millis(30)).await;
                    store.commit(batch).await
                });
                sleep(Duration::from_millis(1)).await;
                Ok(Receipt { at: Timestamp::default(), outcomes: Vec::new() })
            })
        },
    ),
    mutant(
        "a batch is stored in two halves",
        &[
            "LINEAR-INDEX-02",
            "CRASH-KILL-01",
            "WRITERS-WHOLE-02",
            "WRITERS-WHOLE-01",
            "WRITERS-INDEX-02",
        ],
        |d| {
            d.instead(|store, batch: Batch| async move {
                let Batch { mut ops, key } = batch;
                let rest = ops.split_off(ops.len() / 2);
                let mut receipt = store.commit(Batch { ops, key }).await?;
                sleep(Duration::from_millis(2)).await;
                let other = store.commit(Batch { ops: rest, key: None }).await?;
                receipt.outcomes.extend(other.outcomes);
                Ok(receipt)
            })
        },
    ),
];

//! Caps, counters and chunks that hold as long as there is little.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use memkeep_core::{
    decide::Change,
    verify::{Verify, VerifyReport},
    *,
};

use super::listings::listings;
use crate::{
    broken::Workspaces,
    defect::Store,
    mutant::{Mutant, mutant},
};

/// Changes each index that is stored.
fn index(change: &mut Change, f: impl Fn(u64) -> u64) {
    match change {
        Change::PutTurn(put) => put.row.record.index = f(put.row.record.index),
        Change::PutStep(step) => step.index = f(step.index),
        _ => {}
    }
}

/// What prune would delete of a page, which is all that it looks at.
async fn prune_page(store: &Store, kind: RecordKind, before: Timestamp) -> Result<Counts> {
    let page = store.scan(&Scan::new(kind).limit(1_000_usize)).await?;
    let over = |at: Option<Timestamp>| at.is_some_and(|at| at < before);
    let op = |record: Record| match record {
        Record::Episode(r) if over(r.closed_at) => {
            Some(Op::DeleteEpisode { episode: r.id, closed_before: None })
        }
        Record::State(r) if over(r.expires_at) => {
            Some(DeleteState::new(r.key).workspace(r.workspace).expired_before(before).into())
        }
        _ => None,
    };
    let batch: Batch = page.items.into_iter().filter_map(op).collect();
    let mut pruned = Counts::default();
    for outcome in store.commit(batch).await?.outcomes {
        pruned += outcome.into_deleted()?.counts;
    }
    Ok(pruned)
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "a listing ends at its 500th row",
        &[
            "MANY-TURN-01",
            "MANY-STEP-01",
            "MANY-SESSION-01",
            "MANY-EPISODE-01",
            "MANY-NOTE-01",
            "MANY-STATE-01",
            "MANY-AUDIT-01",
        ],
        |d| listings!(d, ends_at 500),
    ),
    mutant(
        "a page holds a thousand rows at most",
        &[
            "MANY-TURN-01",
            "MANY-STEP-01",
            "MANY-SESSION-01",
            "MANY-EPISODE-01",
            "MANY-NOTE-01",
            "MANY-STATE-01",
            "MANY-AUDIT-01",
        ],
        |d| listings!(d, before | list | list.limit = list.limit.min(1_000)),
    ),
    mutant(
        "a page of more than 256 rows is in disorder",
        &[
            "MANY-TURN-01",
            "MANY-STEP-01",
            "MANY-SESSION-01",
            "MANY-EPISODE-01",
            "MANY-NOTE-01",
            "MANY-STATE-01",
            "MANY-AUDIT-01",
        ],
        |d| {
            listings!(
                d,
                after | _list,
                page | if page.items.len() > 256 {
                    page.items.swap(255, 256)
                }
            )
        },
    ),
    mutant(
        "turns are in order of the last byte of their index",
        &["MANY-TURN-01", "MANY-INDEX-01"],
        |d| {
            d.after(|list: &ListTurns, page: &mut Page<Turn>| {
                if !list.newest_first {
                    page.items.sort_by_key(|turn| turn.index % 256);
                }
            })
        },
    ),
    mutant(
        "steps are in order of the last byte of their index",
        &["MANY-STEP-01", "MANY-INDEX-02"],
        |d| {
            d.after(|_: &ListSteps, page: &mut Page<Step>| {
                page.items.sort_by_key(|step| step.index % 256);
            })
        },
    ),
    mutant("an index has 16 bits", &["MANY-INDEX-01", "MANY-INDEX-02"], |d| {
        d.change(|change| index(change, |index| index & 0xffff))
    }),
    mutant("an index has 32 bits", &["MANY-INDEX-01", "MANY-INDEX-02"], |d| {
        d.change(|change| index(change, |index| index & 0xffff_ffff))
    }),
    mutant("an index is a float", &["MANY-INDEX-01", "MANY-INDEX-02"], |d| {
        #[allow(clippy::cast_sign_loss)]
        d.change(|change| index(change, |index| index as f64 as u64))
    }),
    mutant("the next index is counted in a byte", &["MANY-INDEX-01", "MANY-INDEX-02"], |d| {
        d.session_rows(|session| {
            session.next_turn %= 256;
            session.next_step %= 256;
        })
    }),
    mutant("tags are loaded for the first 500 turns", &["MANY-TURN-01"], |d| {
        d.after(|_: &ListTurns, page: &mut Page<Turn>| {
            page.items.iter_mut().skip(500).for_each(|turn| turn.tags.clear());
        })
    }),
    mutant("the first prompt is looked up for the first 100 sessions", &["MANY-SESSION-01"], |d| {
        d.after(|_: &ListSessions, page: &mut Page<Session>| {
            page.items.iter_mut().skip(100).for_each(|session| session.first_prompt = None);
        })
    }),
    mutant(
        "the later chunks of a scan are given what belongs to the first",
        &["MANY-TURN-01", "MANY-SESSION-01", "MANY-EPISODE-01", "MANY-NOTE-01"],
        |d| {
            d.after(|_: &Scan, page: &mut Page<Record>| {
                for at in 1_000..page.items.len() {
                    match page.items[at - 1_000].clone() {
                        Record::Turn(first) => {
                            if let Record::Turn(turn) = &mut page.items[at] {
                                turn.tags = first.tags;
                            }
                        }
                        Record::Session(first) => {
                            if let Record::Session(session) = &mut page.items[at] {
                                session.metadata = first.metadata;
                            }
                        }
                        Record::Episode(first) => {
                            if let Record::Episode(episode) = &mut page.items[at] {
                                episode.metadata = first.metadata;
                            }
                        }
                        Record::Note(first) => {
                            if let Record::Note(note) = &mut page.items[at] {
                                note.sources = first.sources;
                            }
                        }
                        _ => {}
                    }
                }
            })
        },
    ),
    mutant("a turn has a thousand tags at most", &["MANY-TAG-01"], |d| {
        d.change(|change| {
            if let Change::PutTurn(put) = change {
                while put.row.record.tags.len() > 1_000 {
                    put.row.record.tags.pop_last();
                }
            }
        })
    }),
    mutant("a note has a thousand sources at most", &["MANY-SOURCE-01"], |d| {
        d.change(|change| {
            if let Change::PutNote(note) = change {
                note.sources.truncate(1_000);
            }
        })
    }),
    mutant("the sources of a note are in order of their text", &["MANY-SOURCE-01"], |d| {
        d.change(|change| {
            if let Change::PutNote(note) = change {
                note.sources.sort();
            }
        })
    }),
    mutant("a thousand turns are found at most", &["MANY-FIND-01"], |d| {
        d.after(|_: &FindTurns, turns: &mut Vec<Turn>| turns.truncate(1_000))
    }),
    mutant(
        "a thousand records are recalled at most",
        &["MANY-RECALL-01", "MANY-RECALL-02", "MANY-RECALL-03"],
        |d| {
            d.after(|_: &RecallQuery, hits: &mut Vec<Hit<Episode>>| hits.truncate(1_000))
                .after(|_: &RecallQuery, hits: &mut Vec<Hit<Turn>>| hits.truncate(1_000))
                .after(|_: &RecallQuery, hits: &mut Vec<Hit<Note>>| hits.truncate(1_000))
        },
    ),
    mutant("500 workspaces are counted", &["MANY-WORKSPACE-01"], |d| {
        d.after(|_: &Workspaces, rows: &mut Vec<WorkspaceCounts>| rows.truncate(500))
    }),
    mutant("statistics count to a thousand", &["MANY-DELETE-01", "MANY-FORGET-01"], |d| {
        d.after(|_: &Scope, stats: &mut Stats| stats.counts.turns = stats.counts.turns.min(1_000))
    }),
    mutant("deletions count to a thousand", &["MANY-DELETE-01", "MANY-FORGET-01"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Deleted(deleted) = outcome {
                deleted.counts.turns = deleted.counts.turns.min(1_000);
            }
        })
    }),
    mutant(
        "a deletion takes the first thousand rows",
        &["MANY-DELETE-01", "MANY-FORGET-01"],
        |d| {
            let left: Arc<Mutex<Vec<Record>>> = Arc::default();
            let beyond = left.clone();
            let wide =
                |op: &Op| matches!(op, Op::DeleteSession { .. } | Op::ForgetWorkspace { .. });
            d.instead(move |store: Store, batch: Batch| {
                let beyond = beyond.clone();
                async move {
                    if batch.ops.iter().any(wide) {
                        let turns = store.scan(&Scan::new(RecordKind::Turn)).await?.items;
                        beyond.lock().unwrap().extend(turns.into_iter().skip(1_000));
                    }
                    store.commit(batch).await
                }
            })
            .after(move |scan: &Scan, page: &mut Page<Record>| {
                if scan.kind == RecordKind::Turn {
                    page.items.extend(left.lock().unwrap().iter().cloned());
                }
            })
        },
    ),
    mutant("pruning looks at one page", &["MANY-PRUNE-01", "MANY-PRUNE-02"], |d| {
        d.instead(|store: Store, prune: Prune| async move {
            let mut pruned = prune_page(&store, RecordKind::Episode, prune.before).await?;
            pruned += prune_page(&store, RecordKind::State, prune.before).await?;
            Ok(pruned)
        })
    }),
    mutant("verify looks at a thousand records of the audit log", &["MANY-AUDIT-01"], |d| {
        d.after(|_: &Verify, report: &mut VerifyReport| {
            report.checked.audits = report.checked.audits.min(1_000);
        })
    }),
];

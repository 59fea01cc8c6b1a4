//! Forgetting, statistics, compaction; handles: closing, feeds, failures, dropped futures.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use memkeep_core::{
    verify::{Verify, VerifyReport},
    *,
};
use tokio::sync::{Notify, broadcast};

use crate::{
    broken::{Close, Compact},
    defect::Store,
    mutant::{Mutant, mutant},
};

const MICRO: Duration = Duration::from_micros(1);

/// A feed whose events are passed on by `pass`, together with those it kept.
fn feed(store: &Store, pass: fn(&mut Vec<Arc<Receipt>>, Event)) -> Result<Feed> {
    let mut inner = store.subscribe()?;
    let sender = broadcast::Sender::new(4_096);
    let feed = Feed::new(sender.subscribe());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Some(event) = inner.next().await {
            let before = kept.len();
            pass(&mut kept, event);
            // What has been put into an empty list, or makes a pair of a single one, goes out.
            if kept.len() != 1 || before != 0 {
                for receipt in kept.drain(..) {
                    let _ = sender.send(receipt);
                }
            }
        }
    });
    Ok(feed)
}

/// An atomic that says whether something happened, and a copy of it.
fn flag() -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let flag = Arc::new(AtomicBool::new(false));
    (flag.clone(), flag)
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("info leaves a kind out", &["INFO-KINDS-01"], |d| {
        d.info(|info| info.kinds.retain(|kind| *kind != RecordKind::Step))
    }),
    mutant("info names a kind twice", &["INFO-KINDS-01"], |d| {
        d.info(|info| info.kinds.push(RecordKind::Note))
    }),
    mutant("info takes what lasts for volatile", &["INFO-DURABILITY-01"], |d| {
        d.info(|info| info.durability = Durability::Volatile)
    }),
    mutant("info takes what many share for a handle's own", &["INFO-SHARING-01"], |d| {
        d.info(|info| info.sharing = Sharing::Handle)
    }),
    mutant(
        "conditions of deletions are not looked at",
        &["FORGET-CONDITION-03", "FORGET-CONDITION-02", "FORGET-CONDITION-01"],
        |d| {
            d.op(|op| match op {
                Op::DeleteSession { ended_before, .. } => *ended_before = None,
                Op::DeleteEpisode { closed_before, .. } => *closed_before = None,
                Op::DeleteState(delete) => delete.expired_before = None,
                _ => {}
            })
        },
    ),
    mutant(
        "before an instant includes it",
        &["FORGET-CONDITION-03", "FORGET-CONDITION-02", "FORGET-CONDITION-01"],
        |d| {
            let later = |at: &mut Option<Timestamp>| *at = at.map(|at| at.saturating_add(MICRO));
            d.op(move |op| match op {
                Op::DeleteSession { ended_before, .. } => later(ended_before),
                Op::DeleteEpisode { closed_before, .. } => later(closed_before),
                Op::DeleteState(delete) => later(&mut delete.expired_before),
                _ => {}
            })
        },
    ),
    mutant("pruning includes the instant", &["PRUNE-OVER-01"], |d| {
        d.before(|prune: &mut Prune| prune.before = prune.before.saturating_add(MICRO))
    }),
    mutant("pruning takes what is open", &["STATS-COUNT-01", "PRUNE-OVER-02"], |d| {
        d.instead(|store, prune: Prune| async move {
            let mut pruned = store.prune(&prune).await?;
            let list = ListEpisodes::new().scope(prune.scope);
            for episode in store.episodes(&list).await?.items {
                if episode.created_at < prune.before {
                    pruned += store.delete_episode(&episode.id).await?.counts;
                }
            }
            Ok(pruned)
        })
    }),
    mutant(
        "pruning takes sessions that have not ended",
        &["STATS-COUNT-02", "PRUNE-OVER-02"],
        |d| {
            d.instead(|store, prune: Prune| async move {
                let mut pruned = store.prune(&prune).await?;
                let list = ListSessions::new().scope(prune.scope).limit(usize::MAX);
                for session in store.sessions(&list).await?.items {
                    if session.last_active < prune.before {
                        pruned += store.delete_session(&session.id).await?.counts;
                    }
                }
                Ok(pruned)
            })
        },
    ),
    mutant("pruning is done in every workspace", &["PRUNE-SCOPE-01"], |d| {
        d.before(|prune: &mut Prune| prune.scope = Scope::All)
    }),
    mutant("pruning counts nothing", &["PRUNE-OVER-01", "PRUNE-SCOPE-01", "PRUNE-MANY-01"], |d| {
        d.after(|_: &Prune, counts: &mut Counts| *counts = Counts::default())
    }),
    mutant("pruning counts again what is gone", &["PRUNE-OVER-01"], |d| {
        let first: Mutex<Option<Counts>> = Mutex::default();
        d.after(move |_: &Prune, counts: &mut Counts| {
            *counts = *first.lock().unwrap().get_or_insert(*counts);
        })
    }),
    mutant("pruning stops after a thousand", &["PRUNE-MANY-01"], |d| {
        d.instead(|store, prune: Prune| async move {
            let scan = Scan::new(RecordKind::Session).scope(prune.scope.clone());
            if store.scan(&scan).await?.items.len() > 1_000 {
                return Ok(Counts { sessions: 1_000, turns: 1_000, ..Counts::default() });
            }
            store.prune(&prune).await
        })
    }),
    mutant(
        "forgetting takes what begins with the name",
        &[
            "STATS-COUNT-01",
            "FORGET-WORKSPACE-02",
            "FORGET-WORKSPACE-01",
            "STATS-COUNT-02",
            "STATS-COUNT-03",
        ],
        |d| {
            d.instead(|store, mut batch: Batch| async move {
                let given = batch.ops.len();
                for op in batch.ops.clone() {
                    if let Op::ForgetWorkspace { workspace } = op {
                        for row in store.workspaces().await? {
                            if row.workspace.as_str().starts_with(workspace.as_str()) {
                                batch.ops.push(Op::ForgetWorkspace { workspace: row.workspace });
                            }
                        }
                    }
                }
                let mut receipt = store.commit(batch).await?;
                receipt.outcomes.truncate(given);
                Ok(receipt)
            })
        },
    ),
    mutant(
        "forgetting counts what was there before the batch",
        &["FORGET-WORKSPACE-02", "FORGET-WORKSPACE-01"],
        |d| {
            d.load(|loaded| {
                for counts in loaded.workspaces.values_mut() {
                    *counts = Counts::default();
                }
            })
        },
    ),
    mutant("versions outlive a forgotten workspace", &["FORGET-WORKSPACE-01"], |d| {
        let slots: Arc<Mutex<HashMap<StateKey, StateSlot>>> = Arc::default();
        let known = slots.clone();
        d.state_rows(move |slot| {
            slots.lock().unwrap().insert(slot.state_key(), slot.clone());
        })
        .load(move |loaded| {
            for (key, slot) in &*known.lock().unwrap() {
                let bare = StateSlot { value: None, ..slot.clone() };
                loaded.states.entry(key.clone()).or_insert(bare);
            }
        })
    }),
    mutant(
        "forgetting forgets what the batch then makes",
        &["STATS-COUNT-03", "COMPACT-KEEP-02", "COMPACT-KEEP-01"],
        |d| {
            d.before(|batch: &mut Batch| {
                let forgets = |op: &Op| matches!(op, Op::ForgetWorkspace { .. });
                if let Some(at) = batch.ops.iter().position(forgets) {
                    batch.ops.truncate(at + 1);
                }
            })
        },
    ),
    mutant("deleted entries are counted", &["STATS-COUNT-03"], |d| {
        d.instead(|store, scope: Scope| async move {
            let mut stats = store.stats(&scope).await?;
            let slots = store.scan(&Scan::new(RecordKind::State).scope(scope)).await?;
            stats.counts.states = slots.items.len() as u64;
            Ok(stats)
        })
    }),
    mutant("expired entries are not counted", &["STATS-COUNT-03"], |d| {
        d.instead(|store, scope: Scope| async move {
            let mut stats = store.stats(&scope).await?;
            let live = store.states(&ListStates::new().scope(scope)).await?;
            stats.counts.states = live.items.len() as u64;
            Ok(stats)
        })
    }),
    mutant("closed episodes are not counted", &["STATS-COUNT-01"], |d| {
        d.instead(|store: Store, scope: Scope| async move {
            let mut stats = store.stats(&scope).await?;
            let list = ListEpisodes::new().scope(scope).open(Some(true));
            stats.counts.episodes = store.episodes(&list).await?.items.len() as u64;
            Ok(stats)
        })
    }),
    mutant("ended sessions are not counted", &["STATS-COUNT-02"], |d| {
        d.instead(|store: Store, scope: Scope| async move {
            let mut stats = store.stats(&scope).await?;
            let list = ListSessions::new().scope(scope).limit(usize::MAX);
            let mut sessions = store.sessions(&list).await?.items;
            sessions.retain(|session| session.ended_at.is_none());
            stats.counts.sessions = sessions.len() as u64;
            Ok(stats)
        })
    }),
    mutant("pruning forgets versions", &["STATE-VERSION-02"], |d| {
        let (pruned, seen) = flag();
        d.before(move |_: &mut Prune| pruned.store(true, SeqCst)).load(move |loaded| {
            for slot in loaded.states.values_mut().filter(|_| seen.load(SeqCst)) {
                slot.version = 0;
            }
        })
    }),
    mutant("opening forgets versions", &["STATE-VERSION-03"], |d| {
        let (opened, (reopened, seen)) = (AtomicBool::new(false), flag());
        d.open(move |_| reopened.store(opened.swap(true, SeqCst), SeqCst)).load(move |loaded| {
            for slot in loaded.states.values_mut().filter(|_| seen.load(SeqCst)) {
                slot.version = 0;
            }
        })
    }),
    mutant("deleted turns are counted", &["STATS-COUNT-02"], |d| {
        d.instead(|store, scope: Scope| async move {
            let mut stats = store.stats(&scope).await?;
            let list = ListSessions::new().scope(scope).limit(usize::MAX);
            let sessions = store.sessions(&list).await?.items;
            stats.counts.turns = sessions.iter().map(|session| session.next_turn).sum();
            Ok(stats)
        })
    }),
    mutant("compaction numbers turns anew", &["COMPACT-KEEP-03"], |d| {
        let (compacted, seen) = flag();
        d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).load(move |loaded| {
            for row in loaded.sessions.values_mut().filter(|_| seen.load(SeqCst)) {
                row.record.next_turn = row.record.turn_count;
            }
        })
    }),
    mutant("compaction forgets versions", &["COMPACT-KEEP-04"], |d| {
        let (compacted, seen) = flag();
        d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).load(move |loaded| {
            for slot in loaded.states.values_mut().filter(|_| seen.load(SeqCst)) {
                slot.version = 0;
            }
        })
    }),
    mutant("compaction turns the order round", &["COMPACT-KEEP-02"], |d| {
        let (compacted, seen) = flag();
        d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).after(
            move |_: &ListEpisodes, page: &mut Page<Episode>| {
                if seen.load(SeqCst) {
                    page.items.reverse();
                }
            },
        )
    }),
    mutant("compaction loses texts", &["COMPACT-KEEP-01"], |d| {
        let (compacted, seen) = flag();
        d.before(move |_: &mut Compact| compacted.store(true, SeqCst)).after(
            move |_: &Scan, page: &mut Page<Record>| {
                for record in page.items.iter_mut().filter(|_| seen.load(SeqCst)) {
                    if let Record::Episode(episode) = record {
                        episode.problem.clear();
                    }
                }
            },
        )
    }),
    mutant(
        "closing twice is Closed",
        &[
            "CLOSE-HANDLE-01",
            "CLOSE-HANDLE-02",
            "CLOSE-HANDLE-03",
            "FEED-ORDER-01",
            "WRITERS-OPEN-01",
        ],
        |d| {
            let closed = AtomicBool::new(false);
            d.result(move |_: &Close, result: &mut Result<()>| {
                if closed.swap(true, SeqCst) {
                    *result = Err(Error::closed());
                }
            })
        },
    ),
    mutant("a closed handle finds nothing to repair", &["CLOSE-HANDLE-02"], |d| {
        d.result(|verify: &Verify, result: &mut Result<VerifyReport>| {
            let is_closed = result.as_ref().is_err_and(|e| e.kind() == ErrorKind::Closed);
            if verify.repair && is_closed {
                *result = Ok(VerifyReport::default());
            }
        })
    }),
    mutant("a closed handle goes on", &["CLOSE-HANDLE-02"], |d| {
        d.instead(|_, _: Close| async { Ok(()) })
    }),
    mutant("what is committed while the handle closes is lost", &["CLOSE-HANDLE-03"], |d| {
        let closing = Arc::new(Notify::new());
        let closed = closing.clone();
        d.instead(move |store, batch: Batch| {
            let closed = closed.clone();
            async move {
                closed.notified().await;
                match store.commit(batch).await {
                    Err(error) if error.kind() == ErrorKind::Closed => {
                        Ok(Receipt { at: Timestamp::default(), outcomes: Vec::new() })
                    }
                    answer => answer,
                }
            }
        })
        .after(move |_: &Close, ()| closing.notify_waiters())
    }),
    mutant("the feed tells the commits of every handle", &["FEED-HANDLE-01"], |d| {
        let told = broadcast::Sender::new(64);
        let all = told.clone();
        d.after(move |_: &Batch, receipt: &mut Receipt| {
            let _ = told.send(Arc::new(receipt.clone()));
        })
        .feed(move |_| Ok(Feed::new(all.subscribe())))
    }),
    mutant("the feed turns pairs round", &["FEED-ORDER-02"], |d| {
        d.feed(|store| {
            feed(store, |kept, event| {
                if let Event::Committed(receipt) = event {
                    kept.insert(0, receipt);
                }
            })
        })
    }),
    mutant("the feed leaves out every other commit", &["FEED-ORDER-02", "FEED-MISSED-01"], |d| {
        d.feed(|store| {
            feed(store, |kept, event| {
                if let Event::Committed(receipt) = event {
                    kept.push(receipt);
                    kept.truncate(1);
                }
            })
        })
    }),
    mutant("the feed does not tell what it missed", &["FEED-MISSED-01"], |d| {
        d.feed(|store| {
            let mut inner = store.subscribe()?;
            let sender = broadcast::Sender::new(4_096);
            let feed = Feed::new(sender.subscribe());
            tokio::spawn(async move {
                let mut passed = 0;
                while let Some(event) = inner.next().await {
                    passed += 1;
                    if let Event::Committed(receipt) = event
                        && passed <= 1_000
                    {
                        let _ = sender.send(receipt);
                    }
                }
            });
            Ok(feed)
        })
    }),
    mutant("the feed ends when it is asked for", &["FEED-END-01"], |d| {
        d.feed(|_| Ok(Feed::new(broadcast::Sender::new(1).subscribe())))
    }),
    mutant("the feed tells what was before it", &["FEED-END-01"], |d| {
        d.feed(|store| {
            let mut inner = store.subscribe()?;
            let sender = broadcast::Sender::new(4_096);
            let feed = Feed::new(sender.subscribe());
            let earlier = Receipt { at: Timestamp::default(), outcomes: Vec::new() };
            let _ = sender.send(Arc::new(earlier));
            tokio::spawn(async move {
                while let Some(event) = inner.next().await {
                    if let Event::Committed(receipt) = event {
                        let _ = sender.send(receipt);
                    }
                }
            });
            Ok(feed)
        })
    }),
    mutant(
        "a failure of the engine is swallowed",
        &["FAULT-COMMIT-01", "FAULT-READ-01", "FAULT-COMMIT-02"],
        |d| {
            d.result(|_: &Batch, result: &mut Result<Receipt>| {
                if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Unavailable) {
                    *result = Ok(Receipt { at: Timestamp::default(), outcomes: Vec::new() });
                }
            })
        },
    ),
    mutant(
        "a failure of the engine passes for a refusal",
        &["FAULT-COMMIT-01", "FAULT-READ-01", "FAULT-COMMIT-02"],
        |d| {
            d.refusal(|error| match error.kind() {
                ErrorKind::Unavailable => Error::new(ErrorKind::Conflict, error.message()),
                _ => error.clone(),
            })
        },
    ),
    mutant("nothing is read after a failed commit", &["FAULT-READ-01"], |d| {
        let (failed, seen) = flag();
        d.result(move |_: &Batch, result: &mut Result<Receipt>| {
            failed.store(result.is_err(), SeqCst);
        })
        .result(move |_: &Scan, result: &mut Result<Page<Record>>| {
            if seen.load(SeqCst) {
                *result = Err(Error::new(ErrorKind::Unavailable, "a commit has failed"));
            }
        })
    }),
    mutant(
        "a dropped commit keeps its lock",
        &["CANCEL-COMMIT-02", "CANCEL-COMMIT-01", "CANCEL-COMMIT-03", "WRITERS-OPEN-01"],
        |d| {
            let lock = Arc::new(AtomicBool::new(false));
            d.instead(move |store, batch: Batch| {
                let lock = lock.clone();
                async move {
                    if lock.swap(true, SeqCst) {
                        return Err(Error::new(ErrorKind::Timeout, "a lock"));
                    }
                    let answer = store.commit(batch).await;
                    lock.store(false, SeqCst);
                    answer
                }
            })
        },
    ),
    mutant("a dropped read keeps its reader", &["CANCEL-READ-01"], |d| {
        let readers = Arc::new(AtomicUsize::new(0));
        d.instead(move |store, scan: Scan| {
            let readers = readers.clone();
            async move {
                if readers.fetch_add(1, SeqCst) > 8 {
                    return Err(Error::new(ErrorKind::Timeout, "a reader"));
                }
                let answer = store.scan(&scan).await;
                readers.fetch_sub(1, SeqCst);
                answer
            }
        })
    }),
];

//! Sessions: totals, first prompts, listings, ends, deletion.

use std::{
    cmp::Reverse,
    collections::HashMap,
    sync::{Arc, Mutex},
};

use memkeep_core::{decide::Change, *};

use crate::{
    defect::Store,
    mutant::{Mutant, mutant},
};

type ById = (Scope, SessionId);

/// The session, with the prompt that `choose` takes from its turns.
async fn prompted(
    store: Store,
    (scope, id): ById,
    choose: fn(&mut Vec<Turn>) -> Option<String>,
) -> Result<Option<Session>> {
    let Some(mut session) = store.session(&scope, &id).await? else { return Ok(None) };
    let list = ListTurns::new(&id).limit(usize::MAX);
    session.first_prompt = choose(&mut store.turns(&list).await?.items);
    Ok(Some(session))
}

fn first_user(turns: &[Turn]) -> Option<String> {
    turns.iter().find(|turn| turn.role == "user").map(|turn| turn.content.clone())
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("tokens are not subtracted", &["SESSION-TOTAL-01"], |d| {
        d.changes(|changes| {
            let deletes = changes.iter().any(|change| matches!(change, Change::DeleteTurn(_)));
            changes.retain(|change| !(deletes && matches!(change, Change::PutSession(_))));
        })
    }),
    mutant("turns without tokens are not counted", &["SESSION-TOTAL-01"], |d| {
        d.changes(|changes| {
            let bare = changes.iter().any(
                |change| matches!(change, Change::PutTurn(put) if put.row.record.tokens.is_none()),
            );
            for change in changes {
                if let Change::PutSession(put) = change {
                    put.row.record.turn_count -= u64::from(bare && !put.new);
                }
            }
        })
    }),
    mutant("steps are not counted", &["SESSION-DELETE-01"], |d| {
        d.session_rows(|session| session.step_count = 0)
    }),
    mutant("totals are known after the end only", &["SESSION-TOTAL-02"], |d| {
        d.after(|_: &ById, session: &mut Option<Session>| {
            if let Some(session) = session.as_mut().filter(|session| session.ended_at.is_none()) {
                session.total_tokens = 0;
            }
        })
    }),
    mutant("the list's totals are stale", &["SESSION-ACTIVE-01"], |d| {
        let first: Mutex<HashMap<SessionId, u64>> = Mutex::default();
        d.after(move |_: &ListSessions, page: &mut Page<Session>| {
            let mut first = first.lock().unwrap();
            for session in &mut page.items {
                session.turn_count = *first.entry(session.id.clone()).or_insert(session.turn_count);
            }
        })
    }),
    mutant("a total wraps round", &["SESSION-TOTAL-02"], |d| {
        d.load(|loaded| loaded.sessions.values_mut().for_each(|row| row.record.total_tokens = 0))
    }),
    mutant("the last activity is that of the last turn", &["SESSION-ACTIVE-01"], |d| {
        d.changes(|changes| {
            let at = changes.iter().find_map(|change| match change {
                Change::PutTurn(put) if put.new => Some(put.row.record.created_at),
                _ => None,
            });
            for change in changes {
                if let Change::PutSession(put) = change {
                    put.row.record.last_active = at.unwrap_or(put.row.record.last_active);
                }
            }
        })
    }),
    mutant("the end is an activity", &["SESSION-ACTIVE-01"], |d| {
        d.session_rows(|session| {
            session.last_active = session.last_active.max(session.ended_at.unwrap_or_default());
        })
    }),
    mutant("steps are no activity", &["SESSION-LIST-03"], |d| {
        d.changes(|changes| {
            let steps = changes.iter().any(|change| matches!(change, Change::PutStep(_)));
            for change in changes {
                if let Change::PutSession(put) = change {
                    let session = &mut put.row.record;
                    session.last_active =
                        if steps { session.started_at } else { session.last_active };
                }
            }
        })
    }),
    mutant("the first prompt is the earliest by its time", &["SESSION-PROMPT-01"], |d| {
        d.instead(|store, by_id: ById| {
            prompted(store, by_id, |turns| {
                turns.sort_by_key(|turn| turn.created_at);
                first_user(turns).map(|prompt| prompt.chars().take(256).collect())
            })
        })
    }),
    mutant("the first prompt is whoever's", &["SESSION-PROMPT-01"], |d| {
        d.instead(|store, by_id: ById| {
            prompted(store, by_id, |turns| turns.first().map(|turn| turn.content.clone()))
        })
    }),
    mutant("the first prompt is not cut", &["SESSION-PROMPT-02"], |d| {
        d.instead(|store, by_id: ById| prompted(store, by_id, |turns| first_user(turns)))
    }),
    mutant("the first prompt is cut at bytes", &["SESSION-PROMPT-02"], |d| {
        d.instead(|store, by_id: ById| {
            prompted(store, by_id, |turns| {
                first_user(turns).map(|mut prompt| {
                    prompt.truncate(prompt.floor_char_boundary(256));
                    prompt
                })
            })
        })
    }),
    mutant("the first prompt ends at a NUL", &["SESSION-PROMPT-04"], |d| {
        d.after(|_: &ById, session: &mut Option<Session>| {
            if let Some(Session { first_prompt: Some(prompt), .. }) = session {
                prompt.truncate(prompt.find('\0').unwrap_or(prompt.len()));
            }
        })
    }),
    mutant("the first prompt outlives its turn", &["SESSION-PROMPT-03"], |d| {
        let first: Mutex<HashMap<SessionId, String>> = Mutex::default();
        d.after(move |_: &ById, session: &mut Option<Session>| {
            if let Some(Session { id, first_prompt, .. }) = session {
                let mut first = first.lock().unwrap();
                if let Some(prompt) = first.get(id) {
                    *first_prompt = Some(prompt.clone());
                } else if let Some(prompt) = first_prompt {
                    first.insert(id.clone(), prompt.clone());
                }
            }
        })
    }),
    mutant(
        "the first prompt is an empty text where there is none",
        &["SESSION-PROMPT-03", "SESSION-SUMMARY-01", "SESSION-ENSURE-01"],
        |d| {
            d.after(|_: &ById, session: &mut Option<Session>| {
                if let Some(session) = session {
                    session.first_prompt.get_or_insert_default();
                }
            })
        },
    ),
    mutant("the first prompt is the first inserted", &["SESSION-PROMPT-06"], |d| {
        d.instead(|store: Store, (scope, id): ById| async move {
            let Some(mut session) = store.session(&scope, &id).await? else { return Ok(None) };
            let scanned = store.scan(&Scan::new(RecordKind::Turn)).await?.items;
            session.first_prompt = scanned.into_iter().find_map(|record| match record {
                Record::Turn(turn) if turn.session == id && turn.role == "user" => {
                    Some(turn.content)
                }
                _ => None,
            });
            Ok(Some(session))
        })
    }),
    mutant("scans have the first prompt", &["SESSION-PROMPT-05"], |d| {
        d.after(|_: &Scan, page: &mut Page<Record>| {
            for record in &mut page.items {
                if let Record::Session(session) = record {
                    session.first_prompt = Some("the prompt".to_owned());
                }
            }
        })
    }),
    mutant(
        "sessions are listed oldest first",
        &["SESSION-LIST-01", "SESSION-LIST-03", "MODEL-PROGRAM-01"],
        |d| d.after(|_: &ListSessions, page: &mut Page<Session>| page.items.reverse()),
    ),
    mutant("ties of sessions are broken by the last inserted", &["SESSION-LIST-01"], |d| {
        d.after(|list: &ListSessions, page: &mut Page<Session>| {
            page.items.reverse();
            page.items.sort_by_key(|session| match list.order {
                SessionOrder::Started => Reverse(session.started_at),
                SessionOrder::Active => Reverse(session.last_active),
            });
        })
    }),
    mutant("sessions are always listed by their start", &["SESSION-LIST-02"], |d| {
        d.before(|list: &mut ListSessions| list.order = SessionOrder::Started)
    }),
    mutant("the default limit of sessions is 10", &["SESSION-LIST-04"], |d| {
        d.before(|list: &mut ListSessions| {
            if list.limit == DEFAULT_LIMIT {
                list.limit = 10;
            }
        })
    }),
    mutant("an ended session accepts turns", &["SESSION-END-01", "SESSION-ENSURE-02"], |d| {
        d.load(|loaded| loaded.sessions.values_mut().for_each(|row| row.record.ended_at = None))
    }),
    mutant("a second end overwrites the first", &["SESSION-END-01"], |d| {
        d.before(|batch: &mut Batch| {
            if let [Op::EndSession { session, .. }] = &batch.ops[..] {
                let resume = Op::ResumeSession { session: session.clone() };
                batch.ops.insert(0, resume);
            }
        })
        .after(|batch: &Batch, receipt: &mut Receipt| {
            let surplus = receipt.outcomes.len() - batch.ops.len();
            receipt.outcomes.drain(..surplus);
        })
    }),
    mutant("resuming changes nothing", &["SESSION-DELETE-04"], |d| {
        let ends: Mutex<HashMap<SessionId, Timestamp>> = Mutex::default();
        d.session_rows(move |session| {
            let mut ends = ends.lock().unwrap();
            match session.ended_at {
                Some(end) => drop(ends.insert(session.id.clone(), end)),
                None => session.ended_at = ends.get(&session.id).copied(),
            }
        })
    }),
    mutant("a summary cannot be removed", &["SESSION-SUMMARY-01"], |d| {
        d.op(|op| {
            if let Op::SetSummary { summary, .. } = op {
                summary.get_or_insert_default();
            }
        })
    }),
    mutant("a turn of an unknown session makes it", &["ERROR-UNKNOWN-01"], |d| {
        d.before(|batch: &mut Batch| {
            if let [Op::RecordTurn(new)] = &batch.ops[..] {
                let ensure = NewSession::new().id(new.session.clone());
                batch.ops.insert(0, Op::EnsureSession(ensure));
            }
        })
        .after(|batch: &Batch, receipt: &mut Receipt| {
            let surplus = receipt.outcomes.len() - batch.ops.len();
            receipt.outcomes.drain(..surplus);
        })
    }),
    mutant("an unknown session is ended without a word", &["ERROR-UNKNOWN-01"], |d| {
        d.before(|batch: &mut Batch| {
            if let [Op::EndSession { session, .. }] = &batch.ops[..] {
                let ensure = NewSession::new().id(session.clone());
                batch.ops.insert(0, Op::EnsureSession(ensure));
            }
        })
        .after(|batch: &Batch, receipt: &mut Receipt| {
            let surplus = receipt.outcomes.len() - batch.ops.len();
            receipt.outcomes.drain(..surplus);
        })
    }),
    mutant("the turns of an unknown session are none", &["SESSION-UNKNOWN-01"], |d| {
        d.result(|_: &ListTurns, result: &mut Result<Page<Turn>>| {
            if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                *result = Ok(Page::last(Vec::new()));
            }
        })
    }),
    mutant("no turns of an unknown session are none", &["SESSION-UNKNOWN-01"], |d| {
        d.result(|list: &ListTurns, result: &mut Result<Page<Turn>>| {
            if list.limit == 0 {
                *result = Ok(Page::last(Vec::new()));
            }
        })
    }),
    mutant("the steps of an unknown session are none", &["SESSION-DELETE-01"], |d| {
        d.result(|_: &ListSteps, result: &mut Result<Page<Step>>| {
            if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                *result = Ok(Page::last(Vec::new()));
            }
        })
    }),
    mutant("steps outlive their session", &["SESSION-DELETE-03"], |d| {
        let steps: Arc<Mutex<HashMap<StepId, Step>>> = Arc::default();
        let kept = steps.clone();
        d.outcome(move |outcome| {
            if let Outcome::Step(step) = outcome {
                kept.lock().unwrap().insert(step.id.clone(), step.clone());
            }
        })
        .after(move |(_, id): &(Scope, StepId), step: &mut Option<Step>| {
            *step = step.take().or_else(|| steps.lock().unwrap().get(id).cloned());
        })
    }),
    mutant("turns outlive their session in the statistics", &["STATS-COUNT-02"], |d| {
        let turns: Mutex<u64> = Mutex::default();
        d.after(move |scope: &Scope, stats: &mut Stats| {
            let mut turns = turns.lock().unwrap();
            if *scope == Scope::All {
                *turns = stats.counts.turns.max(*turns);
                stats.counts.turns = *turns;
            }
        })
    }),
    mutant("a deletion counts the session only", &["TURN-INDEX-03", "TURN-INDEX-04"], |d| {
        d.outcome(|outcome| {
            if let Outcome::Deleted(deleted) = outcome {
                (deleted.counts.turns, deleted.counts.steps) = (0, 0);
            }
        })
    }),
    mutant("a session's counters outlive it", &["SESSION-DELETE-04"], |d| {
        let next: Mutex<HashMap<SessionId, u64>> = Mutex::default();
        d.session_rows(move |session| {
            let mut next = next.lock().unwrap();
            let next = next.entry(session.id.clone()).or_default();
            *next = session.next_turn.max(*next);
            session.next_turn = *next;
        })
    }),
];

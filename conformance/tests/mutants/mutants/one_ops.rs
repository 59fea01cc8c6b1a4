//! The calls that do one op, each wrong where its op in a batch is right, and `last_turns`.

use memkeep_core::*;

use crate::{
    broken::{LastTurns, OneOp},
    mutant::{Mutant, mutant},
};

/// Answers that the caller cannot tell from those of a store that keeps what it is given.
fn made_up(turn: NewTurn) -> Turn {
    Turn {
        id: turn.id.unwrap_or_else(|| "trn-made-up".into()),
        workspace: "default".into(),
        created_at: turn.created_at.unwrap_or_default(),
        session: turn.session,
        index: 0,
        role: turn.role,
        content: turn.content,
        model: turn.model,
        tokens: turn.tokens,
        embedding_id: turn.embedding_id,
        metadata: turn.metadata.unwrap_or_default(),
        tags: turn.tags.unwrap_or_default(),
    }
}

pub(super) const MUTANTS: &[Mutant] = &[
    mutant("put_state looks at no expectation", &["ONE-OP-03", "LINEAR-STATE-01"], |d| {
        d.one_op(|op| {
            if let Op::PutState(put) = op {
                put.expected = None;
            }
        })
    }),
    mutant("delete_state looks at no expectation", &["ONE-OP-03"], |d| {
        d.one_op(|op| {
            if let Op::DeleteState(delete) = op {
                delete.expected = None;
            }
        })
    }),
    mutant("append_audit forgets whose chain it is", &["ONE-OP-03"], |d| {
        d.one_op(|op| {
            if let Op::AppendAudit(new) = op {
                new.workspace = None;
            }
        })
    }),
    mutant("add_note takes any source", &["ONE-OP-03", "NOTE-SOURCE-01"], |d| {
        d.one_op(|op| {
            if let Op::AddNote(new) = op {
                new.sources = None;
            }
        })
    }),
    mutant("delete_note answers and deletes nothing", &["ONE-OP-03", "NOTE-DELETE-01"], |d| {
        d.instead(|store, OneOp(op): OneOp| async move {
            if matches!(op, Op::DeleteNote { .. }) {
                let counts = Counts { notes: 1, ..Counts::default() };
                return Ok(Outcome::Deleted(Deleted { existed: true, counts }));
            }
            store.commit_one(op).await
        })
    }),
    mutant(
        "record_turn answers and stores nothing",
        &["ONE-OP-01", "TURN-ORDER-01", "MODEL-PROGRAM-01", "LINEAR-INDEX-01"],
        |d| {
            d.instead(|store, OneOp(op): OneOp| async move {
                match op {
                    Op::RecordTurn(turn) => Ok(Outcome::Turn(made_up(turn))),
                    op => store.commit_one(op).await,
                }
            })
        },
    ),
    mutant("record_step changes the status", &["ONE-OP-01"], |d| {
        d.one_op(|op| {
            if let Op::RecordStep(new) = op {
                new.status = String::new();
            }
        })
    }),
    mutant("ensure_session starts one", &["ONE-OP-01", "SESSION-ENSURE-02"], |d| {
        d.one_op(|op| {
            if let Op::EnsureSession(new) = op {
                *op = Op::StartSession(new.clone());
            }
        })
    }),
    mutant("end_session ends again what has ended", &["ONE-OP-01", "SESSION-END-01"], |d| {
        d.instead(|store, OneOp(op): OneOp| async move {
            if let Op::EndSession { session, .. } = &op {
                store.resume_session(session).await?;
            }
            store.commit_one(op).await
        })
    }),
    mutant("resume_session answers as it was", &["ONE-OP-01"], |d| {
        d.instead(|store, OneOp(op): OneOp| async move {
            let Op::ResumeSession { session } = &op else { return store.commit_one(op).await };
            let before = store.session(&Scope::All, session).await?;
            let after = store.commit_one(op).await?;
            Ok(before
                .map_or(after, |before| Outcome::Session(Session { first_prompt: None, ..before })))
        })
    }),
    mutant("set_summary removes none", &["ONE-OP-01", "SESSION-SUMMARY-01"], |d| {
        d.one_op(|op| {
            if let Op::SetSummary { summary, .. } = op {
                summary.get_or_insert_default();
            }
        })
    }),
    mutant("delete_session deletes only what has ended", &["ONE-OP-01"], |d| {
        d.one_op(|op| {
            if let Op::DeleteSession { ended_before, .. } = op {
                *ended_before = Timestamp::from_micros(i64::MAX / 1_000_000);
            }
        })
    }),
    mutant("delete_turn does not say what existed", &["ONE-OP-01", "TURN-DELETE-01"], |d| {
        d.after(|asked: &OneOp, outcome: &mut Outcome| {
            if let (Op::DeleteTurn { .. }, Outcome::Deleted(deleted)) = (&asked.0, outcome) {
                deleted.existed = true;
            }
        })
    }),
    mutant("tag_turn trims the name", &["ONE-OP-01"], |d| {
        d.one_op(|op| {
            if let Op::TagTurn { name, .. } = op {
                *name = name.trim().to_owned();
            }
        })
    }),
    mutant("untag_turn removes nothing", &["ONE-OP-01"], |d| {
        d.one_op(|op| {
            if let Op::UntagTurn { name, .. } = op {
                name.push('x');
            }
        })
    }),
    mutant("set_embedding removes none", &["ONE-OP-01"], |d| {
        d.one_op(|op| {
            if let Op::SetEmbedding { embedding_id, .. } = op {
                embedding_id.get_or_insert_default();
            }
        })
    }),
    mutant("start_session takes another body", &["ONE-OP-01", "SESSION-ENSURE-03"], |d| {
        d.one_op(|op| {
            if let Op::StartSession(new) = op {
                *op = Op::EnsureSession(new.clone());
            }
        })
    }),
    mutant("set_episode_open only opens", &["ONE-OP-02", "EPISODE-CLOSE-01"], |d| {
        d.one_op(|op| {
            if let Op::SetEpisodeOpen { open, .. } = op {
                *open = true;
            }
        })
    }),
    mutant("add_episode says that all are open", &["ONE-OP-02", "EPISODE-ADD-01"], |d| {
        d.after(|_: &OneOp, outcome: &mut Outcome| {
            if let Outcome::Episode(episode) = outcome {
                episode.open = true;
            }
        })
    }),
    mutant("revise_episode makes what is not there", &["ONE-OP-02", "EPISODE-REVISE-03"], |d| {
        d.instead(|store, OneOp(op): OneOp| async move {
            if let Op::ReviseEpisode(revision) = &op
                && store.episode(&Scope::All, &revision.episode).await?.is_none()
            {
                let new = NewEpisode::new("", "").id(revision.episode.clone());
                store.add_episode(new).await?;
            }
            store.commit_one(op).await
        })
    }),
    mutant("delete_episode closes", &["ONE-OP-02", "EPISODE-DELETE-01"], |d| {
        d.instead(|store, OneOp(op): OneOp| async move {
            if let Op::DeleteEpisode { episode, .. } = op {
                let closed = store.set_episode_open(&episode, false).await;
                let counts = Counts { episodes: 1, ..Counts::default() };
                return Ok(Outcome::Deleted(Deleted { existed: closed.is_ok(), counts }));
            }
            store.commit_one(op).await
        })
    }),
    mutant(
        "a call that does one op names no op in its errors",
        &["ONE-OP-01", "ONE-OP-02", "ONE-OP-03"],
        |d| {
            d.result(|_: &OneOp, answer: &mut Result<Outcome>| {
                if let Err(error) = answer {
                    *error = Error::new(error.kind(), "refused");
                }
            })
        },
    ),
    mutant("commit_one commits twice", &["ONE-OP-04"], |d| {
        d.instead(|store, op: Op| async move {
            store.commit(op.clone().into()).await?;
            store.commit(op.into()).await?.into_first()
        })
    }),
    mutant("calls that do one op are not told to feeds", &["FEED-ORDER-03"], |d| {
        d.feed(|store| {
            let mut inner = store.subscribe()?;
            let sender = tokio::sync::broadcast::Sender::new(64);
            let feed = Feed::new(sender.subscribe());
            tokio::spawn(async move {
                while let Some(event) = inner.next().await {
                    if let Event::Committed(receipt) = event
                        && receipt.outcomes.len() > 1
                    {
                        let _ = sender.send(receipt);
                    }
                }
            });
            Ok(feed)
        })
    }),
    mutant("calls that do one op go on after closing", &["CLOSE-HANDLE-02"], |d| {
        d.result(|_: &OneOp, answer: &mut Result<Outcome>| {
            if answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Closed) {
                *answer = Ok(Outcome::Gone);
            }
        })
    }),
    mutant("last_turns has the newest first", &["TURN-LAST-01"], |d| {
        d.after(|_: &LastTurns, turns: &mut Vec<Turn>| turns.reverse())
    }),
    mutant("last_turns are the first", &["TURN-LAST-01"], |d| {
        d.instead(|store, (scope, session, n): LastTurns| async move {
            let list = ListTurns::new(session).scope(scope).limit(n);
            Ok(store.turns(&list).await?.items)
        })
    }),
    mutant("last_turns looks everywhere", &["TURN-LAST-01"], |d| {
        d.before(|query: &mut LastTurns| query.0 = Scope::All)
    }),
];

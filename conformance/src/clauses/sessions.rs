//! Sessions: totals, first prompts, listings, ends.

use memkeep_core::{
    Batch, ListSessions, NewSession, NewStep, NewTurn, Op, Record, RecordKind, Scan, Scope,
    Session, SessionId, SessionOrder,
};

use crate::{
    Case, Failure, Verdict,
    failure::{must_equal, must_refuse},
};

async fn read(case: &Case, id: &str) -> Result<Session, Failure> {
    let session = case.sessions()?.session(&Scope::All, &id.into()).await?;
    session.ok_or_else(|| Failure::new(format!("the session {id:?}"), "None"))
}

/// Both reads of the session `id`, which must agree.
async fn read_twice(case: &Case, id: &str) -> Result<Session, Failure> {
    let session = read(case, id).await?;
    let list = ListSessions::new().limit(usize::MAX);
    let listed = case.sessions()?.sessions(&list).await?.items;
    must_equal!(listed.iter().find(|s| s.id == session.id), Some(&session), "the listed session");
    Ok(session)
}

async fn ids(case: &Case, list: &ListSessions) -> Result<Vec<String>, Failure> {
    let page = case.sessions()?.sessions(list).await?;
    Ok(page.items.into_iter().map(|s| s.id.into()).collect())
}

pub(crate) async fn totals_are_current(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let totals = async || {
        let s = read_twice(case, "s").await?;
        let counts = (s.turn_count, s.step_count, s.total_tokens);
        Ok::<_, Failure>((counts, s.next_turn, s.next_step))
    };
    must_equal!(totals().await?, ((0, 0, 0), 0, 0), "the totals of a new session");
    let tokens = [("a", Some(5)), ("b", None), ("c", Some(-2)), ("d", Some(0))];
    for (n, (id, tokens)) in (1..).zip(tokens) {
        let mut turn = NewTurn::new("s", "user", "text").id(id);
        turn.tokens = tokens;
        store.record_turn(turn).await?;
        must_equal!(totals().await?.0.0, n, "the turn count after turn {id:?}");
    }
    must_equal!(totals().await?, ((4, 0, 3), 4, 0), "the totals after four turns");
    store.record_step(NewStep::new("s", "look", "ok")).await?;
    must_equal!(totals().await?, ((4, 1, 3), 4, 1), "the totals after a step");
    store.delete_turn(&"a".into()).await?;
    must_equal!(totals().await?, ((3, 1, -2), 4, 1), "the totals after a turn was deleted");
    let batch = Batch::new()
        .with(NewTurn::new("s", "user", "text").tokens(10).id("e"))
        .with(Op::DeleteTurn { turn: "c".into() })
        .with(Op::DeleteTurn { turn: "e".into() })
        .with(NewStep::new("s", "look", "ok"));
    store.commit(batch).await?;
    must_equal!(totals().await?, ((2, 2, 0), 5, 2), "the totals after a batch");
    store.end_session(&"s".into()).await?;
    must_equal!(totals().await?, ((2, 2, 0), 5, 2), "the totals of an ended session");
    Ok(())
}

pub(crate) async fn totals_after_reopening(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    for tokens in [1, 20, 300] {
        store.record_turn(NewTurn::new("s", "user", "text").tokens(tokens)).await?;
    }
    store.record_step(NewStep::new("s", "look", "ok")).await?;
    let before = read_twice(case, "s").await?;
    must_equal!((before.turn_count, before.total_tokens), (3, 321), "the totals");
    case.reopen().await?;
    must_equal!(read_twice(case, "s").await?, before, "the session after reopening");
    Ok(())
}

pub(crate) async fn last_active_is_the_latest(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let new = NewSession::new().id("s").started_at(Case::at(5));
    let active = async || Ok::<_, Failure>(read_twice(case, "s").await?.last_active);
    store.start_session(new).await?;
    must_equal!(active().await?, Case::at(5), "last_active of a session without turns");
    store.record_turn(NewTurn::new("s", "user", "old").created_at(Case::at(2))).await?;
    must_equal!(active().await?, Case::at(5), "last_active after a turn before the start");
    let turn = NewTurn::new("s", "user", "late").id("late").created_at(Case::at(90));
    store.record_turn(turn).await?;
    must_equal!(active().await?, Case::at(90), "last_active after a later turn");
    case.set_clock(Case::at(60));
    store.record_turn(NewTurn::new("s", "user", "the clock stepped back")).await?;
    must_equal!(active().await?, Case::at(90), "last_active when the clock steps back");
    store.delete_turn(&"late".into()).await?;
    must_equal!(active().await?, Case::at(90), "last_active after the latest turn's deletion");
    case.set_clock(Case::at(100));
    store.record_step(NewStep::new("s", "look", "ok")).await?;
    must_equal!(active().await?, Case::at(100), "last_active after a step");
    case.set_clock(Case::at(500));
    store.set_summary(&"s".into(), Some("done".to_owned())).await?;
    store.end_session(&"s".into()).await?;
    must_equal!(active().await?, Case::at(100), "last_active after the end");
    Ok(())
}

async fn prompt(case: &Case) -> Result<Option<String>, Failure> {
    Ok(read_twice(case, "s").await?.first_prompt)
}

pub(crate) async fn first_prompt_by_position(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    must_equal!(prompt(case).await?, None, "the prompt without turns");
    for (role, content) in
        [("system", "be brief"), ("User", "another role"), ("", "no role"), ("assistant", "hello")]
    {
        store.record_turn(NewTurn::new("s", role, content)).await?;
    }
    must_equal!(prompt(case).await?, None, "the prompt without a user turn");
    store.record_turn(NewTurn::new("s", "user", "first").created_at(Case::at(50))).await?;
    store
        .record_turn(NewTurn::new("s", "user", "earlier by clock").created_at(Case::at(1)))
        .await?;
    must_equal!(prompt(case).await?.as_deref(), Some("first"), "the prompt");
    Ok(())
}

pub(crate) async fn first_prompt_is_cut(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let long = "ä".to_owned() + &"x".repeat(100_000);
    for (what, content, expected) in [
        ("255 characters", "é".repeat(255), "é".repeat(255)),
        ("256 characters", "部".repeat(256), "部".repeat(256)),
        ("257 characters", "🦀".repeat(257), "🦀".repeat(256)),
        ("100,001 characters", long, "ä".to_owned() + &"x".repeat(255)),
        ("no character", String::new(), String::new()),
    ] {
        store.start_session(NewSession::new().id("s")).await?;
        store.record_turn(NewTurn::new("s", "user", content)).await?;
        must_equal!(prompt(case).await?, Some(expected), "the prompt of {what}");
        store.delete_session(&"s".into()).await?;
    }
    Ok(())
}

pub(crate) async fn first_prompt_follows_deletions(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    for (role, id) in [("user", "a"), ("tool", "b"), ("user", "c"), ("user", "d")] {
        store.record_turn(NewTurn::new("s", role, id).id(id)).await?;
    }
    for (deleted, next) in [("a", Some("c")), ("d", Some("c")), ("c", None)] {
        store.delete_turn(&deleted.into()).await?;
        must_equal!(prompt(case).await?.as_deref(), next, "the prompt without {deleted:?}");
    }
    store.record_turn(NewTurn::new("s", "user", "again").id("a")).await?;
    must_equal!(prompt(case).await?.as_deref(), Some("again"), "the prompt of a new turn");
    Ok(())
}

pub(crate) async fn first_prompt_follows_restoring(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let mut turns = Vec::new();
    for (role, id) in [("tool", "a"), ("user", "b"), ("user", "c"), ("user", "d")] {
        turns.push(store.record_turn(NewTurn::new("s", role, id).id(id)).await?);
    }
    for id in ["a", "b", "c"] {
        store.delete_turn(&id.into()).await?;
    }
    must_equal!(prompt(case).await?.as_deref(), Some("d"), "the prompt of the turn that is left");
    for (at, right) in [(2, "c"), (0, "c"), (1, "b")] {
        store.commit_one(Record::Turn(turns[at].clone()).into()).await?;
        let index = turns[at].index;
        must_equal!(
            prompt(case).await?.as_deref(),
            Some(right),
            "the prompt after {index} is back"
        );
    }
    Ok(())
}

pub(crate) async fn first_prompt_with_nul(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for content in ["a\0b", "\0", "\0\0\u{1}end", "before\0"] {
        store.start_session(NewSession::new().id("s")).await?;
        store.record_turn(NewTurn::new("s", "user", content)).await?;
        must_equal!(prompt(case).await?.as_deref(), Some(content), "the prompt");
        store.delete_session(&"s".into()).await?;
    }
    store.start_session(NewSession::new().id("s")).await?;
    store.record_turn(NewTurn::new("s", "user", "\0".repeat(10_291))).await?;
    must_equal!(prompt(case).await?, Some("\0".repeat(256)), "the prompt of NULs, cut");
    Ok(())
}

pub(crate) async fn first_prompt_only_in_reads(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    store.record_turn(NewTurn::new("s", "user", "the prompt")).await?;
    let summary = store.set_summary(&"s".into(), None).await?;
    must_equal!(summary.first_prompt, None, "the prompt in an outcome");
    let scanned = store.scan(&Scan::new(RecordKind::Session)).await?.items;
    let expected = [Record::Session(Session { first_prompt: None, ..read(case, "s").await? })];
    must_equal!(scanned, expected, "the scanned session");
    must_equal!(prompt(case).await?.as_deref(), Some("the prompt"), "the prompt in reads");
    Ok(())
}

/// Six sessions in two workspaces, with ties in both orders.
async fn sessions_with_ties(case: &Case) -> Verdict {
    let store = case.sessions()?;
    let rows = [
        ("a", "x", 3, 30),
        ("b", "y", 9, 30),
        ("c", "x", 3, 50),
        ("d", "x", 1, 30),
        ("e", "y", 3, 50),
        ("f", "x", 9, 70),
    ];
    for (id, workspace, started, _) in rows {
        let new = NewSession::new().id(id).workspace(workspace).started_at(Case::at(started));
        store.start_session(new).await?;
    }
    for (id, _, _, active) in rows.into_iter().rev() {
        let turn = NewTurn::new(id, "user", "text").created_at(Case::at(active));
        store.record_turn(turn).await?;
    }
    Ok(())
}

async fn listed_by(case: &Case, order: SessionOrder, all: &[&str], x: &[&str]) -> Verdict {
    sessions_with_ties(case).await?;
    let list = ListSessions::new().order(order);
    must_equal!(ids(case, &list).await?, all, "the sessions of all workspaces");
    must_equal!(ids(case, &list.clone().scope("x")).await?, x, "the sessions of one workspace");
    must_equal!(ids(case, &list.scope("z")).await?, [""; 0], "those of an unknown workspace");
    Ok(())
}

pub(crate) async fn listed_by_start(case: &mut Case) -> Verdict {
    let all = ["b", "f", "a", "c", "e", "d"];
    listed_by(case, SessionOrder::Started, &all, &["f", "a", "c", "d"]).await
}

pub(crate) async fn listed_by_activity(case: &mut Case) -> Verdict {
    let all = ["f", "c", "e", "a", "b", "d"];
    listed_by(case, SessionOrder::Active, &all, &["f", "c", "a", "d"]).await
}

pub(crate) async fn new_activity_moves_up(case: &mut Case) -> Verdict {
    sessions_with_ties(case).await?;
    let store = case.sessions()?;
    case.set_clock(Case::at(100));
    store.record_turn(NewTurn::new("d", "user", "again")).await?;
    store.record_step(NewStep::new("b", "look", "ok")).await?;
    let active = ListSessions::new().order(SessionOrder::Active);
    let expected = ["b", "d", "f", "c", "e", "a"];
    must_equal!(ids(case, &active).await?, expected, "the sessions by activity");
    let expected = ["b", "f", "a", "c", "e", "d"];
    must_equal!(ids(case, &ListSessions::new()).await?, expected, "the sessions by start");
    Ok(())
}

pub(crate) async fn default_limits(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for n in 0..21 {
        store.start_session(NewSession::new().id(format!("s{n}"))).await?;
        store.record_turn(NewTurn::new("s0", "user", "text")).await?;
        store.record_step(NewStep::new("s0", "look", "ok")).await?;
    }
    let sessions = store.sessions(&ListSessions::new()).await?;
    must_equal!((sessions.items.len(), sessions.next.is_some()), (20, true), "the sessions");
    let turns = store.turns(&memkeep_core::ListTurns::new("s0")).await?;
    must_equal!((turns.items.len(), turns.next.is_some()), (20, true), "the turns");
    let steps = store.steps(&memkeep_core::ListSteps::new("s0")).await?;
    must_equal!((steps.items.len(), steps.next.is_some()), (20, true), "the steps");
    Ok(())
}

pub(crate) async fn first_end_stays(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let id = SessionId::from("s");
    store.start_session(NewSession::new().id(&id)).await?;
    must_equal!(store.resume_session(&id).await?.ended_at, None, "a session that never ended");
    case.set_clock(Case::at(10));
    must_equal!(store.end_session(&id).await?.ended_at, Some(Case::at(10)), "the end");
    case.set_clock(Case::at(20));
    must_equal!(store.end_session(&id).await?.ended_at, Some(Case::at(10)), "the end after two");
    let given = |at| Op::EndSession { session: "s".into(), at: Some(Case::at(at)) };
    store.commit_one(given(30)).await?;
    must_equal!(read(case, "s").await?.ended_at, Some(Case::at(10)), "the end after three");
    store.resume_session(&id).await?;
    store.commit_one(given(-7)).await?;
    must_equal!(read(case, "s").await?.ended_at, Some(Case::at(-7)), "an end in the past");
    Ok(())
}

pub(crate) async fn summary_changes_alone(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let id = SessionId::from("s");
    let new = NewSession::new().id(&id).model("m").mode("code").started_at(Case::at(3));
    let mut session = store.start_session(new).await?;
    case.set_clock(Case::at(99));
    for summary in [Some("first".to_owned()), Some(String::new()), Some("a\0b".to_owned()), None] {
        session.summary.clone_from(&summary);
        must_equal!(store.set_summary(&id, summary).await?, session, "the outcome");
        must_equal!(read_twice(case, "s").await?, session, "the session");
    }
    store.end_session(&id).await?;
    let after = store.set_summary(&id, Some("after the end".to_owned())).await?;
    must_equal!(after.summary.as_deref(), Some("after the end"), "an ended session's summary");
    Ok(())
}

pub(crate) async fn lists_of_unknown_sessions(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s").workspace("here")).await?;
    for (session, scope) in [("unknown", Scope::All), ("s", Scope::from("elsewhere"))] {
        let turns = memkeep_core::ListTurns::new(session).scope(scope.clone());
        must_refuse!(store.turns(&turns).await, NotFound, "the turns of {session:?}");
        // What is not there is not there for a page of no rows either.
        let turns = turns.limit(0_usize);
        must_refuse!(store.turns(&turns).await, NotFound, "no turns of {session:?}");
        let steps = memkeep_core::ListSteps::new(session).scope(scope.clone());
        must_refuse!(store.steps(&steps).await, NotFound, "the steps of {session:?}");
        let last = store.last_turns(&scope, &session.into(), 1).await;
        must_refuse!(last, NotFound, "the last turn of {session:?}");
    }
    let turns = memkeep_core::ListTurns::new("s").scope("here");
    must_equal!(store.turns(&turns).await?.items, [], "the turns of an empty session");
    Ok(())
}

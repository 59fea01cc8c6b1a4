//! Rows 12 to 16: order, paging, limits.

use std::time::Duration;

use memkeep::{
    Cursor, ErrorKind, ListEpisodes, ListSessions, ListSteps, ListTurns, NewEpisode, NewSession,
    NewStep, NewTurn, Op, Scope, SessionOrder, Timestamp, Turn,
};

use crate::fixture::{Fixture, START, on_every_backend};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(START + seconds * 1_000_000).unwrap()
}

fn contents(turns: &[Turn]) -> Vec<&str> {
    turns.iter().map(|t| t.content.as_str()).collect()
}

on_every_backend! {
    /// 12 and 13.
    async fn turns_stay_as_they_were_appended(fixture: Fixture) {
        fixture.store.start_session(NewSession::new().id("s")).await.unwrap();
        let mut expected = Vec::new();
        for n in 0..50 {
            // One timestamp for all, then a clock that steps back.
            if n == 25 {
                fixture.clock.set(at(-5));
            }
            let turn = NewTurn::new("s", "user", n.to_string());
            assert_eq!(fixture.store.record_turn(turn).await.unwrap().index, n);
            expected.push(n.to_string());
        }
        for _ in 0..2 {
            let all = ListTurns::new("s").limit(usize::MAX);
            let turns = fixture.store.turns(&all).await.unwrap().items;
            assert_eq!(contents(&turns), expected);
            let last = fixture.store.last_turns(&Scope::All, &"s".into(), 50).await.unwrap();
            assert_eq!(contents(&last), expected);
            fixture.reopen().await;
        }
    }

    /// 14.
    async fn no_limit_is_odd(fixture: Fixture) {
        let store = &fixture.store;
        store.start_session(NewSession::new().id("s")).await.unwrap();
        for n in 0..5 {
            store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap();
            store.record_step(NewStep::new("s", "n", "ok")).await.unwrap();
            store.add_episode(NewEpisode::new("p", "s")).await.unwrap();
        }
        for (limit, rows) in [(0, 0), (1, 1), (5, 5), (6, 5), (usize::MAX, 5)] {
            let turns = store.turns(&ListTurns::new("s").limit(limit)).await.unwrap();
            assert_eq!((turns.items.len(), turns.next.is_some()), (rows, limit == 1), "{limit}");
            let steps = store.steps(&ListSteps::new("s").limit(limit)).await.unwrap();
            assert_eq!(steps.items.len(), rows);
            let last = store.last_turns(&Scope::All, &"s".into(), limit).await.unwrap();
            assert_eq!(last.len(), rows);
            let episodes = store.episodes(&ListEpisodes::new().limit(limit)).await.unwrap();
            assert_eq!(episodes.items.len(), rows);
            let sessions = store.sessions(&ListSessions::new().limit(limit)).await.unwrap();
            assert_eq!(sessions.items.len(), rows.min(1));
        }
    }

    /// 15.
    async fn the_latest_are_the_latest(fixture: Fixture) {
        let store = &fixture.store;
        store.start_session(NewSession::new().id("s")).await.unwrap();
        for n in 1..=5 {
            store.record_turn(NewTurn::new("s", "user", n.to_string())).await.unwrap();
        }
        let last = store.last_turns(&Scope::All, &"s".into(), 2).await.unwrap();
        assert_eq!(contents(&last), ["4", "5"]);
    }

    /// Pages neither skip nor repeat a row, whatever comes or goes between them.
    async fn pages_hold_under_change(fixture: Fixture) {
        let store = &fixture.store;
        for n in 0..30_i64 {
            // Groups of three at one time.
            let new = NewSession::new().id(format!("s{n:02}")).started_at(at(n / 3));
            store.start_session(new).await.unwrap();
            let new = NewEpisode::new("p", "").id(format!("e{n:02}")).created_at(at(n / 3));
            store.add_episode(new).await.unwrap();
        }
        let mut seen = Vec::new();
        let mut list = ListSessions::new().limit(4_usize);
        loop {
            let page = store.sessions(&list).await.unwrap();
            seen.extend(page.items.into_iter().map(|s| s.id.to_string()));
            if seen.len() == 8 {
                // One seen, one not yet seen, and a newcomer at the front.
                for id in [&seen[0], "s03"] {
                    store.delete_session(&id.into()).await.unwrap();
                }
                let new = NewSession::new().id("new").started_at(at(99));
                store.start_session(new).await.unwrap();
            }
            match page.next {
                // It survives being written down.
                Some(next) => list.after = Some(next.to_string().parse::<Cursor>().unwrap()),
                None => break,
            }
        }
        let group = |g: i64| (g * 3..g * 3 + 3).map(|n| format!("s{n:02}"));
        let expected: Vec<_> = (0..10).rev().flat_map(group).filter(|id| id != "s03").collect();
        assert_eq!(seen, expected);

        let mut ids = Vec::new();
        let mut list = ListEpisodes::new().limit(7_usize);
        loop {
            let page = store.episodes(&list).await.unwrap();
            ids.extend(page.items.into_iter().map(|e| e.id.to_string()));
            match page.next {
                None => break,
                next => list.after = next,
            }
        }
        assert_eq!(ids, (0..30).map(|n| format!("e{n:02}")).collect::<Vec<_>>());

        // A cursor of another listing is told so.
        let page = store.episodes(&ListEpisodes::new().limit(1_usize)).await.unwrap();
        let wrong = ListTurns::new("s00").after(page.next);
        let error = store.turns(&wrong).await.unwrap_err();
        assert_eq!((error.kind(), error.get("field")), (ErrorKind::InvalidArgument, Some("cursor")));
    }

    /// 16: the counts and first prompts of a page come with it.
    async fn a_session_list_says_what_is_in_them(fixture: Fixture) {
        let store = &fixture.store;
        for n in 0..60_i64 {
            let id = format!("s{n:02}");
            let new = NewSession::new().id(&id[..]).started_at(at(n));
            store.start_session(new).await.unwrap();
            let long = format!("ä{}", "x".repeat(5_000));
            for (role, content) in [("system", "be brief"), ("user", &long), ("user", "second")] {
                store.record_turn(NewTurn::new(&id[..], role, content).tokens(2)).await.unwrap();
            }
        }
        let page = store.sessions(&ListSessions::new().limit(50_usize)).await.unwrap();
        assert_eq!(page.items.len(), 50);
        for session in &page.items {
            assert_eq!((session.turn_count, session.total_tokens), (3, 6));
            let prompt = session.first_prompt.as_deref().unwrap();
            assert_eq!(prompt, format!("ä{}", "x".repeat(255)));
        }
        fixture.clock.advance(Duration::from_secs(1_000));
        store.record_turn(NewTurn::new("s07", "user", "again")).await.unwrap();
        let active = ListSessions::new().order(SessionOrder::Active).limit(1_usize);
        let page = store.sessions(&active).await.unwrap();
        assert_eq!(page.items[0].id.as_str(), "s07");
        // The first prompt is the first by position that is there.
        let first = store.turns(&ListTurns::new("s07")).await.unwrap().items.swap_remove(1);
        store.commit_one(Op::DeleteTurn { turn: first.id }).await.unwrap();
        let session = store.session(&Scope::All, &"s07".into()).await.unwrap().unwrap();
        assert_eq!(session.first_prompt.as_deref(), Some("second"));
    }
}

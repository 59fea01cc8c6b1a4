//! Turns: order, indexes, totals.

use memkeep_core::{ListTurns, NewSession, NewTurn, Scope};

use crate::{Case, Verdict, failure::must_equal};

async fn record(case: &Case, contents: &[&str]) -> Verdict {
    for content in contents {
        case.sessions()?.record_turn(NewTurn::new("s", "user", *content)).await?;
    }
    Ok(())
}

async fn in_order(case: &Case, contents: &[&str]) -> Verdict {
    let store = case.sessions()?;
    let turns = store.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items;
    let listed: Vec<&str> = turns.iter().map(|t| t.content.as_str()).collect();
    must_equal!(listed, contents, "the listed turns");
    let last = store.last_turns(&Scope::All, &"s".into(), contents.len()).await?;
    must_equal!(last, turns, "the last turns");
    Ok(())
}

pub(crate) async fn one_timestamp(case: &mut Case) -> Verdict {
    case.sessions()?.start_session(NewSession::new().id("s")).await?;
    let contents: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    record(case, &contents).await?;
    in_order(case, &contents).await
}

pub(crate) async fn clock_steps_back(case: &mut Case) -> Verdict {
    case.sessions()?.start_session(NewSession::new().id("s")).await?;
    case.set_clock(Case::at(10_000_000));
    record(case, &["first"]).await?;
    case.set_clock(Case::at(5_000_000));
    record(case, &["second", "third"]).await?;
    in_order(case, &["first", "second", "third"]).await?;
    case.reopen().await?;
    in_order(case, &["first", "second", "third"]).await
}

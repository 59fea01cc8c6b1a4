//! Steps: order and indexes.

use memkeep_core::{ListSteps, NewSession, NewStep, NewTurn, Op, Scope, Step};
use serde_json::json;

use crate::{Case, Failure, Verdict, failure::must_equal};

async fn start(case: &Case) -> Verdict {
    case.sessions()?.start_session(NewSession::new().id("s")).await?;
    Ok(())
}

async fn record(case: &Case, names: &[&str]) -> Verdict {
    for name in names {
        case.sessions()?.record_step(NewStep::new("s", *name, "ok").id(*name)).await?;
    }
    Ok(())
}

async fn listed(case: &Case) -> Result<Vec<Step>, Failure> {
    Ok(case.sessions()?.steps(&ListSteps::new("s").limit(usize::MAX)).await?.items)
}

async fn in_order(case: &Case, names: &[&str]) -> Verdict {
    let steps = listed(case).await?;
    let listed: Vec<&str> = steps.iter().map(|s| s.name.as_str()).collect();
    must_equal!(listed, names, "the listed steps");
    let indexes: Vec<u64> = steps.iter().map(|s| s.index).collect();
    must_equal!(indexes, (0..names.len() as u64).collect::<Vec<_>>(), "their indexes");
    Ok(())
}

pub(crate) async fn clock_stands_and_steps_back(case: &mut Case) -> Verdict {
    start(case).await?;
    record(case, &["first", "second"]).await?;
    case.set_clock(Case::at(-5_000_000));
    record(case, &["third", "fourth"]).await?;
    in_order(case, &["first", "second", "third", "fourth"]).await
}

pub(crate) async fn order_after_reopening(case: &mut Case) -> Verdict {
    start(case).await?;
    record(case, &["first", "second"]).await?;
    case.reopen().await?;
    case.set_clock(Case::at(-5_000_000));
    record(case, &["third"]).await?;
    in_order(case, &["first", "second", "third"]).await
}

pub(crate) async fn indexes_are_their_own(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("other")).await?;
    for (n, name) in ["a", "b", "c"].into_iter().enumerate() {
        let turn = store.record_turn(NewTurn::new("s", "user", name).id(name)).await?;
        record(case, &[name]).await?;
        store.record_step(NewStep::new("other", name, "ok")).await?;
        must_equal!(turn.index, n as u64, "the index of a turn beside steps");
    }
    store.commit_one(Op::DeleteTurn { turn: "b".into() }).await?;
    in_order(case, &["a", "b", "c"]).await
}

pub(crate) async fn come_back_whole(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    let payload = json!({"path": ["a", 1]});
    let new = NewStep::new("s", "edit_file", "failed").id("p").payload(payload.clone());
    let step = store.record_step(new.created_at(Case::at(7))).await?;
    must_equal!((&step.payload, step.created_at), (&payload, Case::at(7)), "what was given");
    let read = store.step(&Scope::All, &"p".into()).await?;
    must_equal!(read.as_ref(), Some(&step), "the step by its id");
    must_equal!(listed(case).await?, [step], "the listed step");
    must_equal!(store.step(&Scope::All, &"unknown".into()).await?, None, "an unknown step");
    Ok(())
}

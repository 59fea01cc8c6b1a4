//! Turns: order, indexes, the last ones, tags.

use std::collections::BTreeMap;

use memkeep_core::{Batch, ListTurns, NewSession, NewStep, NewTurn, Op, Scope, Turn, TurnId};

use crate::{
    Case, Failure, Verdict,
    failure::{must_equal, must_refuse},
};

/// Records turns of the session `s`; their ids are their contents.
async fn record(case: &Case, contents: &[&str]) -> Verdict {
    for content in contents {
        let turn = NewTurn::new("s", "user", *content).id(*content);
        case.sessions()?.record_turn(turn).await?;
    }
    Ok(())
}

async fn start(case: &Case) -> Verdict {
    case.sessions()?.start_session(NewSession::new().id("s")).await?;
    Ok(())
}

async fn listed(case: &Case) -> Result<Vec<Turn>, Failure> {
    Ok(case.sessions()?.turns(&ListTurns::new("s").limit(usize::MAX)).await?.items)
}

fn contents(turns: &[Turn]) -> Vec<&str> {
    turns.iter().map(|t| t.content.as_str()).collect()
}

fn indexes(turns: &[Turn]) -> Vec<u64> {
    turns.iter().map(|t| t.index).collect()
}

async fn in_order(case: &Case, expected: &[&str]) -> Verdict {
    let turns = listed(case).await?;
    must_equal!(contents(&turns), expected, "the listed turns");
    let last = case.sessions()?.last_turns(&Scope::All, &"s".into(), expected.len()).await?;
    must_equal!(last, turns, "the last turns");
    Ok(())
}

pub(crate) async fn one_timestamp(case: &mut Case) -> Verdict {
    start(case).await?;
    let contents: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let contents: Vec<&str> = contents.iter().map(String::as_str).collect();
    record(case, &contents).await?;
    in_order(case, &contents).await
}

pub(crate) async fn clock_steps_back(case: &mut Case) -> Verdict {
    start(case).await?;
    case.set_clock(Case::at(10_000_000));
    record(case, &["first"]).await?;
    case.set_clock(Case::at(5_000_000));
    record(case, &["second", "third"]).await?;
    in_order(case, &["first", "second", "third"]).await?;
    case.reopen().await?;
    in_order(case, &["first", "second", "third"]).await
}

pub(crate) async fn given_times(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    for (content, at) in [("first", 9), ("second", 3), ("third", 6), ("fourth", 3)] {
        let turn = NewTurn::new("s", "user", content).created_at(Case::at(at));
        let turn = store.record_turn(turn).await?;
        must_equal!(turn.created_at, Case::at(at), "the time that the caller gave");
    }
    in_order(case, &["first", "second", "third", "fourth"]).await
}

pub(crate) async fn newest_first(case: &mut Case) -> Verdict {
    start(case).await?;
    for (content, at) in [("first", 2_000), ("second", 1_000), ("third", 0)] {
        case.set_clock(Case::at(at));
        record(case, &[content]).await?;
    }
    let list = ListTurns::new("s").newest_first(true);
    let turns = case.sessions()?.turns(&list).await?.items;
    must_equal!(contents(&turns), ["third", "second", "first"], "the turns, newest first");
    must_equal!(indexes(&turns), [2, 1, 0], "their indexes");
    Ok(())
}

pub(crate) async fn indexes_are_dense(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for session in ["s", "other"] {
        store.start_session(NewSession::new().id(session)).await?;
    }
    for n in 0..5 {
        for session in ["s", "other"] {
            let turn = store.record_turn(NewTurn::new(session, "user", "text")).await?;
            must_equal!(turn.index, n, "the index given to a turn of {session:?}");
        }
        store.record_step(NewStep::new("s", "a step between", "ok")).await?;
    }
    let batch: Batch = (0..3).map(|_| NewTurn::new("s", "user", "text")).collect();
    case.backend().commit(batch).await?;
    must_equal!(indexes(&listed(case).await?), [0, 1, 2, 3, 4, 5, 6, 7], "the indexes");
    Ok(())
}

pub(crate) async fn refused_turns_take_no_index(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    record(case, &["first"]).await?;
    let refused = Batch::new().with(NewTurn::new("s", "user", "never stored")).with(NewTurn::new(
        "no such session",
        "user",
        "never stored",
    ));
    must_refuse!(store.commit(refused).await, NotFound, "a batch with an unknown session");
    store.end_session(&"s".into()).await?;
    let late = store.record_turn(NewTurn::new("s", "user", "late")).await;
    must_refuse!(late, Conflict, "a turn of an ended session");
    store.resume_session(&"s".into()).await?;
    // The same turn again is no new one.
    record(case, &["first", "second"]).await?;
    must_equal!(indexes(&listed(case).await?), [0, 1], "the indexes");
    in_order(case, &["first", "second"]).await
}

/// Deletes turns at the end, in the middle and at the start.
async fn leave_gaps(case: &Case) -> Verdict {
    start(case).await?;
    record(case, &["0", "1", "2", "3", "4"]).await?;
    for id in ["4", "1", "0"] {
        let deleted = case.sessions()?.delete_turn(&id.into()).await?;
        must_equal!((deleted.existed, deleted.counts.turns), (true, 1), "what was deleted");
    }
    Ok(())
}

async fn gaps_stay(case: &Case) -> Verdict {
    record(case, &["5", "6"]).await?;
    let turns = listed(case).await?;
    must_equal!(contents(&turns), ["2", "3", "5", "6"], "the turns that are left");
    must_equal!(indexes(&turns), [2, 3, 5, 6], "their indexes");
    Ok(())
}

pub(crate) async fn deleted_indexes_stay_unused(case: &mut Case) -> Verdict {
    leave_gaps(case).await?;
    gaps_stay(case).await?;
    // Not even when no turn is left.
    let store = case.sessions()?;
    let every = ["2", "3", "5", "6"].map(|id| Op::DeleteTurn { turn: id.into() });
    store.commit(every.into_iter().collect()).await?;
    must_equal!(listed(case).await?, [], "the turns of an emptied session");
    let next = store.record_turn(NewTurn::new("s", "user", "text")).await?;
    must_equal!(next.index, 7, "the index after those of deleted turns");
    Ok(())
}

pub(crate) async fn deleted_indexes_stay_unused_after_reopening(case: &mut Case) -> Verdict {
    leave_gaps(case).await?;
    case.reopen().await?;
    gaps_stay(case).await
}

pub(crate) async fn same_id_again(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    record(case, &["a", "b"]).await?;
    store.tag_turn(&"a".into(), "kept?", None).await?;
    store.delete_turn(&"a".into()).await?;
    must_equal!(store.turn(&Scope::All, &"a".into()).await?, None, "a deleted turn");
    let again = store.delete_turn(&"a".into()).await?;
    must_equal!((again.existed, again.counts.total()), (false, 0), "deleting it twice");
    let turn = store.record_turn(NewTurn::new("s", "tool", "another").id("a")).await?;
    must_equal!((turn.index, turn.tags.len()), (2, 0), "index and tags of the id's new turn");
    must_equal!(store.turn(&Scope::All, &"a".into()).await?, Some(turn), "the new turn");
    must_equal!(contents(&listed(case).await?), ["b", "another"], "the turns");
    Ok(())
}

pub(crate) async fn last_n(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    must_equal!(store.last_turns(&Scope::All, &"s".into(), 3).await?, [], "the last of none");
    record(case, &["1", "2", "3", "4", "5", "6"]).await?;
    store.delete_turn(&"6".into()).await?;
    let all = ["1", "2", "3", "4", "5"];
    for (n, from) in [(0, 5), (1, 4), (2, 3), (5, 0), (6, 0), (usize::MAX, 0)] {
        let last = store.last_turns(&Scope::All, &"s".into(), n).await?;
        must_equal!(contents(&last), &all[from..], "the last {n}");
    }
    for (scope, session) in [(Scope::All, "unknown"), (Scope::from("another"), "s")] {
        let refused = store.last_turns(&scope, &session.into(), 1).await;
        must_refuse!(refused, NotFound, "the last turns of {session:?} in {scope:?}");
    }
    Ok(())
}

/// Names that mean something to SQL, JSON paths, patterns or C.
const HOSTILE_TAGS: [&str; 12] = [
    "x') OR 1=1--",
    "a.b",
    "a\"b",
    "a",
    "A",
    "",
    "a\0b",
    "a%",
    "a_b",
    "$.a[0]",
    "'; DROP TABLE turns; --",
    "ä",
];

pub(crate) async fn tag_names_are_data(case: &mut Case) -> Verdict {
    start(case).await?;
    record(case, &["all", "one"]).await?;
    let store = case.sessions()?;
    let mut expected: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (n, name) in HOSTILE_TAGS.into_iter().enumerate() {
        let value = (n % 2 == 0).then(|| format!("value of {name}"));
        let turn = store.tag_turn(&"all".into(), name, value.clone()).await?;
        expected.insert(name.to_owned(), value);
        must_equal!(turn.tags, expected, "the tags after {name:?} was set");
    }
    store.tag_turn(&"one".into(), "a", None).await?;
    for name in HOSTILE_TAGS {
        let turn = store.untag_turn(&"all".into(), name).await?;
        expected.remove(name);
        must_equal!(turn.tags, expected, "the tags after {name:?} was removed");
        must_equal!(listed(case).await?[0], turn, "the listed turn");
    }
    let other = store.turn(&Scope::All, &"one".into()).await?.map(|t| t.tags.len());
    must_equal!(other, Some(1), "the tags of another turn");
    Ok(())
}

pub(crate) async fn tags_change_alone(case: &mut Case) -> Verdict {
    start(case).await?;
    let store = case.sessions()?;
    let new = NewTurn::new("s", "user", "text").id("t").tokens(7).embedding_id("vector");
    let tags = BTreeMap::from([("first".to_owned(), Some("1".to_owned()))]);
    let mut turn = store.record_turn(new.tags(tags)).await?;
    let id = TurnId::from("t");
    for value in [Some("2".to_owned()), None, Some(String::new())] {
        turn.tags.insert("first".to_owned(), value.clone());
        must_equal!(store.tag_turn(&id, "first", value).await?, turn, "the turn tagged again");
    }
    must_equal!(store.untag_turn(&id, "absent").await?, turn, "the turn without a tag it has not");
    for embedding in [Some("other".to_owned()), None] {
        turn.embedding_id.clone_from(&embedding);
        let changed = store.set_embedding(&id, embedding).await?;
        must_equal!(changed, turn, "the turn with another embedding");
    }
    must_equal!(store.turn(&Scope::All, &id).await?, Some(turn), "the stored turn");
    Ok(())
}

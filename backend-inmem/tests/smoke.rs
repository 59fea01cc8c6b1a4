//! Every op, every read and every listing of the contract, through the public traits, as a program
//! would use them.

use std::{sync::Arc, time::Duration};

use memkeep_core::{
    Backend, Batch, Counts, Cursor, DeleteState, Durability, EpisodeRevision, EpisodicBackend,
    ErrorKind, Event, Expected, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions,
    ListStates, ListSteps, ListTurns, ManualClock, MemoryBackend, NewAudit, NewEpisode, NewNote,
    NewSession, NewStep, NewTurn, Op, Outcome, Prune, PutState, RecallQuery, Record, RecordKind,
    ReflectiveStore, Result, Scan, Scope, SessionOrder, SessionStore, Timestamp, verify::Verify,
};
use memkeep_inmem::{InmemBackend, InmemConfig};
use serde_json::json;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

async fn open() -> (InmemBackend, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(at(1_000)));
    (InmemConfig::new().clock(clock.clone()).open().await.unwrap(), clock)
}

/// Derived keys agree with the records, and records with each other.
async fn assert_sound(memory: &dyn MemoryBackend) {
    let report = memory.verify(&Verify::new()).await.unwrap();
    assert_eq!(report.problems, []);
    assert_eq!(memory.stats(&Scope::All).await.unwrap().counts, report.checked);
}

fn kind<T>(result: Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[tokio::test]
async fn sessions() -> Result<()> {
    let (memory, clock) = open().await;
    let new = NewSession::new().id("one").workspace("acme").model("m").mode("plan");
    let session = memory.start_session(new.clone()).await?;
    assert_eq!(memory.ensure_session(new).await?, session);
    let other = NewSession::new().id("one").workspace("acme-corp");
    assert_eq!(kind(memory.start_session(other).await), Some(ErrorKind::Conflict));

    for role in ["system", "user", "user"] {
        clock.advance(Duration::from_secs(1));
        memory.record_turn(NewTurn::new("one", role, format!("a {role} speaks")).tokens(2)).await?;
    }
    let step = memory.record_step(NewStep::new("one", "build", "ok").payload(json!([1]))).await?;
    assert_eq!(memory.step(&"acme".into(), &step.id).await?, Some(step.clone()));
    assert_eq!(memory.step(&"acme-corp".into(), &step.id).await?, None);
    assert_eq!(memory.steps(&ListSteps::new("one")).await?.items, [step]);

    let turn = memory.last_turns(&Scope::All, &"one".into(), 1).await?.remove(0);
    let turn = memory.tag_turn(&turn.id, "kept", Some("yes".into())).await?;
    memory.tag_turn(&turn.id, "also", None).await?;
    memory.untag_turn(&turn.id, "also").await?;
    let turn = memory.set_embedding(&turn.id, Some("v1".into())).await?;
    assert_eq!(turn.tags, [("kept".to_owned(), Some("yes".to_owned()))].into());
    assert_eq!(memory.turn(&"acme".into(), &turn.id).await?, Some(turn.clone()));
    assert_eq!(memory.turn(&"acme-corp".into(), &turn.id).await?, None);
    let hits = memory.recall_turns(&RecallQuery::new("user").tag("kept".to_owned())).await?;
    assert_eq!((hits.len(), &hits[0].record), (1, &turn));
    let found = memory.find_turns(&FindTurns::new("USER speaks").scope("acme")).await?;
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], turn);
    assert_eq!(memory.find_turns(&FindTurns::new("speaks").scope("acme-corp")).await?, []);

    let session = memory.session(&Scope::All, &"one".into()).await?.unwrap();
    assert_eq!(session.first_prompt.as_deref(), Some("a user speaks"));
    assert_eq!((session.turn_count, session.step_count, session.total_tokens), (3, 1, 6));
    assert_eq!(session.last_active, clock_now(&clock));
    let first = memory.turns(&ListTurns::new("one").limit(2_usize)).await?;
    memory.delete_turn(&first.items[1].id).await?;
    let left = memory.turns(&ListTurns::new("one")).await?.items;
    assert_eq!(left.iter().map(|turn| turn.index).collect::<Vec<_>>(), [0, 2]);

    memory.set_summary(&"one".into(), Some("done".into())).await?;
    memory.end_session(&"one".into()).await?;
    let late = memory.record_turn(NewTurn::new("one", "user", "late")).await;
    assert_eq!(kind(late), Some(ErrorKind::Conflict));
    memory.resume_session(&"one".into()).await?;
    assert_eq!(memory.record_turn(NewTurn::new("one", "user", "late")).await?.index, 3);
    for scope in ["acme-corp", "acm", ""] {
        assert_eq!(memory.session(&scope.into(), &"one".into()).await?, None);
        let list = ListTurns::new("one").scope(scope);
        assert_eq!(kind(memory.turns(&list).await), Some(ErrorKind::NotFound));
        let list = ListSteps::new("one").scope(scope);
        assert_eq!(kind(memory.steps(&list).await), Some(ErrorKind::NotFound));
    }
    assert_sound(&memory).await;

    let deleted = memory.delete_session(&"one".into()).await?;
    let counts = Counts { sessions: 1, turns: 3, steps: 1, ..Counts::default() };
    assert_eq!((deleted.existed, deleted.counts), (true, counts));
    assert!(!memory.delete_session(&"one".into()).await?.existed);
    assert_eq!(memory.workspaces().await?, []);
    assert_sound(&memory).await;
    Ok(())
}

fn clock_now(clock: &ManualClock) -> Timestamp {
    memkeep_core::Clock::now(clock)
}

#[tokio::test]
async fn episodes_and_notes() -> Result<()> {
    let (memory, _) = open().await;
    let new = NewEpisode::new("linker fails", "").id("ep").workspace("acme");
    let episode = memory.add_episode(new.clone()).await?;
    memory.revise_episode(EpisodeRevision::new("ep").summary("pin the linker")).await?;
    let closed = memory.set_episode_open(&episode.id, false).await?;
    assert_eq!(closed.closed_at, Some(at(1_000)));
    // A retry is told from another episode even after the change.
    assert_eq!(memory.add_episode(new).await?, closed);
    assert_eq!(memory.episode(&"acme".into(), &episode.id).await?, Some(closed.clone()));
    assert_eq!(memory.episode(&"acme-corp".into(), &episode.id).await?, None);
    let hits = memory.recall(&RecallQuery::new("linker").scope("acme")).await?;
    assert_eq!(hits[0].record, closed);
    assert!(memory.recall(&RecallQuery::new("linker").scope("acme-corp")).await?.is_empty());

    let missing = NewNote::new("lesson").sources(vec!["nothing".into()]);
    assert_eq!(kind(memory.add_note(missing).await), Some(ErrorKind::NotFound));
    let note = memory.add_note(NewNote::new("pin linkers").sources(vec!["ep".into()])).await?;
    assert_eq!(note.workspace, "acme".into());
    assert_eq!(memory.note(&"acme".into(), &note.id).await?, Some(note.clone()));
    assert_eq!(memory.note(&"acme-corp".into(), &note.id).await?, None);
    assert_eq!(memory.recall_notes(&RecallQuery::new("linkers")).await?[0].record, note);
    memory.delete_episode(&episode.id).await?;
    assert_eq!(memory.note(&Scope::All, &note.id).await?.unwrap().sources, ["ep".into()]);
    assert_sound(&memory).await;
    memory.delete_note(&note.id).await?;
    assert_eq!(memory.workspaces().await?, []);
    assert_sound(&memory).await;
    Ok(())
}

#[tokio::test]
async fn state_and_audit() -> Result<()> {
    let (memory, clock) = open().await;
    let put = || PutState::new("key", json!({"n": u64::MAX, "f": 0.1})).workspace("acme");
    let entry = memory.put_state(put().expected(Expected::Absent)).await?;
    let acme = "acme".into();
    let read = || memory.state(&acme, "key");
    assert_eq!(memory.state(&"acme-corp".into(), "key").await?, None);
    assert_eq!(read().await?, Some(entry));
    let absent = memory.put_state(put().expected(Expected::Absent)).await;
    assert_eq!(kind(absent), Some(ErrorKind::Conflict));
    memory.put_state(put().ttl(Duration::from_millis(1))).await?;
    clock.advance(Duration::from_millis(1));
    assert_eq!(read().await?, None);
    let entry = memory.put_state(put().expected(Expected::Absent)).await?;
    assert_eq!(entry.version, 3);
    memory.delete_state(DeleteState::new("key").workspace("acme")).await?;
    assert_eq!(read().await?, None);
    assert_eq!(memory.workspaces().await?, []);
    assert_eq!(memory.put_state(put()).await?.version, 4);

    for decision in ["allow", "deny"] {
        let audit = NewAudit::new("rm -r", decision).workspace("acme").detail(json!({"a": 1}));
        memory.append_audit(audit).await?;
    }
    let log = memory.audit_log(&ListAudit::new().scope("acme")).await?.items;
    assert_eq!(log.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(memory.audit_head(&"acme".into()).await?, log[1].head());
    assert_eq!(memory.audit_head(&"acme-corp".into()).await?.seq, 0);
    assert_sound(&memory).await;
    Ok(())
}

/// Some of everything in two workspaces, one the other's prefix.
async fn fill(memory: &InmemBackend) -> Result<()> {
    for workspace in ["acme", "acme-corp"] {
        for n in 0..5 {
            let session = format!("{workspace}-{n}");
            let time = at(n / 2);
            let mut batch = Batch::new();
            batch.push(Op::StartSession(
                NewSession::new().id(&*session).workspace(workspace).started_at(time),
            ));
            for role in ["user", "assistant", "user"] {
                batch.push(NewTurn::new(&*session, role, role).created_at(time));
                batch.push(NewStep::new(&*session, "step", "ok").created_at(time));
            }
            let episode = NewEpisode::new("a", "b").workspace(workspace).created_at(time);
            batch.push(episode.open(n % 2 == 0));
            batch.push(NewNote::new("n").workspace(workspace).created_at(time));
            batch.push(PutState::new(format!("key{n}"), n).workspace(workspace));
            batch.push(NewAudit::new("a", "d").workspace(workspace));
            memory.commit(batch).await?;
        }
        memory.delete_state(DeleteState::new("key2").workspace(workspace)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn listings_are_paged() -> Result<()> {
    let (memory, _) = open().await;
    fill(&memory).await?;
    // Each listing, read whole and in pages of two.
    macro_rules! assert_paged {
        ($($method:ident($list:expr): $count:expr;)*) => {$({
            let list = || $list.limit(usize::MAX);
            let whole = memory.$method(&list()).await?;
            assert_eq!((whole.items.len(), whole.next), ($count, None));
            assert!(memory.$method(&list().limit(0_usize)).await?.next.is_none());
            let (mut items, mut after) = (Vec::new(), None::<Cursor>);
            loop {
                let page = memory.$method(&list().limit(2_usize).after(after)).await?;
                items.extend(page.items);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(items, whole.items);
        })*};
    }
    for (scope, times) in [(Scope::All, 2), ("acme".into(), 1), ("acme-corp".into(), 1)] {
        let scope = || scope.clone();
        assert_paged! {
            episodes(ListEpisodes::new().scope(scope())): 5 * times;
            episodes(ListEpisodes::new().scope(scope()).open(true)): 3 * times;
            notes(ListNotes::new().scope(scope())): 5 * times;
            sessions(ListSessions::new().scope(scope())): 5 * times;
            sessions(ListSessions::new().scope(scope()).order(SessionOrder::Active)): 5 * times;
            states(ListStates::new().scope(scope())): 4 * times;
            states(ListStates::new().scope(scope()).prefix("key4")): times;
            audit_log(ListAudit::new().scope(scope())): 5 * times;
            scan(Scan::new(RecordKind::Turn).scope(scope())): 15 * times;
            scan(Scan::new(RecordKind::State).scope(scope())): 5 * times;
        }
    }
    assert_paged! {
        turns(ListTurns::new("acme-1")): 3;
        turns(ListTurns::new("acme-1").scope("acme").newest_first(true)): 3;
        steps(ListSteps::new("acme-1")): 3;
    }

    // A cursor of another listing is refused.
    let by_key = memory.states(&ListStates::new().limit(1_usize)).await?.next;
    let by_time = memory.notes(&ListNotes::new().limit(1_usize)).await?.next;
    let refused = [
        kind(memory.episodes(&ListEpisodes::new().after(by_key.clone())).await),
        kind(memory.turns(&ListTurns::new("acme-1").after(by_key.clone())).await),
        kind(memory.scan(&Scan::new(RecordKind::Note).after(by_time.clone())).await),
        kind(memory.audit_log(&ListAudit::new().after(by_key)).await),
        kind(memory.states(&ListStates::new().after(by_time)).await),
    ];
    assert_eq!(refused, [Some(ErrorKind::InvalidArgument); 5]);
    Ok(())
}

#[tokio::test]
async fn a_workspace_is_forgotten_whole_and_alone() -> Result<()> {
    let (memory, _) = open().await;
    fill(&memory).await?;
    let before = memory.workspaces().await?;
    let forget = Op::ForgetWorkspace { workspace: "acme".into() };
    let deleted = memory.commit_one(forget).await?.into_deleted()?;
    assert_eq!(deleted.counts, before[0].counts);
    assert_eq!(memory.workspaces().await?, before[1..]);
    assert_eq!(memory.audit_head(&"acme".into()).await?.seq, 0);
    // The version count of a forgotten key starts again.
    assert_eq!(memory.put_state(PutState::new("key2", 1).workspace("acme")).await?.version, 1);
    assert_sound(&memory).await;
    Ok(())
}

#[tokio::test]
async fn everything_is_restored_as_it_was() -> Result<()> {
    let (from, _) = open().await;
    fill(&from).await?;
    let (to, _) = open().await;
    for kind in RecordKind::ALL {
        let records = from.scan(&Scan::new(kind)).await?.items;
        let batch: Batch = records.iter().cloned().collect();
        let outcomes = to.commit(batch.clone()).await?.outcomes;
        let new = |outcome: &Outcome| matches!(outcome, Outcome::Restored { created: true, .. });
        assert!(outcomes.iter().all(new));
        to.commit(batch).await?;
        if kind != RecordKind::Session {
            assert_eq!(to.scan(&Scan::new(kind)).await?.items, records);
        }
    }
    let sessions = |page: memkeep_core::Page<Record>| page.items;
    let scan = Scan::new(RecordKind::Session);
    assert_eq!(sessions(to.scan(&scan).await?), sessions(from.scan(&scan).await?));
    assert_sound(&to).await;
    Ok(())
}

#[tokio::test]
async fn a_key_makes_a_batch_happen_once() -> Result<()> {
    let (memory, clock) = open().await;
    let mut feed = memory.subscribe()?;
    let batch = || Batch::from(NewEpisode::new("a", "b")).key("retry");
    let receipt = memory.commit(batch()).await?;
    assert_eq!(memory.commit(batch()).await?, receipt);
    let other = Batch::from(NewEpisode::new("c", "d")).key("retry");
    assert_eq!(kind(memory.commit(other.clone()).await), Some(ErrorKind::Conflict));
    assert_eq!(feed.next().await, Some(Event::Committed(receipt.into())));

    clock.advance(memkeep_core::RECEIPT_RETENTION);
    memory.commit(other).await?;
    clock.advance(memkeep_core::RECEIPT_RETENTION);
    memory
        .set_episode_open(&memory.episodes(&ListEpisodes::new()).await?.items[0].id, false)
        .await?;
    clock.advance(Duration::from_secs(1));
    let pruned = memory.prune(&Prune::new(clock_now(&clock))).await?;
    assert_eq!(pruned, Counts { episodes: 1, ..Counts::default() });
    assert_sound(&memory).await;
    Ok(())
}

#[tokio::test]
async fn a_refused_batch_leaves_nothing() -> Result<()> {
    let (memory, _) = open().await;
    let batch = Batch::from(NewEpisode::new("a", "b")).with(NewTurn::new("none", "user", "x"));
    let refused = memory.commit(batch).await.unwrap_err();
    assert_eq!((refused.kind(), refused.get("op")), (ErrorKind::NotFound, Some("1")));
    assert_eq!(memory.workspaces().await?, []);
    assert_sound(&memory).await;
    Ok(())
}

#[tokio::test]
async fn the_store_is_volatile_and_private() -> Result<()> {
    let url = "inmem:".parse()?;
    let memory = InmemConfig::from_url(&url)?.readers(0).open().await?;
    let other = InmemConfig::from_url(&url)?.open().await?;
    memory.add_episode(NewEpisode::new("a", "b")).await?;
    assert_eq!(memory.episodes(&ListEpisodes::new()).await?.items.len(), 1);
    assert_eq!(other.episodes(&ListEpisodes::new()).await?.items.len(), 0);
    assert_eq!((memory.info().name, memory.info().durability), ("inmem", Durability::Volatile));
    assert_eq!(memory.stats(&Scope::All).await?.bytes, None);
    memory.compact().await?;
    assert_eq!(kind(memory.backup("copy".as_ref()).await), Some(ErrorKind::Unsupported));
    memory.close().await?;
    assert_eq!(kind(memory.episodes(&ListEpisodes::new()).await), Some(ErrorKind::Closed));

    for url in ["inmem:name", "inmem:?mode=fast", "sqlite:"] {
        let refused = InmemConfig::from_url(&url.parse()?);
        assert_eq!(kind(refused), Some(ErrorKind::InvalidArgument), "{url}");
    }
    Ok(())
}

//! Scope: a workspace is an opaque string, compared exactly.

use memkeep_core::{
    Batch, Counts, FindTurns, ListAudit, ListEpisodes, ListNotes, ListSessions, ListStates,
    ListSteps, ListTurns, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op,
    PutState, RecallQuery, Record, RecordKind, Scan, Scope, SessionOrder, Workspace,
    recall::Scorer,
};
use serde_json::json;

use crate::{
    Case, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// Names that a prefix, a pattern, a case-insensitive comparison, a C string or a normalisation
/// would take for each other, or sort otherwise than their bytes.
const SIBLINGS: [&str; 15] = [
    "acme",
    "acme-corp",
    "acme\0",
    "acme\0corp",
    "",
    "\0",
    "ACME",
    "acme/",
    "acme ",
    "ac_e",
    "acm%",
    "caf\u{e9}",
    "cafe\u{301}",
    // In UTF-16 the second comes first.
    "\u{fffd}",
    "\u{10000}",
];

fn id(workspace: &str, what: &str) -> String {
    format!("{workspace}/{what}")
}

async fn sessions(case: &Case) -> Verdict {
    let batch = |workspace: &str| {
        let session = id(workspace, "s");
        Batch::new()
            .with(Op::StartSession(NewSession::new().id(&session[..]).workspace(workspace)))
            .with(NewTurn::new(&session[..], "user", "the shared secret").id(id(workspace, "t")))
            .with(NewStep::new(&session[..], "look", "ok").id(id(workspace, "p")))
    };
    furnish(case, batch).await
}

async fn episodes(case: &Case) -> Verdict {
    furnish(case, |workspace| {
        let episode = NewEpisode::new("the shared secret", "").id(id(workspace, "e"));
        episode.workspace(workspace).into()
    })
    .await
}

async fn reflections(case: &Case) -> Verdict {
    let batch = |workspace: &str| {
        Batch::new()
            .with(NewNote::new("the shared secret").id(id(workspace, "n")).workspace(workspace))
            .with(PutState::new("key", json!(workspace)).workspace(workspace))
            .with(NewAudit::new("act", "allow").id(id(workspace, "a")).workspace(workspace))
    };
    furnish(case, batch).await
}

async fn furnish(case: &Case, batch: impl Fn(&str) -> Batch) -> Verdict {
    for workspace in SIBLINGS {
        case.backend().commit(batch(workspace)).await?;
    }
    Ok(())
}

/// That every row is of the workspace, and that there is one.
macro_rules! must_be_of {
    ($rows:expr, $workspace:ident, $what:literal) => {
        let found: Vec<Workspace> = $rows.into_iter().map(|row| row.workspace).collect();
        must_equal!(found, [Workspace::from($workspace)], "the {} of {:?}", $what, $workspace);
    };
}

/// The pairs of different siblings.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    SIBLINGS.into_iter().flat_map(|a| SIBLINGS.map(|b| (a, b))).filter(|(a, b)| a != b)
}

pub(crate) async fn sessions_by_id(case: &mut Case) -> Verdict {
    sessions(case).await?;
    let store = case.sessions()?;
    for (workspace, other) in pairs() {
        let scope = Scope::from(workspace);
        let (session, turn, step) = (id(other, "s"), id(other, "t"), id(other, "p"));
        let read = store.session(&scope, &session.as_str().into()).await?;
        must_equal!(read, None, "the session of {other:?} in {workspace:?}");
        let read = store.turn(&scope, &turn.into()).await?;
        must_equal!(read, None, "the turn of {other:?} in {workspace:?}");
        let read = store.step(&scope, &step.into()).await?;
        must_equal!(read, None, "the step of {other:?} in {workspace:?}");
        let turns = ListTurns::new(&session[..]).scope(scope.clone());
        must_refuse!(store.turns(&turns).await, NotFound, "turns of {other:?} in {workspace:?}");
        let steps = ListSteps::new(&session[..]).scope(scope.clone());
        must_refuse!(store.steps(&steps).await, NotFound, "steps of {other:?} in {workspace:?}");
    }
    for workspace in SIBLINGS {
        let scope = Scope::from(workspace);
        must_be_of!(store.session(&scope, &id(workspace, "s").into()).await?, workspace, "session");
        must_be_of!(store.turn(&scope, &id(workspace, "t").into()).await?, workspace, "turn");
        must_be_of!(store.step(&scope, &id(workspace, "p").into()).await?, workspace, "step");
    }
    Ok(())
}

pub(crate) async fn session_lists(case: &mut Case) -> Verdict {
    sessions(case).await?;
    let store = case.sessions()?;
    for workspace in SIBLINGS {
        for order in [SessionOrder::Started, SessionOrder::Active] {
            let list = ListSessions::new().scope(workspace).order(order);
            must_be_of!(store.sessions(&list).await?.items, workspace, "sessions");
        }
        let session = id(workspace, "s");
        let turns = ListTurns::new(&session[..]).scope(workspace);
        must_be_of!(store.turns(&turns).await?.items, workspace, "turns");
        let steps = ListSteps::new(&session[..]).scope(workspace);
        must_be_of!(store.steps(&steps).await?.items, workspace, "steps");
    }
    let all = store.sessions(&ListSessions::new()).await?.items;
    let all: Vec<Workspace> = all.into_iter().map(|s| s.workspace).collect();
    must_equal!(all, SIBLINGS.map(Workspace::from), "the sessions of all workspaces");
    Ok(())
}

/// A question that every record answers, in one workspace.
fn question(workspace: &str, scorer: Scorer) -> RecallQuery {
    RecallQuery::new("secret").scope(workspace).k(99_usize).scorer(scorer)
}

const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];

pub(crate) async fn turns_found(case: &mut Case) -> Verdict {
    sessions(case).await?;
    let store = case.sessions()?;
    for workspace in SIBLINGS {
        let find = FindTurns::new("secret").scope(workspace);
        must_be_of!(store.find_turns(&find).await?, workspace, "turns found");
        for scorer in SCORERS {
            let hits = store.recall_turns(&question(workspace, scorer)).await?;
            must_be_of!(hits.into_iter().map(|hit| hit.record), workspace, "turns recalled");
        }
    }
    Ok(())
}

pub(crate) async fn episodes_by_id(case: &mut Case) -> Verdict {
    episodes(case).await?;
    let store = case.episodic()?;
    for (workspace, other) in pairs() {
        let read = store.episode(&workspace.into(), &id(other, "e").into()).await?;
        must_equal!(read, None, "the episode of {other:?} in {workspace:?}");
    }
    for workspace in SIBLINGS {
        let read = store.episode(&workspace.into(), &id(workspace, "e").into()).await?;
        must_be_of!(read, workspace, "episode");
    }
    Ok(())
}

pub(crate) async fn episode_lists(case: &mut Case) -> Verdict {
    episodes(case).await?;
    let store = case.episodic()?;
    for workspace in SIBLINGS {
        for open in [None, Some(true)] {
            let list = ListEpisodes::new().scope(workspace).open(open);
            must_be_of!(store.episodes(&list).await?.items, workspace, "episodes");
        }
    }
    let all = store.episodes(&ListEpisodes::new()).await?.items;
    must_equal!(all.len(), SIBLINGS.len(), "the episodes of all workspaces");
    Ok(())
}

pub(crate) async fn episodes_recalled(case: &mut Case) -> Verdict {
    episodes(case).await?;
    let store = case.episodic()?;
    for workspace in SIBLINGS {
        for scorer in SCORERS {
            let hits = store.recall(&question(workspace, scorer)).await?;
            must_be_of!(hits.into_iter().map(|hit| hit.record), workspace, "episodes recalled");
        }
    }
    Ok(())
}

pub(crate) async fn notes(case: &mut Case) -> Verdict {
    reflections(case).await?;
    let store = case.reflective()?;
    for (workspace, other) in pairs() {
        let read = store.note(&workspace.into(), &id(other, "n").into()).await?;
        must_equal!(read, None, "the note of {other:?} in {workspace:?}");
    }
    for workspace in SIBLINGS {
        let read = store.note(&workspace.into(), &id(workspace, "n").into()).await?;
        must_be_of!(read, workspace, "note");
        let list = ListNotes::new().scope(workspace);
        must_be_of!(store.notes(&list).await?.items, workspace, "notes");
    }
    let all = store.notes(&ListNotes::new()).await?.items;
    must_equal!(all.len(), SIBLINGS.len(), "the notes of all workspaces");
    Ok(())
}

pub(crate) async fn notes_recalled(case: &mut Case) -> Verdict {
    reflections(case).await?;
    let store = case.reflective()?;
    for workspace in SIBLINGS {
        for scorer in SCORERS {
            let hits = store.recall_notes(&question(workspace, scorer)).await?;
            must_be_of!(hits.into_iter().map(|hit| hit.record), workspace, "notes recalled");
        }
    }
    Ok(())
}

pub(crate) async fn states(case: &mut Case) -> Verdict {
    reflections(case).await?;
    let store = case.reflective()?;
    for workspace in SIBLINGS {
        let entry = store.state(&workspace.into(), "key").await?;
        must_equal!(entry.map(|e| e.value), Some(json!(workspace)), "the value of {workspace:?}");
        for prefix in ["", "ke"] {
            let list = ListStates::new().scope(workspace).prefix(prefix);
            must_be_of!(store.states(&list).await?.items, workspace, "states");
        }
    }
    let mut sorted = SIBLINGS.map(Workspace::from);
    sorted.sort();
    let all = store.states(&ListStates::new()).await?.items;
    let all: Vec<Workspace> = all.into_iter().map(|e| e.workspace).collect();
    must_equal!(all, sorted, "the states of all workspaces");
    Ok(())
}

pub(crate) async fn audits(case: &mut Case) -> Verdict {
    reflections(case).await?;
    let store = case.reflective()?;
    for workspace in SIBLINGS {
        let log = store.audit_log(&ListAudit::new().scope(workspace)).await?.items;
        let head = store.audit_head(&workspace.into()).await?;
        must_equal!(
            (head.seq, log.first().map(|r| r.hash)),
            (1, Some(head.hash)),
            "its chain's end"
        );
        must_be_of!(log, workspace, "audit records");
    }
    Ok(())
}

/// Stats, workspaces and scans say `one` of each workspace.
async fn counts(case: &Case, kinds: &[RecordKind]) -> Verdict {
    let store = case.backend();
    let mut one = Counts::default();
    for kind in kinds {
        one += Counts::one(*kind);
        for workspace in SIBLINGS {
            let records = store.scan(&Scan::new(*kind).scope(workspace)).await?.items;
            let found: Vec<&Workspace> = records.iter().map(Record::workspace).collect();
            must_equal!(found, [&Workspace::from(workspace)], "the scan of {workspace:?}");
        }
        let all = store.scan(&Scan::new(*kind)).await?.items;
        let all: Vec<Workspace> = all.iter().map(|r| r.workspace().clone()).collect();
        must_equal!(all, SIBLINGS.map(Workspace::from), "the scan, in order of insertion");
    }
    for workspace in SIBLINGS {
        let stats = store.stats(&workspace.into()).await?.counts;
        must_equal!(stats, one, "what {workspace:?} holds");
    }
    must_equal!(store.stats(&"unknown".into()).await?.counts, Counts::default(), "an unknown one");
    let mut total = Counts::default();
    (0..SIBLINGS.len()).for_each(|_| total += one);
    must_equal!(store.stats(&Scope::All).await?.counts, total, "what all hold");
    let mut expected = SIBLINGS.map(|workspace| (Workspace::from(workspace), one));
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    let listed = store.workspaces().await?;
    let listed: Vec<_> = listed.into_iter().map(|row| (row.workspace, row.counts)).collect();
    must_equal!(listed, expected, "the workspaces");
    Ok(())
}

pub(crate) async fn sessions_counted(case: &mut Case) -> Verdict {
    sessions(case).await?;
    counts(case, &[RecordKind::Session, RecordKind::Turn, RecordKind::Step]).await
}

pub(crate) async fn episodes_counted(case: &mut Case) -> Verdict {
    episodes(case).await?;
    counts(case, &[RecordKind::Episode]).await
}

pub(crate) async fn reflections_counted(case: &mut Case) -> Verdict {
    reflections(case).await?;
    counts(case, &[RecordKind::Note, RecordKind::State, RecordKind::Audit]).await
}

pub(crate) async fn emptied_workspaces(case: &mut Case) -> Verdict {
    must_equal!(case.backend().workspaces().await?, [], "the workspaces of an empty store");
    sessions(case).await?;
    let store = case.sessions()?;
    // What was told before is not told again.
    must_equal!(store.workspaces().await?.len(), SIBLINGS.len(), "the workspaces");
    for scope in SIBLINGS.map(Scope::from).iter().chain([&Scope::All]) {
        let counts = store.stats(scope).await?.counts;
        must!(counts.total() > 0, counts, "{scope:?} holds something");
    }
    for workspace in SIBLINGS {
        store.delete_session(&id(workspace, "s").into()).await?;
    }
    must_equal!(store.workspaces().await?, [], "the workspaces after everything was deleted");
    for scope in SIBLINGS.map(Scope::from).iter().chain([&Scope::All]) {
        must_equal!(store.stats(scope).await?.counts, Counts::default(), "what {scope:?} holds");
    }
    Ok(())
}

pub(crate) async fn sessions_inherit(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    for workspace in [Some("acme\0"), Some(""), None] {
        let mut new = NewSession::new().id("s");
        new.workspace = workspace.map(Workspace::from);
        let workspace = new.workspace.clone().unwrap_or_else(|| Workspace::from("default"));
        let session = store.start_session(new).await?;
        must_equal!(session.workspace, workspace, "the session's workspace");
        let turn = store.record_turn(NewTurn::new("s", "user", "text").id("t")).await?;
        must_equal!(turn.workspace, workspace, "the turn's workspace");
        let step = store.record_step(NewStep::new("s", "look", "ok").id("p")).await?;
        must_equal!(step.workspace, workspace, "the step's workspace");
        let tagged = store.tag_turn(&"t".into(), "x", None).await?;
        must_equal!(tagged.workspace, workspace, "the tagged turn's workspace");
        store.delete_session(&"s".into()).await?;
    }
    Ok(())
}

pub(crate) async fn notes_inherit(case: &mut Case) -> Verdict {
    let (episodes, store) = (case.episodic()?, case.reflective()?);
    for workspace in ["acme", "acme-corp"] {
        let new = NewEpisode::new("problem", "").id(workspace).workspace(workspace);
        episodes.add_episode(new).await?;
    }
    let from = |sources: &[&str]| {
        NewNote::new("lesson").sources(sources.iter().map(|s| (*s).into()).collect::<Vec<_>>())
    };
    let note = store.add_note(from(&["acme-corp"])).await?;
    must_equal!(note.workspace.as_str(), "acme-corp", "the note's workspace");
    let alone = store.add_note(NewNote::new("lesson")).await?;
    must_equal!(alone.workspace.as_str(), "default", "the workspace of a note without sources");
    let across = store.add_note(from(&["acme", "acme-corp"])).await;
    must_refuse!(across, NotFound, "a note with sources of two workspaces");
    let elsewhere = store.add_note(from(&["acme"]).workspace("acme-corp")).await;
    must_refuse!(elsewhere, NotFound, "a note with a source of another workspace");
    Ok(())
}

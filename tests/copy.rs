//! Copies from any backend to any other.

#![cfg(all(feature = "inmem", feature = "redb", feature = "sqlite"))]

use std::{path::Path, sync::Arc, time::Duration};

use memkeep::{
    Batch, CopyOptions, CopyStage, DeleteState, ErrorKind, MemoryBackend, NewAudit, NewEpisode,
    NewNote, NewSession, NewStep, NewTurn, Op, PutState, Scope, Timestamp, copy, export,
    verify::Verify,
};
use serde_json::json;

type Store = Arc<dyn MemoryBackend>;

/// One store of each backend.
async fn stores(folder: &Path, name: &str) -> Vec<Store> {
    let path = |extension| folder.join(format!("{name}.{extension}")).display().to_string();
    let urls =
        ["inmem:".to_owned(), format!("redb:{}", path("redb")), format!("sqlite:{}", path("db"))];
    let mut stores = Vec::new();
    for url in urls {
        stores.push(memkeep::open(&url).await.unwrap());
    }
    stores
}

async fn exported(store: &Store) -> String {
    let mut bytes = Vec::new();
    export(&**store, &Scope::All, &mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// What is hard to keep: gaps, last turns that are gone, revised and missing records, versions of
/// deleted state, chains of several workspaces, the order of insertion against that of time.
async fn fill(store: &Store) {
    let at = |micros| Timestamp::from_micros(micros).unwrap();
    let mut batch = Batch::new();
    for (n, workspace) in (0_i64..).zip(["w", "", "w\u{0}x", "default"]) {
        let session = format!("s{n}");
        let new = NewSession::new().id(session.as_str()).workspace(workspace);
        batch.push(Op::StartSession(new.started_at(at(1_000 - n)).model("m")));
        for turn in 0..5 {
            let new = NewTurn::new(session.as_str(), "user", format!("{turn} \u{0} \u{1f980}"));
            let new = new.id(format!("{session}-{turn}")).tokens(turn).created_at(at(77));
            batch.push(
                new.metadata(json!({"big": u64::MAX, "small": 1e-7}).as_object().unwrap().clone()),
            );
            batch.push(NewStep::new(session.as_str(), "plan", "done").payload(json!([turn, null])));
        }
        batch.push(Op::TagTurn {
            turn: format!("{session}-1").into(),
            name: "topic".to_owned(),
            value: None,
        });
        for gone in [2, 4] {
            batch.push(Op::DeleteTurn { turn: format!("{session}-{gone}").into() });
        }
        let episode = format!("e{n}");
        let new = NewEpisode::new("problem", "summary").id(episode.as_str()).workspace(workspace);
        batch.push(new);
        let note = NewNote::new("a lesson").workspace(workspace).sources([episode.as_str().into()]);
        batch.push(note);
        batch.push(Op::SetEpisodeOpen { episode: episode.as_str().into(), open: n % 2 == 0 });
        if n == 3 {
            batch.push(Op::DeleteEpisode { episode: episode.into(), closed_before: None });
        }
        for value in 0..3 {
            batch.push(PutState::new("key", json!(value)).workspace(workspace));
            batch.push(PutState::new("gone", json!(value)).workspace(workspace));
        }
        batch.push(DeleteState::new("gone").workspace(workspace));
        batch.push(
            PutState::new("soon", json!(1)).workspace(workspace).ttl(Duration::from_micros(1)),
        );
        for action in ["read", "write"] {
            batch.push(NewAudit::new(action, "allow").workspace(workspace).detail(json!({"n": n})));
        }
    }
    batch.push(Op::EndSession { session: "s1".into(), at: None });
    store.commit(batch).await.unwrap();
}

#[tokio::test]
async fn an_export_of_a_copy_is_that_of_its_source_in_all_directions() {
    let folder = tempfile::tempdir().unwrap();
    for (n, source) in stores(folder.path(), "source").await.iter().enumerate() {
        fill(source).await;
        let wanted = exported(source).await;
        for copied in stores(folder.path(), &n.to_string()).await {
            let way = format!("{} to {}", source.info().name, copied.info().name);
            let report = copy(&**source, &*copied, CopyOptions::new()).await.unwrap();
            assert_eq!((report.copied.turns, report.copied.states), (12, 12), "{way}");
            assert_eq!(report.already_there.total(), 0, "{way}");
            assert!(exported(&copied).await == wanted, "{way}");
            let counts = copied.stats(&Scope::All).await.unwrap().counts;
            assert_eq!(counts, source.stats(&Scope::All).await.unwrap().counts, "{way}");
            assert!(copied.verify(&Verify::new()).await.unwrap().is_clean(), "{way}");

            let again = copy(&**source, &*copied, CopyOptions::new()).await.unwrap();
            assert_eq!(again.copied.total(), 0, "{way}");
            assert_eq!(again.already_there, report.copied, "{way}");
            assert!(exported(&copied).await == wanted, "{way}");

            // What comes next is what would have come next in the source.
            let turn = copied.record_turn(NewTurn::new("s0", "user", "next")).await.unwrap();
            assert_eq!(turn.index, 5, "{way}");
            let gone = copied.put_state(PutState::new("gone", json!(1)).workspace("w")).await;
            assert_eq!(gone.unwrap().version, 4, "{way}");
            let audit = copied.append_audit(NewAudit::new("a", "b").workspace("w")).await.unwrap();
            assert_eq!(audit.seq, 3, "{way}");
        }
    }
}

#[tokio::test]
async fn a_copy_that_went_round_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (stores(folder.path(), "there").await, stores(folder.path(), "back").await);
    fill(&there[2]).await;
    for (from, to) in [(&there[2], &there[1]), (&there[1], &there[0]), (&there[0], &back[2])] {
        copy(&**from, &**to, CopyOptions::new()).await.unwrap();
    }
    assert!(exported(&back[2]).await == exported(&there[2]).await);
}

/// Many enough for several batches.
async fn fill_much(store: &Store) {
    fill(store).await;
    for _ in 0..2 {
        let turns = (0..1_000).map(|n| NewTurn::new("s0", "user", n.to_string()));
        store.commit(turns.collect()).await.unwrap();
    }
}

/// Ended at each point where it tells of progress, and gone on with.
#[tokio::test]
async fn a_copy_that_was_ended_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let source = stores(folder.path(), "source").await.remove(0);
    fill_much(&source).await;
    let wanted = exported(&source).await;
    let mut ends = 0;
    for copied in stores(folder.path(), "copy").await {
        let mut held = 0;
        loop {
            let (from, to) = (source.clone(), copied.clone());
            // The first thing it tells of is the last it does.
            let ended = tokio::spawn(async move {
                let options = CopyOptions::new().progress(|progress| {
                    assert!(progress.done <= progress.total);
                    assert!(progress.stage != CopyStage::Copying, "ended here");
                });
                copy(&*from, &*to, options).await
            });
            match ended.await {
                Err(_) => {
                    ends += 1;
                    let now = copied.stats(&Scope::All).await.unwrap().counts.total();
                    assert!(now > held, "{now} after {held}");
                    held = now;
                }
                Ok(report) => {
                    let report = report.unwrap();
                    assert_eq!(report.copied.total(), 0);
                    assert_eq!(report.already_there.turns, 2_012);
                    break;
                }
            }
        }
        assert!(exported(&copied).await == wanted);
    }
    assert!(ends > 20, "{ends}");
}

/// Nothing is stored where something else is.
#[tokio::test]
async fn a_store_with_something_else_in_it_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    for copied in stores(folder.path(), "copy").await {
        let source = memkeep::open("inmem:").await.unwrap();
        fill(&source).await;
        copied.add_note(NewNote::new("mine").id("n").workspace("w")).await.unwrap();
        let before = exported(&copied).await;
        let error = copy(&*source, &*copied, CopyOptions::new()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
        assert_eq!((error.get("kind"), error.get("id")), (Some("note"), Some("n")));
        assert_eq!(exported(&copied).await, before);
    }
}

/// A copy that was used, or whose source was, is no part of the copy any more.
#[tokio::test]
async fn a_copy_that_was_changed_is_told() {
    let (source, copied) =
        (memkeep::open("inmem:").await.unwrap(), memkeep::open("inmem:").await.unwrap());
    fill(&source).await;
    copy(&*source, &*copied, CopyOptions::new()).await.unwrap();
    let tag = |turn: &str| Op::UntagTurn { turn: turn.into(), name: "topic".to_owned() };
    copied.commit_one(tag("s2-1")).await.unwrap();
    let error = copy(&*source, &*copied, CopyOptions::new()).await.unwrap_err();
    assert_eq!((error.get("kind"), error.get("id")), (Some("turn"), Some("s2-1")));
    source.commit_one(tag("s2-1")).await.unwrap();
    copy(&*source, &*copied, CopyOptions::new()).await.unwrap();

    // What is new in the source is what a copy goes on with.
    source.add_note(NewNote::new("later")).await.unwrap();
    let report = copy(&*source, &*copied, CopyOptions::new()).await.unwrap();
    assert_eq!((report.copied.total(), report.copied.notes), (1, 1));
    assert_eq!(exported(&copied).await, exported(&source).await);
}

/// A source that is written to while it is copied: the copy does not pass for whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_source_that_is_written_to_is_noticed() {
    let (source, copied) =
        (memkeep::open("inmem:").await.unwrap(), memkeep::open("inmem:").await.unwrap());
    fill_much(&source).await;
    let (ask, asked) = std::sync::mpsc::channel();
    let (tell, done) = std::sync::mpsc::channel();
    let writing = source.clone();
    let writer = tokio::task::spawn_blocking(move || {
        asked.recv().unwrap();
        // It has been copied by then.
        let op = Op::UntagTurn { turn: "s0-1".into(), name: "topic".to_owned() };
        tokio::runtime::Handle::current().block_on(writing.commit_one(op)).unwrap();
        tell.send(()).unwrap();
    });
    let mut is_written = false;
    let options = CopyOptions::new().progress(move |progress| {
        if progress.done > 2_000 && !is_written {
            ask.send(()).unwrap();
            done.recv().unwrap();
            is_written = true;
        }
    });
    let error = copy(&*source, &*copied, options).await.unwrap_err();
    writer.await.unwrap();
    assert_eq!((error.kind(), error.get("id")), (ErrorKind::Conflict, Some("s0-1")));
}

//! Bounds: how long names, texts and batches may be, and how deep JSON.

use std::collections::BTreeMap;

use memkeep_core::{
    DeleteState, EpisodeRevision, Json, Metadata, NewAudit, NewEpisode, NewNote, NewSession,
    NewStep, NewTurn, Op, PutState, Record, Scope, Workspace,
    bounds::{MAX_BATCH_BYTES, MAX_BATCH_OPS, MAX_JSON_DEPTH, MAX_NAME_BYTES, MAX_TEXT_BYTES},
};
use serde_json::json;

use super::bundle::{all_records, bundle, bundle_in, ids, ids_of, kinds, read, whole_bundles};
use crate::{
    Case, Handle, Verdict,
    failure::{must, must_equal, must_refuse},
};

/// Names of exactly the bound's length that no page of keys can compress, alike in their beginnings.
fn longest_names(count: u64) -> Vec<String> {
    let mut state = 1_u64;
    let mut letter = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'!' + u8::try_from((state >> 40) % 90).unwrap_or_default())
    };
    let stem: String = std::iter::repeat_with(&mut letter).take(MAX_NAME_BYTES - 8).collect();
    (0..count).map(|n| format!("{stem}é{n:06}")).collect()
}

pub(crate) async fn ids_at_the_bound(case: &mut Case) -> Verdict {
    let store = case.handle();
    let names = longest_names(3);
    must_equal!(names[0].len(), MAX_NAME_BYTES, "the length of a name");
    for name in &names {
        store.backend.commit(bundle(&store, name)).await?;
    }
    for kind in kinds(&store) {
        must_equal!(ids_of(&store, kind).await?, names, "the {} records", kind.as_str());
    }
    let found = read(&store, &names[1]).await?;
    must!(!found.is_empty(), found, "a record is found by such an id");
    for record in found {
        must_equal!(record.id(), names[1], "the id of what is read");
    }
    case.verify().await
}

pub(crate) async fn workspaces_at_the_bound(case: &mut Case) -> Verdict {
    let store = case.handle();
    let names = longest_names(2);
    for name in &names {
        store.backend.commit(bundle_in(&store, &name[MAX_NAME_BYTES - 8..], name)).await?;
    }
    let counted = store.backend.workspaces().await?;
    let counted: Vec<&str> = counted.iter().map(|row| row.workspace.as_str()).collect();
    must_equal!(counted, [&names[0][..], &names[1][..]], "the workspaces");
    case.verify().await
}

pub(crate) async fn turn_names_at_the_bound(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    let names = longest_names(2);
    let [name, other] = [names[0].clone(), names[1].clone()];
    store.start_session(NewSession::new().id(&name[..])).await?;
    let tags = BTreeMap::from([(name.clone(), None)]);
    let turn = NewTurn::new(&name[..], &name[..], "x").id(&name[..]).embedding_id(&name[..]);
    let turn = store.record_turn(turn.tags(tags)).await?;
    let turn = store.tag_turn(&turn.id, &other, None).await?;
    let tags: Vec<&String> = turn.tags.keys().collect();
    must_equal!(tags, [&name, &other], "the tags");
    must_equal!(store.turn(&Scope::All, &turn.id).await?, Some(turn), "the turn that is read");
    let step = store.record_step(NewStep::new(&name[..], &name[..], &other[..])).await?;
    must_equal!(store.step(&Scope::All, &step.id).await?, Some(step), "the step that is read");
    Ok(())
}

/// Each op is refused for its field, in a batch that could be stored but for it.
async fn refuses(store: &Handle, ops: Vec<(&str, Op)>) -> Verdict {
    for (field, op) in ops {
        let batch = bundle(store, "new").with(op.clone());
        let position = batch.ops.len() - 1;
        let refused = store.backend.commit(batch).await;
        let what = format!("{field} in {:.60}", format!("{op:?}"));
        let error = must_refuse!(refused, InvalidArgument, "{what}");
        must_equal!(error.get("field"), Some(field), "the error's `field` for {what}");
        must_equal!(error.get("op"), Some(&*position.to_string()), "the error's `op` for {what}");
        must!(
            !error.is_retryable(),
            error,
            "an error that is not retryable: it does not pass by itself"
        );
    }
    must_equal!(whole_bundles(store).await?, ids([]), "what is stored");
    Ok(())
}

pub(crate) async fn session_names_beyond(case: &mut Case) -> Verdict {
    let n = || "x".repeat(MAX_NAME_BYTES + 1);
    let start = |new| Op::StartSession(new);
    let turn = || NewTurn::new("new", "user", "x");
    let ops = vec![
        ("id", start(NewSession::new().id(n()))),
        ("workspace", start(NewSession::new().workspace(n()))),
        ("id", Op::EnsureSession(NewSession::new().id(n()))),
        ("session", Op::EndSession { session: n().into(), at: None }),
        ("session", Op::ResumeSession { session: n().into() }),
        ("session", Op::SetSummary { session: n().into(), summary: None }),
        ("session", Op::DeleteSession { session: n().into(), ended_before: None }),
        ("id", turn().id(n()).into()),
        ("session", NewTurn::new(n(), "user", "x").into()),
        ("role", NewTurn::new("new", n(), "x").into()),
        ("embedding_id", turn().embedding_id(n()).into()),
        ("name", turn().tags(BTreeMap::from([(n(), None)])).into()),
        ("turn", Op::DeleteTurn { turn: n().into() }),
        ("turn", Op::TagTurn { turn: n().into(), name: "x".to_owned(), value: None }),
        ("name", Op::TagTurn { turn: "new".into(), name: n(), value: None }),
        ("turn", Op::UntagTurn { turn: n().into(), name: "x".to_owned() }),
        ("name", Op::UntagTurn { turn: "new".into(), name: n() }),
        ("turn", Op::SetEmbedding { turn: n().into(), embedding_id: None }),
        ("embedding_id", Op::SetEmbedding { turn: "new".into(), embedding_id: Some(n()) }),
        ("id", NewStep::new("new", "step", "ok").id(n()).into()),
        ("session", NewStep::new(n(), "step", "ok").into()),
        ("name", NewStep::new("new", n(), "ok").into()),
        ("status", NewStep::new("new", "step", n()).into()),
    ];
    refuses(&case.handle(), ops).await
}

pub(crate) async fn episode_names_beyond(case: &mut Case) -> Verdict {
    let n = || "x".repeat(MAX_NAME_BYTES + 1);
    let ops = vec![
        ("id", NewEpisode::new("p", "s").id(n()).into()),
        ("workspace", NewEpisode::new("p", "s").workspace(n()).into()),
        ("episode", EpisodeRevision::new(n()).into()),
        ("episode", Op::SetEpisodeOpen { episode: n().into(), open: true }),
        ("episode", Op::DeleteEpisode { episode: n().into(), closed_before: None }),
    ];
    refuses(&case.handle(), ops).await
}

pub(crate) async fn reflection_names_beyond(case: &mut Case) -> Verdict {
    let n = || "x".repeat(MAX_NAME_BYTES + 1);
    let ops = vec![
        ("id", NewNote::new("n").id(n()).into()),
        ("workspace", NewNote::new("n").workspace(n()).into()),
        ("sources", NewNote::new("n").sources(vec![n().into()]).into()),
        ("note", Op::DeleteNote { note: n().into() }),
        ("key", PutState::new(n(), json!(1)).into()),
        ("workspace", PutState::new("k", json!(1)).workspace(n()).into()),
        ("key", DeleteState::new(n()).into()),
        ("workspace", DeleteState::new("k").workspace(n()).into()),
        ("id", NewAudit::new("a", "d").id(n()).into()),
        ("workspace", NewAudit::new("a", "d").workspace(n()).into()),
        ("workspace", Op::ForgetWorkspace { workspace: n().into() }),
        // 513 characters, but 1,026 bytes.
        ("key", PutState::new("é".repeat(MAX_NAME_BYTES / 2 + 1), json!(1)).into()),
        ("ttl_ms", PutState::new("k", json!(1)).ttl_ms(1_u64).expires_at(Case::at(1)).into()),
    ];
    refuses(&case.handle(), ops).await
}

pub(crate) async fn empty_names(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut ops: Vec<(&str, Op)> = Vec::new();
    if store.sessions.is_some() {
        ops.push(("id", Op::StartSession(NewSession::new().id(""))));
        ops.push(("session", Op::EndSession { session: "".into(), at: None }));
        ops.push(("id", NewTurn::new("new", "user", "x").id("").into()));
        ops.push(("session", NewTurn::new("", "user", "x").into()));
        ops.push(("id", NewStep::new("new", "step", "ok").id("").into()));
    }
    if store.episodic.is_some() {
        ops.push(("id", NewEpisode::new("p", "s").id("").into()));
        ops.push(("episode", Op::SetEpisodeOpen { episode: "".into(), open: true }));
    }
    if store.reflective.is_some() {
        ops.push(("id", NewNote::new("n").id("").into()));
        ops.push(("note", Op::DeleteNote { note: "".into() }));
        ops.push(("id", NewAudit::new("a", "d").id("").into()));
    }
    refuses(&store, ops).await?;
    let keyed = store.backend.commit(bundle(&store, "new").key("")).await;
    let error = must_refuse!(keyed, InvalidArgument, "an empty idempotency key");
    must_equal!(error.get("field"), Some("key"), "the error's `field`");
    let keyed = store.backend.commit(bundle(&store, "new").key("x".repeat(1_025))).await;
    let error = must_refuse!(keyed, InvalidArgument, "an idempotency key too long");
    must_equal!(error.get("field"), Some("key"), "the error's `field`");
    must_equal!(whole_bundles(&store).await?, ids([]), "what is stored");

    // A workspace, a key, a tag and a role may be empty.
    let batch = bundle_in(&store, "x", "");
    store.backend.commit(batch).await?;
    if let Some(sessions) = &store.sessions {
        let turn = sessions.record_turn(NewTurn::new("x", "", "")).await?;
        let turn = sessions.tag_turn(&turn.id, "", Some(String::new())).await?;
        must_equal!(sessions.turn(&"".into(), &turn.id).await?, Some(turn), "the turn");
    }
    if let Some(reflective) = &store.reflective {
        let entry = reflective.put_state(PutState::new("", json!("")).workspace("")).await?;
        let read = reflective.state(&Workspace::new(""), "").await?;
        must_equal!(read, Some(entry), "the entry");
    }
    let counted = store.backend.workspaces().await?;
    let counted: Vec<&str> = counted.iter().map(|row| row.workspace.as_str()).collect();
    must_equal!(counted, [""], "the workspaces");
    Ok(())
}

/// Arrays and objects by turns, `depth` deep.
fn nested(depth: usize) -> Json {
    (0..depth)
        .fold(json!(1), |inner, n| if n % 2 == 0 { json!([inner]) } else { json!({"k": inner}) })
}

fn nested_metadata(depth: usize) -> Metadata {
    Metadata::from_iter([("k".to_owned(), nested(depth - 1))])
}

/// For each field of JSON that the store keeps, an op whose value nests `depth` deep.
fn json_ops(store: &Handle, depth: usize) -> Vec<(&'static str, Op)> {
    let mut ops: Vec<(&str, Op)> = Vec::new();
    if store.sessions.is_some() {
        let metadata = || nested_metadata(depth);
        let session = NewSession::new().id("deep").metadata(metadata());
        ops.push(("metadata", Op::StartSession(session)));
        ops.push(("metadata", NewTurn::new("new", "user", "x").metadata(metadata()).into()));
        ops.push(("payload", NewStep::new("new", "step", "ok").payload(nested(depth)).into()));
    }
    if store.episodic.is_some() {
        let metadata = || nested_metadata(depth);
        ops.push(("metadata", NewEpisode::new("p", "s").metadata(metadata()).into()));
        ops.push(("metadata", EpisodeRevision::new("new").metadata(metadata()).into()));
    }
    if store.reflective.is_some() {
        ops.push(("value", PutState::new("deep", nested(depth)).into()));
        ops.push(("detail", NewAudit::new("a", "d").detail(nested(depth)).into()));
    }
    ops
}

pub(crate) async fn json_at_the_bound(case: &mut Case) -> Verdict {
    let store = case.handle();
    store.backend.commit(bundle(&store, "new")).await?;
    for (field, op) in json_ops(&store, MAX_JSON_DEPTH) {
        store.backend.commit_one(op).await?;
        let deep = if field == "metadata" {
            Json::Object(nested_metadata(MAX_JSON_DEPTH))
        } else {
            nested(MAX_JSON_DEPTH)
        };
        let records = all_records(&store).await?;
        let fields = |r| serde_json::to_value(r).unwrap_or_default();
        must!(
            records.iter().map(fields).any(|record| record[field] == deep),
            records,
            "{field} comes back as it was given, {MAX_JSON_DEPTH} deep"
        );
    }
    case.verify().await
}

pub(crate) async fn json_beyond(case: &mut Case) -> Verdict {
    let store = case.handle();
    refuses(&store, json_ops(&store, MAX_JSON_DEPTH + 1)).await
}

fn deletion_of_nothing(store: &Handle) -> Op {
    if store.sessions.is_some() {
        Op::DeleteTurn { turn: "nothing".into() }
    } else if store.episodic.is_some() {
        Op::DeleteEpisode { episode: "nothing".into(), closed_before: None }
    } else {
        Op::DeleteNote { note: "nothing".into() }
    }
}

pub(crate) async fn too_many_ops(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = bundle(&store, "x");
    let missing = MAX_BATCH_OPS - batch.ops.len();
    let nothing = deletion_of_nothing(&store);
    batch.ops.extend(std::iter::repeat_n(nothing.clone(), missing + 1));
    let error = must_refuse!(store.backend.commit(batch.clone()).await, InvalidArgument, "it");
    must_equal!(error.get("field"), Some("batch"), "the error's `field`");
    must_equal!(whole_bundles(&store).await?, ids([]), "what is stored");
    batch.ops.pop();
    let receipt = store.backend.commit(batch).await?;
    must_equal!(receipt.outcomes.len(), MAX_BATCH_OPS, "outcomes of a batch at the bound");
    must_equal!(whole_bundles(&store).await?, ids(["x"]), "what is stored");
    Ok(())
}

/// For one kind of the store, an op with a text of `bytes`; and the text's field.
fn text_op(store: &Handle, bytes: usize) -> (&'static str, Op) {
    // A text of escapes fills what is written of a call at once; no other is so quickly written down.
    let text = "\n".repeat(bytes);
    if store.episodic.is_some() {
        ("problem", NewEpisode::new(text, "").into())
    } else if store.reflective.is_some() {
        ("text", NewNote::new(text).into())
    } else {
        ("summary", Op::SetSummary { session: "new".into(), summary: Some(text) })
    }
}

pub(crate) async fn text_beyond(case: &mut Case) -> Verdict {
    let store = case.handle();
    let (field, op) = text_op(&store, MAX_TEXT_BYTES + 1);
    let refused = store.backend.commit(bundle(&store, "new").with(op)).await;
    let error = must_refuse!(refused, InvalidArgument, "a text too long");
    must_equal!(error.get("field"), Some(field), "the error's `field`");
    must_equal!(whole_bundles(&store).await?, ids([]), "what is stored");
    let (_, op) = text_op(&store, MAX_TEXT_BYTES);
    store.backend.commit(bundle(&store, "new").with(op)).await?;
    let texts = all_records(&store).await?.into_iter().filter_map(|record| match record {
        Record::Session(r) => r.summary,
        Record::Episode(r) => Some(r.problem),
        Record::Note(r) => Some(r.text),
        _ => None,
    });
    let longest = texts.map(|text| text.len()).max();
    must_equal!(longest, Some(MAX_TEXT_BYTES), "the length of a text at the bound, read back");
    Ok(())
}

pub(crate) async fn batch_beyond(case: &mut Case) -> Verdict {
    let store = case.handle();
    let mut batch = bundle(&store, "new");
    for _ in 0..MAX_BATCH_BYTES / MAX_TEXT_BYTES {
        batch.push(text_op(&store, MAX_TEXT_BYTES).1);
    }
    let error = must_refuse!(store.backend.commit(batch).await, InvalidArgument, "it");
    must_equal!(error.get("field"), Some("batch"), "the error's `field`");
    must_equal!(whole_bundles(&store).await?, ids([]), "what is stored");
    Ok(())
}

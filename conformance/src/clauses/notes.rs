//! Notes: what each call does to them, their order, and the episodes they are drawn from.

use memkeep_core::{
    Batch, Counts, Deleted, EpisodeId, ListNotes, NewEpisode, NewNote, Note, Op, RecallQuery,
    RecordKind, Scan, Scope,
};

use crate::{
    Case, Failure, Verdict,
    clauses::support::in_pages,
    failure::{must, must_equal, must_refuse},
};

async fn listed(case: &Case, list: ListNotes) -> Result<Vec<String>, Failure> {
    let notes = case.reflective()?.notes(&list).await?.items;
    Ok(notes.into_iter().map(|note| note.id.into()).collect())
}

async fn episodes(case: &Case, ids: &[&str], workspace: &str) -> Verdict {
    let new = |id: &&str| NewEpisode::new("", "").id(*id).workspace(workspace);
    case.backend().commit(ids.iter().map(new).collect()).await?;
    Ok(())
}

fn ids(ids: &[&str]) -> Vec<EpisodeId> {
    ids.iter().copied().map(EpisodeId::from).collect()
}

pub(crate) async fn add(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let first = store.add_note(NewNote::new("lesson")).await?;
    must!(first.id.as_str().starts_with("nte-"), first.id, "a generated id starts with nte-");
    let right = Note {
        id: first.id.clone(),
        workspace: "default".into(),
        created_at: case.now(),
        text: "lesson".to_owned(),
        sources: Vec::new(),
    };
    must_equal!(first, right, "the note that was added");
    let second = store.add_note(NewNote::new("lesson")).await?;
    must!(second.id != first.id, second.id, "every generated id is new");
    let new = NewNote::new("").id("mine").workspace("").created_at(Case::at(-7));
    let third = store.add_note(new).await?;
    let right = Note {
        id: "mine".into(),
        workspace: "".into(),
        created_at: Case::at(-7),
        text: String::new(),
        sources: Vec::new(),
    };
    must_equal!(third, right, "the note that was added with its fields given");
    for note in [first, second, third] {
        let read = store.note(&Scope::All, &note.id).await?;
        must_equal!(read, Some(note), "the note as it is read");
    }
    Ok(())
}

pub(crate) async fn order(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let created = [("c", 5), ("a", 5), ("late", 9), ("b", 5), ("early", -9), ("d", 5)];
    for (id, at) in created {
        store.add_note(NewNote::new("").id(id).created_at(Case::at(at))).await?;
    }
    let right = ["early", "c", "a", "b", "d", "late"];
    for list in [ListNotes::new(), ListNotes::new().scope("default")] {
        must_equal!(listed(case, list.clone()).await?, right, "the listed notes");
        for limit in 1..=right.len() {
            let paged = in_pages!(store.notes(list.clone()), limit);
            let paged: Vec<&str> = paged.iter().map(|note| note.id.as_str()).collect();
            must_equal!(paged, right, "the notes in pages of {limit}");
        }
    }
    Ok(())
}

pub(crate) async fn delete(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    store.add_note(NewNote::new("alpha").id("gone")).await?;
    store.add_note(NewNote::new("alpha").id("stays")).await?;
    let one = Deleted { existed: true, counts: Counts::one(RecordKind::Note) };
    must_equal!(store.delete_note(&"gone".into()).await?, one, "the deletion");
    let again = store.delete_note(&"gone".into()).await?;
    must_equal!(again, Deleted::default(), "the second deletion");
    must_equal!(store.note(&Scope::All, &"gone".into()).await?, None, "the deleted note");
    must_equal!(listed(case, ListNotes::new()).await?, ["stays"], "the listed notes");
    let scanned = case.backend().scan(&Scan::new(RecordKind::Note)).await?.items;
    must_equal!(scanned.len(), 1, "how many notes a scan gives");
    let hits = store.recall_notes(&RecallQuery::new("alpha")).await?;
    let found: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
    must_equal!(found, ["stays"], "the recalled notes");
    store.add_note(NewNote::new("beta").id("gone")).await?;
    let hits = store.recall_notes(&RecallQuery::new("alpha")).await?;
    must_equal!(hits.len(), 1, "how many notes the old text finds");
    must_equal!(listed(case, ListNotes::new()).await?, ["stays", "gone"], "the listed notes");
    case.verify().await
}

pub(crate) async fn unknown_source(case: &mut Case) -> Verdict {
    let store = case.reflective()?;
    let new = NewNote::new("lesson").id("n").sources(ids(&["no"]));
    must_refuse!(store.add_note(new).await, NotFound, "a note drawn from an unknown episode");
    must_equal!(store.note(&Scope::All, &"n".into()).await?, None, "the note");
    Ok(())
}

pub(crate) async fn foreign_source(case: &mut Case) -> Verdict {
    episodes(case, &["a"], "acme").await?;
    episodes(case, &["b"], "acme-corp").await?;
    let store = case.reflective()?;
    let refused = [
        NewNote::new("").id("n").sources(ids(&["a", "no"])),
        NewNote::new("").id("n").sources(ids(&["a", "b"])),
        NewNote::new("").id("n").sources(ids(&["b"])).workspace("acme"),
        NewNote::new("").id("n").sources(ids(&["a"])).workspace("default"),
    ];
    for new in refused {
        let what = format!("{new:?}");
        must_refuse!(store.add_note(new).await, NotFound, "{what}");
    }
    must_equal!(listed(case, ListNotes::new()).await?.len(), 0, "how many notes there are");
    // An earlier op of the batch may bring the source, or take it away.
    let batch = Batch::new()
        .with(NewEpisode::new("", "").id("c").workspace("acme"))
        .with(NewNote::new("").id("n").sources(ids(&["c", "a"])));
    case.backend().commit(batch).await?;
    let batch = Batch::new()
        .with(Op::DeleteEpisode { episode: "c".into(), closed_before: None })
        .with(NewNote::new("").id("m").sources(ids(&["c"])));
    must_refuse!(case.backend().commit(batch).await, NotFound, "a source deleted in the batch");
    Ok(())
}

pub(crate) async fn source_order(case: &mut Case) -> Verdict {
    episodes(case, &["a", "b", "c"], "default").await?;
    let store = case.reflective()?;
    for (note, sources) in [("n", &["c", "a", "b"][..]), ("m", &["b", "c", "b", "a"])] {
        let sources = ids(sources);
        let added = store.add_note(NewNote::new("").id(note).sources(sources.clone())).await?;
        must_equal!(added.sources, sources, "the sources of the added note");
        let read = store.note(&Scope::All, &note.into()).await?;
        must_equal!(read.map(|note| note.sources), Some(sources), "the sources as they are read");
    }
    Ok(())
}

pub(crate) async fn deleted_source(case: &mut Case) -> Verdict {
    episodes(case, &["gone", "stays"], "default").await?;
    let store = case.reflective()?;
    let sources = ids(&["gone", "stays"]);
    let note = store.add_note(NewNote::new("lesson").id("n").sources(sources)).await?;
    case.episodic()?.delete_episode(&"gone".into()).await?;
    let read = store.note(&Scope::All, &"n".into()).await?;
    must_equal!(read.as_ref(), Some(&note), "the note by id");
    let read = store.notes(&ListNotes::new()).await?.items;
    must_equal!(read, [note], "the listed notes");
    for source in ["gone", "stays"] {
        let query = RecallQuery::new("lesson").source(EpisodeId::from(source));
        let hits = store.recall_notes(&query).await?;
        must_equal!(hits.len(), 1, "how many notes are recalled as drawn from {source}");
    }
    case.verify().await
}

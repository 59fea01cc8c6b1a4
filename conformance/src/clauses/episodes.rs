//! Episodes: what each call does to them, and their order.

use memkeep_core::{
    Batch, Counts, Deleted, Episode, EpisodeRevision, ListEpisodes, Metadata, NewEpisode, Op,
    RecallQuery, RecordKind, Scan, Scope, Timestamp, recall::Scorer,
};
use serde_json::json;

use crate::{
    Case, Failure, Verdict,
    clauses::support::in_pages,
    failure::{must, must_equal, must_refuse},
};

async fn listed(case: &Case, list: ListEpisodes) -> Result<Vec<String>, Failure> {
    let episodes = case.episodic()?.episodes(&list).await?.items;
    Ok(episodes.into_iter().map(|episode| episode.id.into()).collect())
}

/// The numbers of the episodes' ids, oldest first by `created_at`, whatever the order of adding.
async fn add_all(case: &Case, created: &[(&str, i64)]) -> Verdict {
    for (id, at) in created {
        let new = NewEpisode::new(*id, "").id(*id).created_at(Case::at(*at));
        case.episodic()?.add_episode(new).await?;
    }
    Ok(())
}

fn metadata() -> Metadata {
    Metadata::from_iter([("k".to_owned(), json!([1, {"a": null}]))])
}

pub(crate) async fn add(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let first = store.add_episode(NewEpisode::new("problem", "summary")).await?;
    must!(first.id.as_str().starts_with("ep-"), first.id, "a generated id starts with ep-");
    let right = Episode {
        id: first.id.clone(),
        workspace: "default".into(),
        created_at: case.now(),
        problem: "problem".to_owned(),
        summary: "summary".to_owned(),
        open: true,
        closed_at: None,
        metadata: Metadata::new(),
    };
    must_equal!(first, right, "the episode that was added");
    let second = store.add_episode(NewEpisode::new("problem", "summary")).await?;
    must!(second.id != first.id, second.id, "every generated id is new");
    let new = NewEpisode::new("", "").id("mine").workspace("").created_at(Case::at(-7));
    let third = store.add_episode(new.open(false).metadata(metadata())).await?;
    let right = Episode {
        id: "mine".into(),
        workspace: "".into(),
        created_at: Case::at(-7),
        problem: String::new(),
        summary: String::new(),
        open: false,
        closed_at: Some(Case::at(-7)),
        metadata: metadata(),
    };
    must_equal!(third, right, "the episode that was added with all fields");
    for episode in [first, second, third] {
        let read = store.episode(&Scope::All, &episode.id).await?;
        must_equal!(read, Some(episode), "the episode as it is read");
    }
    Ok(())
}

pub(crate) async fn revise(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let new = NewEpisode::new("problem", "summary").id("e").metadata(metadata());
    let mut episode = store.add_episode(new).await?;
    case.set_clock(Case::at(1));
    episode.problem = String::from("another problem");
    let revised =
        store.revise_episode(EpisodeRevision::new("e").problem("another problem")).await?;
    must_equal!(revised, episode, "the episode with another problem");
    episode.summary = String::new();
    let revised = store.revise_episode(EpisodeRevision::new("e").summary("")).await?;
    must_equal!(revised, episode, "the episode with an empty summary");
    episode.problem = String::new();
    let revised = store.revise_episode(EpisodeRevision::new("e").problem("")).await?;
    must_equal!(revised, episode, "the episode with an empty problem");
    episode.metadata = Metadata::new();
    let revised = store.revise_episode(EpisodeRevision::new("e").metadata(Metadata::new())).await?;
    must_equal!(revised, episode, "the episode without metadata");
    let revised = store.revise_episode(EpisodeRevision::new("e")).await?;
    must_equal!(revised, episode, "the episode after a revision that sets nothing");
    let read = store.episode(&Scope::All, &"e".into()).await?;
    must_equal!(read, Some(episode), "the episode as it is read");
    Ok(())
}

pub(crate) async fn revised_text_is_found(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    store.add_episode(NewEpisode::new("alpha", "gamma").id("e")).await?;
    store.revise_episode(EpisodeRevision::new("e").problem("beta")).await?;
    for scorer in [Scorer::Overlap, Scorer::Bm25] {
        for (word, hits) in [("alpha", 0), ("beta", 1), ("gamma", 1)] {
            let found = store.recall(&RecallQuery::new(word).scorer(scorer)).await?;
            must_equal!(found.len(), hits, "the hits of {scorer:?} for {word}");
        }
    }
    Ok(())
}

pub(crate) async fn unknown(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let revision = EpisodeRevision::new("no").problem("x");
    must_refuse!(store.revise_episode(revision).await, NotFound, "revising an unknown episode");
    for open in [true, false] {
        let result = store.set_episode_open(&"no".into(), open).await;
        must_refuse!(result, NotFound, "opening or closing an unknown episode");
    }
    must_equal!(store.episode(&Scope::All, &"no".into()).await?, None, "an unknown episode");
    must_equal!(listed(case, ListEpisodes::new()).await?.len(), 0, "the episodes there are");
    Ok(())
}

pub(crate) async fn close_and_open(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let mut episode = store.add_episode(NewEpisode::new("problem", "").id("e")).await?;
    // (the clock, open or not, closed_at after it)
    let steps = [
        (1, true, None),
        (2, false, Some(2)),
        (3, false, Some(2)),
        (4, true, None),
        (5, false, Some(5)),
    ];
    for (at, open, closed_at) in steps {
        case.set_clock(Case::at(at));
        episode.open = open;
        episode.closed_at = closed_at.map(Case::at);
        let answer = store.set_episode_open(&"e".into(), open).await?;
        must_equal!(answer, episode, "the episode after open = {open} at {at}");
        let read = store.episode(&Scope::All, &"e".into()).await?;
        must_equal!(read.as_ref(), Some(&episode), "the episode as it is read");
    }
    Ok(())
}

pub(crate) async fn order(case: &mut Case) -> Verdict {
    let created = [("c", 5), ("a", 5), ("late", 9), ("b", 5), ("early", -9), ("d", 5)];
    add_all(case, &created).await?;
    let store = case.episodic()?;
    for (id, at) in [("last", Timestamp::MAX), ("first", Timestamp::MIN)] {
        store.add_episode(NewEpisode::new("", "").id(id).created_at(at)).await?;
    }
    let right = ["first", "early", "c", "a", "b", "d", "late", "last"];
    must_equal!(listed(case, ListEpisodes::new()).await?, right, "the listed episodes");
    let list = ListEpisodes::new().scope("default");
    must_equal!(listed(case, list).await?, right, "the listed episodes of the workspace");
    for limit in 1..=right.len() {
        let paged = in_pages!(store.episodes(ListEpisodes::new()), limit);
        let paged: Vec<&str> = paged.iter().map(|episode| episode.id.as_str()).collect();
        must_equal!(paged, right, "the episodes in pages of {limit}");
    }
    Ok(())
}

pub(crate) async fn changes_move_nothing(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    add_all(case, &[("a", 0), ("b", 0), ("c", 0)]).await?;
    case.set_clock(Case::at(9));
    store.revise_episode(EpisodeRevision::new("a").problem("longer than it was before")).await?;
    store.set_episode_open(&"b".into(), false).await?;
    store.set_episode_open(&"b".into(), true).await?;
    must_equal!(listed(case, ListEpisodes::new()).await?, ["a", "b", "c"], "the listed episodes");
    let scanned = case.backend().scan(&Scan::new(RecordKind::Episode)).await?.items;
    let scanned: Vec<&str> = scanned.iter().map(memkeep_core::Record::id).collect();
    must_equal!(scanned, ["a", "b", "c"], "the scanned episodes");
    Ok(())
}

pub(crate) async fn filter(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let mut batch = Batch::new();
    for n in 0..30 {
        batch.push(NewEpisode::new("", "").id(format!("{n:02}")).open(n % 10 == 9));
    }
    case.backend().commit(batch).await?;
    store.set_episode_open(&"04".into(), true).await?;
    store.set_episode_open(&"09".into(), false).await?;
    let open = ["04", "19", "29"];
    for list in [ListEpisodes::new(), ListEpisodes::new().scope("default")] {
        let all = listed(case, list.clone().open(true)).await?;
        must_equal!(all, open, "the open episodes");
        let two = listed(case, list.clone().open(true).limit(2_usize)).await?;
        must_equal!(two, open[..2], "the first two open episodes");
        let paged = in_pages!(store.episodes(list.clone().open(true)), 1);
        let paged: Vec<&str> = paged.iter().map(|episode| episode.id.as_str()).collect();
        must_equal!(paged, open, "the open episodes, one a page");
        let closed = listed(case, list.clone().open(false)).await?;
        must_equal!(closed.len(), 27, "how many closed episodes there are");
        must!(
            closed.iter().all(|id| !open.contains(&&id[..])),
            closed,
            "closed episodes, none of {open:?}"
        );
        must_equal!(listed(case, list).await?.len(), 30, "how many episodes there are");
    }
    Ok(())
}

pub(crate) async fn delete(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    store.add_episode(NewEpisode::new("alpha", "").id("gone")).await?;
    store.add_episode(NewEpisode::new("alpha", "").id("stays")).await?;
    let one = Deleted { existed: true, counts: Counts::one(RecordKind::Episode) };
    must_equal!(store.delete_episode(&"gone".into()).await?, one, "the deletion");
    let again = store.delete_episode(&"gone".into()).await?;
    must_equal!(again, Deleted::default(), "the second deletion");
    must_equal!(store.episode(&Scope::All, &"gone".into()).await?, None, "the deleted episode");
    must_equal!(listed(case, ListEpisodes::new()).await?, ["stays"], "the listed episodes");
    must_equal!(
        listed(case, ListEpisodes::new().open(true)).await?,
        ["stays"],
        "the open episodes"
    );
    let scanned = case.backend().scan(&Scan::new(RecordKind::Episode)).await?.items;
    must_equal!(scanned.len(), 1, "how many episodes a scan gives");
    for scorer in [Scorer::Overlap, Scorer::Bm25] {
        let hits = store.recall(&RecallQuery::new("alpha").scorer(scorer)).await?;
        let ids: Vec<&str> = hits.iter().map(|hit| hit.record.id.as_str()).collect();
        must_equal!(ids, ["stays"], "the hits of {scorer:?}");
    }
    let revision = EpisodeRevision::new("gone").problem("x");
    must_refuse!(store.revise_episode(revision).await, NotFound, "revising a deleted episode");
    case.verify().await
}

pub(crate) async fn add_again(case: &mut Case) -> Verdict {
    let store = case.episodic()?;
    let new = NewEpisode::new("alpha", "first").id("e").workspace("before").metadata(metadata());
    store.add_episode(new).await?;
    store.add_episode(NewEpisode::new("other", "").id("other")).await?;
    store.revise_episode(EpisodeRevision::new("e").problem("beta")).await?;
    store.set_episode_open(&"e".into(), false).await?;
    store.delete_episode(&"e".into()).await?;
    let again = store.add_episode(NewEpisode::new("gamma", "second").id("e")).await?;
    let right = Episode {
        id: "e".into(),
        workspace: "default".into(),
        created_at: case.now(),
        problem: "gamma".to_owned(),
        summary: "second".to_owned(),
        open: true,
        closed_at: None,
        metadata: Metadata::new(),
    };
    must_equal!(again, right, "the episode that was added under a deleted one's id");
    must_equal!(listed(case, ListEpisodes::new()).await?, ["other", "e"], "the listed episodes");
    for scorer in [Scorer::Overlap, Scorer::Bm25] {
        for (word, hits) in [("alpha", 0), ("first", 0), ("beta", 0), ("gamma", 1), ("second", 1)] {
            let found = store.recall(&RecallQuery::new(word).scorer(scorer)).await?;
            must_equal!(found.len(), hits, "the hits of {scorer:?} for {word}");
        }
    }
    // The same within one batch.
    let batch = Batch::new()
        .with(Op::DeleteEpisode { episode: "e".into(), closed_before: None })
        .with(NewEpisode::new("delta", "third").id("e"));
    case.backend().commit(batch).await?;
    for (word, hits) in [("gamma", 0), ("delta", 1)] {
        let found = store.recall(&RecallQuery::new(word)).await?;
        must_equal!(found.len(), hits, "the hits for {word}");
    }
    case.verify().await
}

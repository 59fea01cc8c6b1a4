//! Filters: each holds, whatever others stand beside it.

use std::{cmp::Reverse, collections::BTreeMap};

use memkeep_core::{
    Batch, Episode, FindTurns, ListEpisodes, NewEpisode, NewSession, NewTurn, Note, Op,
    RecallQuery, Record, RecordKind, Scope, Turn, recall::Scorer,
};

use super::mirror::Mirror;
use crate::{Case, Verdict, failure::must_equal};

/// The first, being empty, is to be told from an absent one. So are roles, tags and sources.
const WORKSPACES: [&str; 2] = ["", "acme"];
const ROLES: [&str; 2] = ["", "user"];
const TAGS: [Option<&str>; 3] = [None, Some(""), Some("tag")];
const SOURCES: [&[&str]; 3] = [&[], &["a"], &["b", "a"]];
const TIMES: [i64; 3] = [0, 1, 2];
const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];

fn text(n: usize) -> &'static str {
    ["a secret", "the secret of secrets", "no more than a secret"][n % 3]
}

/// Turns of every combination of what they are filtered by, in two sessions of each workspace.
async fn turns(case: &Case) -> Result<Mirror, crate::Failure> {
    let mut batch = Batch::new();
    for workspace in WORKSPACES {
        for session in ["1", "2"].map(|n| format!("{workspace}{n}")) {
            batch.push(Op::StartSession(NewSession::new().id(&session[..]).workspace(workspace)));
            for (role, tag) in ROLES.iter().flat_map(|role| TAGS.map(|tag| (*role, tag))) {
                for time in TIMES {
                    let tags: BTreeMap<_, _> =
                        tag.iter().map(|tag| ((*tag).to_owned(), None)).collect();
                    let turn = NewTurn::new(&session[..], role, text(batch.ops.len()));
                    batch.push(turn.tags(tags).created_at(Case::at(time)));
                }
            }
        }
    }
    let mut mirror = Mirror::new(RecordKind::Turn);
    mirror.commit(case, batch).await?;
    Ok(mirror)
}

/// The filters by workspace and time that every question may have.
fn common() -> Vec<RecallQuery> {
    let mut queries = Vec::new();
    for scope in [Scope::All, Scope::from(WORKSPACES[0]), Scope::from(WORKSPACES[1])] {
        for since in [None, Some(Case::at(1))] {
            for until in [None, Some(Case::at(2))] {
                let query = RecallQuery::new("secret").scope(scope.clone()).since(since);
                queries.push(query.until(until));
            }
        }
    }
    queries
}

/// With every scorer, all that there is and the best of it.
async fn ask(case: &Case, mirror: &Mirror, query: RecallQuery) -> Verdict {
    for scorer in SCORERS {
        for k in [2, usize::MAX] {
            mirror.compare(case, &query.clone().scorer(scorer).k(k)).await?;
        }
    }
    Ok(())
}

pub(crate) async fn turns_found(case: &mut Case) -> Verdict {
    let mirror = turns(case).await?;
    for scope in [Scope::All, Scope::from(WORKSPACES[0]), Scope::from(WORKSPACES[1])] {
        for role in [None, Some(ROLES[0]), Some(ROLES[1]), Some("unknown")] {
            let sought = |turn: &&Turn| {
                scope.includes(&turn.workspace) && role.is_none_or(|role| role == turn.role)
            };
            let turns = mirror.records.iter().filter_map(|record| match record {
                Record::Turn(turn) => Some(turn),
                _ => None,
            });
            let mut right: Vec<&Turn> = turns.filter(sought).collect();
            right.sort_by_key(|turn| Reverse(turn.created_at));
            for limit in [1, 5, usize::MAX] {
                let find = FindTurns::new("SECRET").scope(scope.clone()).limit(limit);
                let find = find.role(role.map(str::to_owned));
                let found = case.sessions()?.find_turns(&find).await?;
                let right = &right[..right.len().min(limit)];
                must_equal!(found.iter().collect::<Vec<_>>(), right, "the turns of {find:?}");
            }
        }
    }
    Ok(())
}

pub(crate) async fn turns_recalled(case: &mut Case) -> Verdict {
    let mirror = turns(case).await?;
    for query in common() {
        for role in [None, Some(ROLES[0])] {
            for tag in [None, Some("")] {
                for session in [None, Some("1"), Some("acme2")] {
                    let mut query = query.clone();
                    query.role = role.map(str::to_owned);
                    query.tag = tag.map(str::to_owned);
                    query.session = session.map(Into::into);
                    ask(case, &mirror, query).await?;
                }
            }
        }
    }
    let mut of_others = RecallQuery::new("secret").open(true);
    ask(case, &mirror, of_others.clone()).await?;
    of_others.source = Some("a".into());
    ask(case, &mirror, of_others).await
}

/// The filters of turns, which other kinds pass unseen.
fn of_turns() -> [RecallQuery; 3] {
    let mut queries = [(); 3].map(|()| RecallQuery::new("secret"));
    queries[0].role = Some("user".to_owned());
    queries[1].tag = Some("tag".to_owned());
    queries[2].session = Some("1".into());
    queries
}

/// Episodes of every combination of what they are filtered by, two of each.
async fn episodes(case: &Case) -> Result<Mirror, crate::Failure> {
    let mut batch = Batch::new();
    for workspace in WORKSPACES.into_iter().chain(WORKSPACES) {
        for open in [true, false] {
            for time in TIMES {
                let new = NewEpisode::new(text(batch.ops.len()), "").workspace(workspace);
                batch.push(new.open(open).created_at(Case::at(time)));
            }
        }
    }
    let mut mirror = Mirror::new(RecordKind::Episode);
    mirror.commit(case, batch).await?;
    Ok(mirror)
}

const OPEN: [Option<bool>; 3] = [None, Some(true), Some(false)];

pub(crate) async fn episodes_recalled(case: &mut Case) -> Verdict {
    let mirror = episodes(case).await?;
    for query in common() {
        for open in OPEN {
            ask(case, &mirror, query.clone().open(open)).await?;
        }
    }
    let mut source = RecallQuery::new("secret");
    source.source = Some("a".into());
    for of_others in of_turns().into_iter().chain([source]) {
        ask(case, &mirror, of_others).await?;
    }
    Ok(())
}

pub(crate) async fn episodes_listed(case: &mut Case) -> Verdict {
    let mirror = episodes(case).await?;
    for scope in [Scope::All, Scope::from(WORKSPACES[0]), Scope::from(WORKSPACES[1])] {
        for open in OPEN {
            let sought = |episode: &&Episode| {
                scope.includes(&episode.workspace) && open.is_none_or(|open| open == episode.open)
            };
            let episodes = mirror.records.iter().filter_map(|record| match record {
                Record::Episode(episode) => Some(episode),
                _ => None,
            });
            let mut right: Vec<&Episode> = episodes.filter(sought).collect();
            right.sort_by_key(|episode| episode.created_at);
            for limit in [1, 5, usize::MAX] {
                let list = ListEpisodes::new().scope(scope.clone()).open(open).limit(limit);
                let listed = case.episodic()?.episodes(&list).await?.items;
                let right = &right[..right.len().min(limit)];
                must_equal!(listed.iter().collect::<Vec<_>>(), right, "the episodes of {list:?}");
            }
        }
    }
    Ok(())
}

pub(crate) async fn notes_recalled(case: &mut Case) -> Verdict {
    let mut batch = Batch::new();
    for workspace in WORKSPACES {
        for sources in SOURCES {
            for time in TIMES {
                let n = batch.ops.len();
                // As records, whose sources need not be there.
                batch.push(Record::Note(Note {
                    id: n.to_string().into(),
                    workspace: workspace.into(),
                    created_at: Case::at(time),
                    text: text(n).to_owned(),
                    sources: sources.iter().map(|source| (*source).into()).collect(),
                }));
            }
        }
    }
    let mut mirror = Mirror::new(RecordKind::Note);
    mirror.commit(case, batch).await?;
    for query in common() {
        for source in [None, Some("a"), Some("b"), Some("unknown")] {
            let mut query = query.clone();
            query.source = source.map(Into::into);
            ask(case, &mirror, query).await?;
        }
    }
    for of_others in of_turns().into_iter().chain([RecallQuery::new("secret").open(true)]) {
        ask(case, &mirror, of_others).await?;
    }
    Ok(())
}

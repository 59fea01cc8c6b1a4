//! Recall: the records, their order and the bits of their scores are those of the shared scorer.

use std::collections::BTreeMap;

use memkeep_core::{
    Batch, EpisodeId, EpisodeRevision, NewEpisode, NewNote, NewSession, NewTurn, Note, NoteId, Op,
    RecallQuery, Record, RecordKind, SessionId, Timestamp, recall::Scorer,
};

use super::{
    kinds::of_kinds,
    mirror::{Mirror, hits},
    random::Random,
};
use crate::{
    Case, Verdict,
    failure::{must, must_equal},
};

const SCORERS: [Scorer; 3] = [Scorer::Overlap, Scorer::Bm25, Scorer::Context];
const WORKSPACES: [&str; 3] = ["", "acme", "acme-corp"];
const SESSIONS: [&str; 5] = ["s0", "s1", "s2", "s3", "s4"];
const SOURCES: [&str; 3] = ["ep-a", "ep-b", "ep-c"];
const TAGS: [&str; 3] = ["bug", "bug%", "Bug"];
const ROLES: [&str; 3] = ["user", "assistant", "User"];

/// Frequent words stand several times. Each rule of the analysis has a word here.
const WORDS: [&str; 34] = [
    "the",
    "the",
    "the",
    "a",
    "and",
    "cache",
    "cache",
    "cache",
    "caching",
    "caches",
    "deploy",
    "deploy",
    "deployed",
    "worker",
    "worker",
    "crash",
    "crashes",
    "timeout",
    "café",
    "cafe",
    "Ägypten",
    "Тест",
    "部署方案",
    "今天",
    "getShippingMethodId",
    "atomic_write_json",
    "gpt-4o",
    "v1.2.3",
    "404",
    "C++",
    "don't",
    "Anna:",
    "why?",
    "GB/s",
];

fn text(random: &mut Random, most: usize) -> String {
    let words: Vec<&str> = (0..random.below(most + 1)).map(|_| *random.pick(&WORDS)).collect();
    words.join(*random.pick(&[" ", " ", " ", "\n", "\0"]))
}

/// An instant among those that the clock shows.
fn random_time(random: &mut Random) -> Timestamp {
    Case::at(i64::try_from(random.below(4)).unwrap_or_default())
}

/// A history of one kind of records in which ids come back, times are equal or go backwards, and
/// records change.
struct History {
    kind: RecordKind,
    random: Random,
    mirror: Mirror,
    /// Records that were deleted, to be stored again.
    gone: Vec<Record>,
    made: usize,
}

impl History {
    async fn new(case: &Case, kind: RecordKind) -> Result<Self, crate::Failure> {
        if kind == RecordKind::Turn {
            for (n, id) in SESSIONS.into_iter().enumerate() {
                let workspace = WORKSPACES[n % WORKSPACES.len()];
                let new = NewSession::new().id(id).workspace(workspace);
                case.sessions()?.start_session(new).await?;
            }
        }
        let random = Random::new(case.seed);
        Ok(Self { kind, random, mirror: Mirror::new(kind), gone: Vec::new(), made: 0 })
    }

    fn existing(&mut self) -> Option<Record> {
        let records = &self.mirror.records;
        (!records.is_empty()).then(|| self.random.pick(records).clone())
    }

    /// A new record; sometimes of a time that is long past.
    fn create(&mut self) -> Op {
        let random = &mut self.random;
        self.made += 1;
        let id = format!("r{}", self.made);
        let at = random.chance(30).then(|| Case::at(*random.pick(&[-1, -2])));
        let workspace = *random.pick(&WORKSPACES);
        match self.kind {
            RecordKind::Episode => {
                let mut new = NewEpisode::new(text(random, 9), text(random, 9)).id(id);
                new.created_at = at;
                new.workspace(workspace).open(random.chance(60)).into()
            }
            RecordKind::Turn => {
                let session = *random.pick(&SESSIONS);
                let mut new = NewTurn::new(session, *random.pick(&ROLES), text(random, 12)).id(id);
                new.created_at = at;
                let tagged = random.chance(30);
                let tags = tagged.then(|| ((*random.pick(&TAGS)).to_owned(), None));
                new.tags(tags.into_iter().collect::<BTreeMap<_, _>>()).into()
            }
            // As a record, since its sources need not be there then.
            _ => Record::Note(Note {
                id: NoteId::from(id),
                workspace: workspace.into(),
                created_at: at.unwrap_or_else(|| random_time(random)),
                text: text(random, 12),
                sources: random
                    .chance(50)
                    .then(|| (*random.pick(&SOURCES)).into())
                    .into_iter()
                    .collect(),
            })
            .into(),
        }
    }

    fn delete(&mut self) -> Option<Op> {
        let record = self.existing()?;
        let op = match &record {
            Record::Episode(r) => Op::DeleteEpisode { episode: r.id.clone(), closed_before: None },
            Record::Turn(r) => Op::DeleteTurn { turn: r.id.clone() },
            _ => Op::DeleteNote { note: record.id().into() },
        };
        self.gone.push(record);
        Some(op)
    }

    /// A deleted record, as it was or with the same id only.
    fn bring_back(&mut self) -> Option<Op> {
        if self.gone.is_empty() {
            return None;
        }
        let gone = self.gone.swap_remove(self.random.below(self.gone.len()));
        if self.random.chance(50) {
            return Some(gone.into());
        }
        let mut op = self.create();
        match (&mut op, &gone) {
            (Op::AddEpisode(new), Record::Episode(r)) => new.id = Some(r.id.clone()),
            (Op::RecordTurn(new), Record::Turn(r)) => new.id = Some(r.id.clone()),
            (Op::Restore { record: Record::Note(new) }, Record::Note(r)) => new.id = r.id.clone(),
            _ => {}
        }
        Some(op)
    }

    fn change(&mut self) -> Option<Op> {
        let record = self.existing()?;
        let random = &mut self.random;
        match record {
            Record::Episode(r) if random.chance(50) => {
                let revision = EpisodeRevision::new(r.id);
                Some(match random.below(3) {
                    0 => revision.problem(text(random, 9)).into(),
                    1 => revision.summary(text(random, 9)).into(),
                    _ => revision.problem(text(random, 3)).summary(String::new()).into(),
                })
            }
            Record::Episode(r) => Some(Op::SetEpisodeOpen { episode: r.id, open: !r.open }),
            Record::Turn(r) if random.chance(70) => {
                let name = (*random.pick(&TAGS)).to_owned();
                Some(Op::TagTurn { turn: r.id, name, value: None })
            }
            Record::Turn(r) => {
                let name = (*random.pick(&TAGS)).to_owned();
                Some(Op::UntagTurn { turn: r.id, name })
            }
            _ => None,
        }
    }

    /// Commits `ops` changes in batches.
    async fn go_on(&mut self, case: &Case, ops: usize) -> Verdict {
        let mut done = 0;
        while done < ops {
            if self.random.chance(20) {
                case.set_clock(random_time(&mut self.random));
            }
            let mut batch = Batch::new();
            // A record that this batch makes cannot be picked before it is committed.
            if self.random.chance(35) {
                self.delete().into_iter().for_each(|op| batch.push(op));
            }
            let creations = 1 + self.random.below(8);
            for _ in 0..creations {
                batch.push(self.create());
            }
            done += creations;
            self.mirror.commit(case, batch).await?;
            if self.random.chance(25)
                && let Some(op) = self.bring_back()
            {
                self.mirror.commit(case, op.into()).await?;
            }
            if self.random.chance(60)
                && let Some(op) = self.change()
            {
                self.mirror.commit(case, op.into()).await?;
            }
        }
        Ok(())
    }

    /// Everything of one session or workspace goes at once.
    async fn lose_many(&mut self, case: &Case) -> Verdict {
        let op = if self.kind == RecordKind::Turn {
            Op::DeleteSession { session: SessionId::from("s1"), ended_before: None }
        } else {
            Op::ForgetWorkspace { workspace: "acme".into() }
        };
        self.mirror.commit(case, op.into()).await?;
        // What cannot be stored again, since its session is gone, is forgotten.
        self.gone.clear();
        if self.kind == RecordKind::Turn {
            let new = NewSession::new().id("s1").workspace("acme-corp");
            case.sessions()?.start_session(new).await?;
        }
        Ok(())
    }

    fn question(&mut self) -> RecallQuery {
        let random = &mut self.random;
        let mut query = RecallQuery::new(text(random, 5)).k(*random.pick(&[0, 1, 3, usize::MAX]));
        query.scorer = *random.pick(&[None, Some(SCORERS[0]), Some(SCORERS[1]), Some(SCORERS[2])]);
        if random.chance(60) {
            query = query.scope(*random.pick(&["", "acme", "acme-corp", "unknown"]));
        }
        query.since = random.chance(20).then(|| random_time(random));
        query.until = random.chance(20).then(|| random_time(random));
        match self.kind {
            RecordKind::Episode => query.open = *random.pick(&[None, Some(true), Some(false)]),
            RecordKind::Turn => {
                query.role = random.chance(20).then(|| (*random.pick(&ROLES)).to_owned());
                query.tag = random.chance(20).then(|| (*random.pick(&TAGS)).to_owned());
                query.session = random.chance(20).then(|| (*random.pick(&SESSIONS)).into());
            }
            _ => {
                query.source = random.chance(30).then(|| EpisodeId::from(*random.pick(&SOURCES)));
            }
        }
        query
    }

    async fn ask(&mut self, case: &Case, questions: usize) -> Verdict {
        for _ in 0..questions {
            let query = self.question();
            self.mirror.compare(case, &query).await?;
        }
        // One that is sure to find much, by every scorer.
        for scorer in SCORERS {
            let query = RecallQuery::new("cache deploy the worker?").scorer(scorer).k(usize::MAX);
            let ranked = self.mirror.ranked(&query);
            must!(!ranked.is_empty(), ranked, "the history answers {query:?}");
            self.mirror.compare(case, &query).await?;
        }
        Ok(())
    }
}

async fn through_a_history(case: &mut Case, kind: RecordKind) -> Verdict {
    let mut history = History::new(case, kind).await?;
    for _ in 0..3 {
        history.go_on(case, 40).await?;
        history.ask(case, 25).await?;
    }
    history.lose_many(case).await?;
    history.ask(case, 25).await?;
    // An index that is made anew is of what there is now.
    case.backend().reindex().await?;
    history.ask(case, 25).await?;
    history.go_on(case, 20).await?;
    history.ask(case, 25).await
}

async fn after_reopening(case: &mut Case, kind: RecordKind) -> Verdict {
    let mut history = History::new(case, kind).await?;
    for _ in 0..2 {
        history.go_on(case, 40).await?;
        case.reopen().await?;
        history.ask(case, 25).await?;
    }
    Ok(())
}

/// More than the candidates that Context re-ranks, more than a block of any index.
async fn over_many(case: &mut Case, kind: RecordKind) -> Verdict {
    let mut history = History::new(case, kind).await?;
    for _ in 0..6 {
        let batch = (0..300).map(|_| history.create()).collect();
        history.mirror.commit(case, batch).await?;
    }
    for _ in 0..20 {
        if let Some(op) = history.delete() {
            history.mirror.commit(case, op.into()).await?;
        }
    }
    history.ask(case, 6).await?;
    for k in [10_usize, 1_000] {
        for scorer in SCORERS {
            let query = RecallQuery::new("the cache, and a worker").scorer(scorer);
            history.mirror.compare(case, &query.k(k)).await?;
        }
    }
    Ok(())
}

/// One record of `kind` with this text and time, in this workspace.
async fn put(case: &Case, kind: RecordKind, at: (&str, i64), id: &str, text: &str) -> Verdict {
    let (workspace, time) = at;
    let created_at = Case::at(time);
    let op = match kind {
        RecordKind::Episode => {
            let new = NewEpisode::new(text, "").id(id).workspace(workspace);
            new.created_at(created_at).into()
        }
        RecordKind::Turn => {
            // A session of its own, so that nobody lends.
            let new = NewSession::new().id(id).workspace(workspace);
            case.sessions()?.start_session(new).await?;
            NewTurn::new(id, "user", text).id(id).created_at(created_at).into()
        }
        _ => NewNote::new(text).id(id).workspace(workspace).created_at(created_at).into(),
    };
    case.backend().commit_one(op).await?;
    Ok(())
}

async fn ids(
    case: &Case,
    kind: RecordKind,
    query: &RecallQuery,
) -> Result<Vec<String>, crate::Failure> {
    Ok(hits(case, kind, query).await?.iter().map(|(r, _)| r.id().to_owned()).collect())
}

async fn ties(case: &mut Case, kind: RecordKind) -> Verdict {
    let since_1970 = Case::at(0).as_micros();
    let (of_1969, first) = (-1 - since_1970, Timestamp::MIN.as_micros() - since_1970);
    let times = [("a", 5), ("f", of_1969), ("b", 9), ("c", 5), ("g", first), ("d", 1), ("e", 9)];
    for (id, time) in times {
        put(case, kind, ("default", time), id, "cache eviction").await?;
    }
    let order = ["b", "e", "a", "c", "d", "f", "g"];
    for scorer in SCORERS {
        for k in [0, 1, 2, 4, 6, 7, 8, usize::MAX] {
            let query = RecallQuery::new("cache").scorer(scorer).k(k);
            must_equal!(ids(case, kind, &query).await?, order[..k.min(7)], "{query:?}");
        }
    }
    let default = RecallQuery::new("cache");
    must_equal!(ids(case, kind, &default).await?, order[..3], "the hits without a limit");
    let since = RecallQuery::new("cache").since(Some(Case::at(5))).until(Some(Case::at(9)));
    must_equal!(ids(case, kind, &since).await?, ["a", "c"], "from 5 on, before 9");
    Ok(())
}

async fn statistics_are_their_own(case: &mut Case, kind: RecordKind) -> Verdict {
    let texts = ["cache policy", "cache cache eviction", "policy for eviction of things"];
    for (n, text) in texts.into_iter().enumerate() {
        put(case, kind, ("a", 0), &format!("a{n}"), text).await?;
    }
    let questions = SCORERS
        .map(|scorer| RecallQuery::new("cache eviction").scope("a").k(9_usize).scorer(scorer));
    let mut before = Vec::new();
    for query in &questions {
        before.push(hits(case, kind, query).await?);
    }
    for n in 0..50 {
        put(case, kind, ("b", 0), &format!("b{n}"), "cache").await?;
    }
    for (query, before) in questions.iter().zip(before) {
        let after = hits(case, kind, query).await?;
        must_equal!(after, before, "the answer once another workspace has grown, to {query:?}");
        must_equal!(after.is_empty(), false, "that the query has no answer: {query:?}");
    }
    Ok(())
}

async fn filters_change_no_score(case: &mut Case, kind: RecordKind) -> Verdict {
    for n in 0..12 {
        let text = ["cache", "cache eviction", "eviction of a long and winding text"][n % 3];
        let time = i64::try_from(n).unwrap_or_default();
        put(case, kind, ("a", time), &format!("r{n}"), text).await?;
    }
    for scorer in SCORERS {
        let query = RecallQuery::new("cache eviction").scope("a").k(usize::MAX).scorer(scorer);
        let all = hits(case, kind, &query).await?;
        let filtered = query.since(Some(Case::at(4))).until(Some(Case::at(9)));
        let mut expected = all.clone();
        expected.retain(|(record, _)| {
            let number = record.id().trim_start_matches('r').parse::<u32>();
            number.is_ok_and(|n| (4..9).contains(&n))
        });
        must_equal!(hits(case, kind, &filtered).await?, expected, "the hits of {filtered:?}");
        must_equal!(expected.len(), 5, "how many pass");
    }
    Ok(())
}

async fn filters_before_the_limit(case: &mut Case, kind: RecordKind) -> Verdict {
    let mut batch = Batch::new();
    if kind == RecordKind::Turn {
        for workspace in ["a", "b"] {
            batch.push(Op::StartSession(NewSession::new().id(workspace).workspace(workspace)));
        }
    }
    let strong = (0..600).map(|n| ("b", format!("cache eviction cache eviction {n}"), n));
    let weak = (0..2).map(|n| ("a", format!("about a cache and other things {n}"), 1_000 + n));
    for (workspace, text, time) in strong.chain(weak) {
        let at = Case::at(time);
        batch.push(match kind {
            RecordKind::Episode => {
                Op::from(NewEpisode::new(text, "").workspace(workspace).created_at(at))
            }
            RecordKind::Turn => NewTurn::new(workspace, "user", text).created_at(at).into(),
            _ => NewNote::new(text).workspace(workspace).created_at(at).into(),
        });
    }
    case.backend().commit(batch).await?;
    for scorer in SCORERS {
        let query = RecallQuery::new("cache eviction").k(5_usize).scorer(scorer);
        for query in [query.clone().scope("a"), query.since(Some(Case::at(1_000)))] {
            let answer = hits(case, kind, &query).await?;
            must_equal!(answer.len(), 2, "the hits of {query:?}");
        }
    }
    Ok(())
}

of_kinds! {
    through_a_history after_reopening over_many ties statistics_are_their_own
    filters_change_no_score filters_before_the_limit
}

/// A tag filter is a name, compared exactly.
pub(crate) async fn tag_filter(case: &mut Case) -> Verdict {
    let store = case.sessions()?;
    store.start_session(NewSession::new().id("s")).await?;
    let tags = ["x') OR 1=1--", "a.b", "a\"b", "a", "A", "", "a\0b", "a%", "a_b", "$.a", "ä"];
    for tag in tags {
        let turn = store.record_turn(NewTurn::new("s", "user", "same words")).await?;
        store.tag_turn(&turn.id, tag, Some("'".to_owned())).await?;
    }
    for scorer in SCORERS {
        let query = RecallQuery::new("same words").scorer(scorer).k(99_usize);
        for tag in tags {
            let answer = store.recall_turns(&query.clone().tag(tag.to_owned())).await?;
            let found: Vec<_> = answer.iter().flat_map(|hit| hit.record.tags.keys()).collect();
            must_equal!(found, [tag], "the tags of the turns with {tag:?}");
        }
        for none in ["' OR ''='", "%", "a.", "'", "B"] {
            let answer = store.recall_turns(&query.clone().tag(none.to_owned())).await?;
            must_equal!(answer, [], "the turns with the tag {none:?}");
        }
    }
    Ok(())
}

//! LoCoMo (Maharana et al. 2024): of a long conversation, find the turns that hold the evidence for a
//! question. One conversation at a time.

mod conversation;
mod tally;

use std::{collections::BTreeMap, path::PathBuf, rc::Rc};

use anyhow::Result;
use clap::Args;
use memkeep::{Batch, NewSession, NewTurn, Op, RecallQuery, recall::Scorer};
use tokio::runtime::Runtime;

use self::{
    conversation::Conversation,
    tally::{K, Tally},
};
use crate::{
    engines::{Engine as _, Fts5, or_query},
    folder::Folder,
    report::{self, Report, Row},
};

#[derive(Args)]
pub(crate) struct Options {
    /// The folder with the conversations, one JSON file each.
    folder: PathBuf,
    /// The files that memkeep's constants were tuned on, without `.json`; on the others they are
    /// checked.
    #[arg(long, value_delimiter = ',', default_value = "26,41,43")]
    tuned: Vec<String>,
}

/// A way to rank the turns of a conversation.
struct Ranking {
    name: &'static str,
    scorer: &'static str,
    /// The ids of the best turns for a question, best first.
    rank: Rank,
}

type Rank = Box<dyn Fn(&str) -> Result<Vec<String>>>;

/// By files, category and place among the rankings.
type Tallies = BTreeMap<(&'static str, Option<u64>, usize), Tally>;

pub(crate) fn run(options: &Options, folder: &Folder, report: &mut Report) -> Result<()> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(&options.folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    let (mut tallies, mut names) = (Tallies::new(), Vec::new());
    for file in files {
        let conversation = Conversation::read(&file)?;
        report::doing(format_args!(
            "{}: {} questions",
            conversation.name,
            conversation.questions.len()
        ));
        let rankings = rankings(&conversation, folder)?;
        let group = if options.tuned.contains(&conversation.name) { "tune" } else { "check" };
        for question in &conversation.questions {
            for (at, ranking) in rankings.iter().enumerate() {
                let found = (ranking.rank)(&question.text)?;
                for group in ["all", group] {
                    for category in [None, Some(question.category)] {
                        tallies.entry((group, category, at)).or_default().add(question, &found);
                    }
                }
            }
        }
        names = rankings.iter().map(|ranking| (ranking.name, ranking.scorer)).collect();
    }
    let rows = tallies.into_iter().map(|((group, category, at), tally)| {
        let category = category.map_or_else(|| "all".to_owned(), |category| category.to_string());
        let (name, scorer) = names[at];
        let row = Row::new().with("files", group).with("category", category);
        tally.row(row.with("engine", name).with("scorer", scorer))
    });
    report.table(rows.collect());
    Ok(())
}

fn rankings(conversation: &Conversation, folder: &Folder) -> Result<Vec<Ranking>> {
    let mut rankings = memkeep(conversation)?;
    for tokenizer in ["unicode61", "porter"] {
        let path = folder.path(&format!("{} {tokenizer}", conversation.name));
        rankings.push(fts5(conversation, tokenizer, Fts5::new(&path, tokenizer)?)?);
    }
    Ok(rankings)
}

/// Sessions and turns under the ids of the file, by the public calls. The backend makes no difference.
fn memkeep(conversation: &Conversation) -> Result<Vec<Ranking>> {
    let runtime = Rc::new(Runtime::new()?);
    let store = runtime.block_on(memkeep::open("inmem:"))?;
    for session in &conversation.sessions {
        let id = session.id.as_str();
        let started = NewSession::new().id(id).started_at(session.started_at);
        let mut batch = Batch::from(Op::StartSession(started));
        for turn in &session.turns {
            let role = if turn.first { "user" } else { "assistant" };
            let turn = NewTurn::new(id, role, turn.text.as_str()).id(turn.id.as_str());
            batch.push(turn.created_at(session.started_at));
        }
        runtime.block_on(store.commit(batch))?;
    }
    let scorers =
        [("overlap", Scorer::Overlap), ("bm25", Scorer::Bm25), ("context", Scorer::Context)];
    let ranking = |(name, scorer)| {
        let (runtime, store) = (runtime.clone(), store.clone());
        let rank = move |question: &str| {
            let query = RecallQuery::new(question).k(K).scorer(scorer);
            let hits = runtime.block_on(store.recall_turns(&query))?;
            Ok(hits.into_iter().map(|hit| hit.record.id.to_string()).collect())
        };
        Ranking { name: "memkeep", scorer: name, rank: Box::new(rank) }
    };
    Ok(scorers.map(ranking).into())
}

/// Any word of the question, best first.
fn fts5(conversation: &Conversation, tokenizer: &'static str, mut engine: Fts5) -> Result<Ranking> {
    let turns = || conversation.sessions.iter().flat_map(|session| &session.turns);
    let texts: Vec<String> = turns().map(|turn| turn.text.clone()).collect();
    engine.add(&texts)?;
    let ids: Vec<String> = turns().map(|turn| turn.id.clone()).collect();
    let rank = move |question: &str| {
        let words = question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let found = engine.ranked(&or_query(words), K)?;
        found.into_iter().map(|(n, _)| Ok(ids[usize::try_from(n)? - 1].clone())).collect()
    };
    Ok(Ranking { name: "fts5", scorer: tokenizer, rank: Box::new(rank) })
}

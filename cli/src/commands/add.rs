use clap::{Args, Subcommand};
use memkeep::{EpisodeId, Json, NewAudit, NewEpisode, NewNote};

use crate::{context::Context, failure::Failure, input, parse};

/// Add an episode, a note or an audit record, and print its id
#[derive(Args)]
pub(crate) struct Add {
    #[command(subcommand)]
    record: Record,
}

#[derive(Subcommand)]
enum Record {
    Episode(Episode),
    Note(Note),
    Audit(Audit),
}

impl Add {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.record {
            Record::Episode(episode) => episode.run(context).await,
            Record::Note(note) => note.run(context).await,
            Record::Audit(audit) => audit.run(context).await,
        }
    }
}

/// Add an episode: a problem and what came of it
#[derive(Args)]
struct Episode {
    /// The problem
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    problem: String,
    /// What came of it
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    summary: String,
    /// It is resolved
    #[arg(long)]
    closed: bool,
}

impl Episode {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let episode = NewEpisode::new(self.problem, self.summary).open(!self.closed);
        let episode = context.commit(episode).await?.into_episode()?;
        context.out.created(&episode)
    }
}

/// Add a note: a lesson
#[derive(Args)]
struct Note {
    /// The lesson; all of stdin if it is `-`
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// An episode of the same workspace that it is drawn from; may be given again
    #[arg(long = "source", value_name = "ID")]
    sources: Vec<EpisodeId>,
}

impl Note {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let note = NewNote::new(input::text(Some(self.text))?).sources(self.sources);
        let note = context.commit(note).await?.into_note()?;
        context.out.created(&note)
    }
}

/// Append a decision to the audit log
#[derive(Args)]
struct Audit {
    /// What was to be done
    #[arg(value_name = "ACTION")]
    action: String,
    /// What was decided: allow, deny, or any other
    #[arg(value_name = "DECISION")]
    decision: String,
    /// The circumstances
    #[arg(value_name = "JSON", value_parser = parse::json::<Json>, allow_negative_numbers = true)]
    detail: Option<Json>,
}

impl Audit {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut audit = NewAudit::new(self.action, self.decision);
        audit.detail = self.detail;
        let audit = context.commit(audit).await?.into_audit()?;
        context.out.created(&audit)
    }
}

use clap::{Args, Subcommand};
use memkeep::{Op, Workspace};

use crate::{context::Context, failure::Failure, output::counts};

/// Delete a record; deleting what is not there succeeds
#[derive(Args)]
pub(crate) struct Delete {
    #[command(subcommand)]
    record: Record,
}

#[derive(Subcommand)]
enum Record {
    /// A session with its turns, steps and tags
    Session(Id),
    /// A turn; its index stays unused
    Turn(Id),
    /// An episode; notes keep its id
    Episode(Id),
    /// A note
    Note(Id),
}

#[derive(Args)]
struct Id {
    /// The record
    #[arg(value_name = "ID")]
    id: String,
}

impl Delete {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let op = match self.record {
            Record::Session(Id { id }) => {
                Op::DeleteSession { session: id.into(), ended_before: None }
            }
            Record::Turn(Id { id }) => Op::DeleteTurn { turn: id.into() },
            Record::Episode(Id { id }) => {
                Op::DeleteEpisode { episode: id.into(), closed_before: None }
            }
            Record::Note(Id { id }) => Op::DeleteNote { note: id.into() },
        };
        commit(context, op).await
    }
}

/// Delete everything of a workspace, audit included
#[derive(Args)]
pub(crate) struct Forget {
    /// The workspace
    #[arg(value_name = "WORKSPACE")]
    name: String,
}

impl Forget {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        commit(context, Op::ForgetWorkspace { workspace: Workspace::new(self.name) }).await
    }
}

/// Commits a deletion and tells what went.
pub(super) async fn commit(context: &mut Context, op: impl Into<Op>) -> Result<(), Failure> {
    let deleted = context.commit(op).await?.into_deleted()?;
    let told = if deleted.existed {
        format!("deleted: {}", counts::summary(&deleted.counts))
    } else {
        "there was nothing to delete".to_owned()
    };
    context.out.value(&deleted, &told)
}

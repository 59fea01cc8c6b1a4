//! The commands, a file a group: their words beside what they do.

mod add;
mod audit;
mod batch;
mod copy;
mod delete;
mod episodes;
mod export;
#[expect(clippy::doc_markdown, reason = "`--help` prints the words as they are")]
mod import;
mod maintain;
mod notes;
mod recall;
mod sessions;
mod state;
mod turns;

use clap::Subcommand;
use memkeep::Scope;

use crate::{context::Context, failure::Failure};

/// What a command needs of a store that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It is made: the command puts something into it.
    Create,
    /// That it is there: the command reads, or changes what is in it.
    Existing,
    /// One in memory will do: nothing is to stay.
    Rehearsal,
}

/// Lists the commands once: the words of each in `Command`, its `run` in the dispatch.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($words:ty),)*) => {
        /// A command.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $name($words),)*
        }

        impl Command {
            /// Does it.
            pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
                match self {
                    $(Self::$name(words) => words.run(context).await,)*
                }
            }
        }
    };
}

commands! {
    Import(import::Import),
    Export(export::Export),
    Backup(export::Backup),
    Copy(copy::Copy),

    Recall(recall::Recall),
    Find(turns::Find),
    Sessions(sessions::List),
    Session(sessions::Show),
    Turns(turns::List),
    Steps(turns::Steps),
    Workspaces(maintain::Workspaces),
    Episodes(episodes::List),
    Notes(notes::List),
    Audit(audit::List),

    State(state::State),

    Add(add::Add),
    Revise(episodes::Revise),
    Close(episodes::Close),
    Reopen(episodes::Reopen),

    Start(sessions::Start),
    Turn(turns::Record),
    Step(turns::Step),
    Tag(turns::Tag),
    Untag(turns::Untag),
    Summarize(sessions::Summarize),
    End(sessions::End),
    Resume(sessions::Resume),
    Batch(batch::Commit),

    Delete(delete::Delete),
    Forget(delete::Forget),
    Prune(maintain::Prune),
    Compact(maintain::Compact),
    Reindex(maintain::Reindex),
    Verify(maintain::Verify),
    Stats(maintain::Stats),
}

impl Command {
    /// What it needs of a store that is not there.
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::Import(import) if import.dry_run => Access::Rehearsal,
            Self::Import(_) | Self::Add(_) | Self::Start(_) | Self::Batch(_) => Access::Create,
            Self::State(state) if state.sets() => Access::Create,
            _ => Access::Existing,
        }
    }

    /// Reads what it is to read before the store is opened, so that no store is made of what then
    /// proves to be unusable.
    pub(crate) async fn prepare(
        &mut self,
        scope: &Scope,
        makes_store: bool,
    ) -> Result<(), Failure> {
        match self {
            Self::Import(import) => import.prepare(scope, makes_store).await,
            Self::Batch(batch) => batch.prepare(),
            _ => Ok(()),
        }
    }
}

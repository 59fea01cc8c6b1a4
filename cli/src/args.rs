use clap::Parser;

use crate::commands::Command;

/// What the help calls the words that go with every command.
const GLOBAL: &str = "Global options";

/// Memory for AI agents: sessions and turns, episodes, notes, state and an audit log.
///
/// A text that starts with a hyphen and is also an option goes after `--`. Exit status: 0 done;
/// 1 the operation failed; 2 the words were wrong.
#[derive(Parser)]
#[command(name = "memkeep", version)]
pub(crate) struct Args {
    /// The store, such as sqlite:agent.db [default: a SQLite file in your data folder]
    #[arg(long, global = true, help_heading = GLOBAL, env = "MEMKEEP_STORE", hide_env_values = true, value_name = "URL")]
    pub(crate) store: Option<String>,

    /// Read and write this workspace only; without it, reads span all and writes use `default`
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "W")]
    pub(crate) workspace: Option<String>,

    /// Print JSON lines, one record a line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

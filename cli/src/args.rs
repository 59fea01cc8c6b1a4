use std::{env, ffi::OsString};

use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, parser::ValueSource};

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
    /// The store, such as sqlite:agent.db [default: what `MEMKEEP_STORE` names, or else a
    /// SQLite file in your data folder]
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "URL")]
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

/// The commands that concern the whole store, whose help is not to offer a workspace.
const WHOLE: [&str; 5] = ["backup", "compact", "copy", "reindex", "verify"];

/// Reads the words of this process.
pub(crate) fn parse() -> Result<Args, clap::Error> {
    let words: Vec<OsString> = env::args_os().collect();
    let mut command = Args::command();
    let hidden = command.get_arguments().find(|arg| arg.get_id() == "workspace").cloned();
    if let Some(hidden) = hidden.map(|workspace| workspace.hide(true)) {
        for name in WHOLE {
            command = command.mut_subcommand(name, |command| command.arg(hidden.clone()));
        }
    }
    let mut matches = command.try_get_matches_from_mut(&words)?;
    once_each(&words)?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Refuses a global option that is given both before and after a command: clap itself lets the last
/// one win silently, other than where both stand in one place.
fn once_each(words: &[OsString]) -> Result<(), clap::Error> {
    let mut command = Args::command();
    let globals = command.get_arguments().filter(|arg| arg.is_global_set());
    let globals: Vec<Arg> = globals.map(|arg| arg.clone().global(false)).collect();
    for arg in &globals {
        command = command.mut_arg(arg.get_id(), |arg| arg.global(false));
    }
    command = command.mut_subcommands(|command| with_own(command, &globals));
    let matches = command.try_get_matches_from_mut(words)?;
    let levels = || std::iter::successors(Some(&matches), |matches| Some(matches.subcommand()?.1));
    for arg in &globals {
        let id = arg.get_id().as_str();
        let given =
            |matches: &&ArgMatches| matches.value_source(id) == Some(ValueSource::CommandLine);
        if levels().filter(given).count() > 1 {
            let message = format!("the argument '--{id}' cannot be used multiple times");
            return Err(command.error(clap::error::ErrorKind::ArgumentConflict, message));
        }
    }
    Ok(())
}

/// A command that takes `args` itself, as do its own commands.
fn with_own(command: clap::Command, args: &[Arg]) -> clap::Command {
    command.args(args).mut_subcommands(|command| with_own(command, args))
}

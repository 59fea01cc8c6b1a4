//! The `memkeep` command: an agent's memory at the terminal, for people and for scripts.

mod args;
mod commands;
mod context;
mod failure;
mod files;
mod input;
mod output;
mod parse;
mod scope;

use std::process::ExitCode;

use memkeep::{Error, ErrorKind};

use crate::{args::Args, context::Context, failure::Failure};

fn main() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(error) => return failure::usage(error),
    };
    let json = args.json;
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}

/// One thread: a command makes one call after another, and backends bring threads of their own.
fn run(args: Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::new(ErrorKind::Unexpected, "the program cannot be run").caused_by(e))?;
    runtime.block_on(async {
        let (command, mut context) = Context::open(args).await?;
        let done = command.run(&mut context).await;
        let closed = context.close().await;
        done.and(closed).map_err(|failure| failure.after(context.done))
    })
}

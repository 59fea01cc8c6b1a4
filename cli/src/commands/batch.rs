use clap::Args;
use memkeep::{Batch, Error, Op};

use crate::{context::Context, failure::Failure, input};

/// Commit ops from stdin, one JSON object a line, all or none; print one outcome a line
///
/// An op looks like `{"op":"record_turn","session":"…","role":"user","content":"…"}`.
#[derive(Args)]
pub(crate) struct Commit {
    /// Stdin, which is also meant without it
    #[arg(value_name = "-", value_parser = ["-"])]
    stdin: Option<String>,
    /// The idempotency key: a batch that was committed under it is not done again
    #[arg(long, value_name = "K")]
    key: Option<String>,
    #[arg(skip)]
    ops: Vec<Op>,
    /// The line of each op.
    #[arg(skip)]
    lines: Vec<usize>,
}

impl Commit {
    pub(super) fn prepare(&mut self) -> Result<(), Failure> {
        for value in input::values() {
            let (line, op) = value?;
            self.ops.push(op);
            self.lines.push(line);
        }
        Ok(())
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let batch = Batch { ops: self.ops, key: self.key };
        let committed = context.commit_batch(batch).await;
        let receipt = committed.map_err(|error| Failure::Input(at_line(error, &self.lines)))?;
        for outcome in receipt.outcomes {
            context.out.json_line(&outcome)?;
        }
        Ok(())
    }
}

/// An error that names an op by its place in the batch, with the line that it stood on.
fn at_line(error: Error, lines: &[usize]) -> Error {
    let op: Option<usize> = error.get("op").and_then(|op| op.parse().ok());
    match op.and_then(|op| lines.get(op)) {
        None => error,
        Some(line) => input::at_line(&error, *line),
    }
}

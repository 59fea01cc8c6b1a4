use clap::Args;
use memkeep::{Batch, Op};

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
}

impl Commit {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut batch = Batch { ops: Vec::new(), key: self.key };
        for line in input::lines() {
            let (number, line) = line?;
            let op: Op = serde_json::from_str(&line).map_err(|e| input::wrong_line(number, e))?;
            batch.push(op);
        }
        let receipt = context.commit_batch(batch).await.map_err(Failure::Input)?;
        for outcome in receipt.outcomes {
            context.out.json_line(&outcome)?;
        }
        Ok(())
    }
}

use std::time::Duration;

use clap::Args;
use memkeep::{Timestamp, verify};

use crate::{
    context::Context,
    failure::Failure,
    output::{Progress, View, counts, escape},
    parse,
};

/// List workspaces and how much they hold
#[derive(Args)]
pub(crate) struct Workspaces {}

impl Workspaces {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut workspaces = context.store.workspaces().await?;
        workspaces.retain(|row| context.scope.includes(&row.workspace));
        context.out.rows(View::Table, &workspaces)
    }
}

/// Show how much the store holds
#[derive(Args)]
pub(crate) struct Stats {}

impl Stats {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let stats = context.store.stats(&context.scope).await?;
        context.out.record(&stats)
    }
}

/// Delete what has long been over: ended sessions, closed episodes, expired state
#[derive(Args)]
pub(crate) struct Prune {
    /// For how long it must have been over, such as 30d
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse::duration)]
    older_than: Duration,
}

impl Prune {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let before = Timestamp::now().saturating_sub(self.older_than);
        let prune = memkeep::Prune::new(before).scope(context.scope.clone());
        let pruned = context.store.prune(&prune).await?;
        context.done = Some("the deletion is stored");
        context.out.value(&pruned, &format!("deleted: {}", counts::summary(&pruned)))
    }
}

/// Give the space of deleted records back, and wipe what is left of their text
#[derive(Args)]
pub(crate) struct Compact {}

impl Compact {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("compact")?;
        context.store.compact().await?;
        context.done = Some("the store is compacted");
        context.out.note("compacted")
    }
}

/// Make the recall indexes anew
#[derive(Args)]
pub(crate) struct Reindex {}

impl Reindex {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("reindex")?;
        let progress = Progress::new("indexing");
        context.store.reindex().await?;
        drop(progress);
        context.done = Some("the store is indexed");
        context.out.note("indexed")
    }
}

/// Check that records, index and audit chains agree with each other
#[derive(Args)]
pub(crate) struct Verify {
    /// Set derived values right
    #[arg(long)]
    repair: bool,
}

impl Verify {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        context.whole_store("verify")?;
        let progress = Progress::new("verifying");
        let report = context.store.verify(&verify::Verify::new().repair(self.repair)).await?;
        drop(progress);
        context.done = self.repair.then_some("what could be repaired is stored");
        let mut told: Vec<String> = report
            .problems
            .iter()
            .map(|problem| {
                let repaired = if problem.repaired { " (repaired)" } else { "" };
                let line = format!("{}: {}{repaired}", problem.location, problem.message);
                escape::line(&line).into_owned()
            })
            .collect();
        told.push(format!("checked: {}", counts::summary(&report.checked)));
        told.push(match report.problems.len() {
            0 => "no problems".to_owned(),
            n => format!("problems: {n}"),
        });
        context.out.value(&report, &told.join("\n"))?;
        if report.is_clean() { Ok(()) } else { Err(Failure::Printed) }
    }
}

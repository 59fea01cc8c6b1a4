use clap::Args;
use memkeep::{AuditRecord, Hash, ListAudit, MemoryBackend, Workspace};
use serde::Serialize;

use crate::{
    context::{Context, PAGE},
    failure::Failure,
    output::{Fields, Render, View},
};

/// List the audit log, workspace by workspace, oldest first
#[derive(Args)]
pub(crate) struct List {
    /// Print only where each workspace's chain ends: what to keep elsewhere, to compare with later
    #[arg(long)]
    head: bool,
}

/// The last record of a chain. Who knows it can tell whether any record before it was changed.
#[derive(Serialize)]
struct Head {
    workspace: Workspace,
    seq: u64,
    hash: Hash,
}

impl Render for Head {
    const NAMES: &'static str = "audit records";

    fn fields(&self) -> Fields {
        Fields::default()
            .column("workspace", &self.workspace)
            .column("seq", self.seq)
            .column("hash", self.hash)
    }
}

impl From<AuditRecord> for Head {
    fn from(AuditRecord { workspace, seq, hash, .. }: AuditRecord) -> Self {
        Self { workspace, seq, hash }
    }
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut list = ListAudit::new().scope(context.scope.clone()).limit(PAGE);
        if !self.head {
            let read = async |store: &dyn MemoryBackend, after| {
                store.audit_log(&list.clone().after(after)).await
            };
            return context.list(View::Table, read).await;
        }
        let mut heads: Vec<Head> = Vec::new();
        loop {
            let page = context.store.audit_log(&list).await?;
            for record in page.items {
                // A chain's records follow each other.
                heads.pop_if(|head| head.workspace == record.workspace);
                heads.push(record.into());
            }
            match page.next {
                None => return context.out.rows(View::Table, &heads),
                next => list.after = next,
            }
        }
    }
}

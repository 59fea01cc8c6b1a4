use clap::Args;
use memkeep::{ListAudit, MemoryBackend};

use crate::{
    context::{Context, PAGE},
    failure::Failure,
    output::View,
};

/// List the audit log, workspace by workspace, oldest first
#[derive(Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let list = ListAudit::new().scope(context.scope.clone()).limit(PAGE);
        let read = async |store: &dyn MemoryBackend, after| {
            store.audit_log(&list.clone().after(after)).await
        };
        context.list(View::Table, read).await
    }
}

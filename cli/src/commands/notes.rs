use clap::Args;
use memkeep::{ListNotes, MemoryBackend};

use crate::{
    context::{Context, PAGE},
    failure::Failure,
    output::View,
};

/// List notes, oldest first
#[derive(Args)]
pub(crate) struct List {}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let list = ListNotes::new().scope(context.scope.clone()).limit(PAGE);
        let read =
            async |store: &dyn MemoryBackend, after| store.notes(&list.clone().after(after)).await;
        context.list(View::Table, read).await
    }
}

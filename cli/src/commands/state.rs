use std::time::Duration;

use clap::{Args, Subcommand};
use memkeep::{DeleteState, Error, Expected, Json, ListStates, MemoryBackend, PutState};

use super::delete;
use crate::{
    context::{Context, PAGE},
    failure::Failure,
    output::View,
    parse,
};

/// Read and write agent state
#[derive(Args)]
pub(crate) struct State {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    List(List),
    Get(Get),
    Set(Set),
    Delete(Delete),
}

impl State {
    /// Whether it puts a value.
    pub(super) fn sets(&self) -> bool {
        matches!(self.action, Action::Set(_))
    }

    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        match self.action {
            Action::List(list) => list.run(context).await,
            Action::Get(get) => get.run(context).await,
            Action::Set(set) => set.run(context).await,
            Action::Delete(delete) => delete.run(context).await,
        }
    }
}

/// List entries by workspace and key
#[derive(Args)]
struct List {
    /// Only keys that start so
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,
}

impl List {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let list = ListStates::new().scope(context.scope.clone()).prefix(self.prefix).limit(PAGE);
        let read =
            async |store: &dyn MemoryBackend, after| store.states(&list.clone().after(after)).await;
        context.list(View::Table, read).await
    }
}

/// Print the entry under a key, in each workspace that has it
#[derive(Args)]
struct Get {
    /// The key
    #[arg(value_name = "KEY")]
    key: String,
}

impl Get {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut list =
            ListStates::new().scope(context.scope.clone()).prefix(self.key.as_str()).limit(PAGE);
        let mut entries = Vec::new();
        if let Some(workspace) = context.scope.workspace() {
            entries.extend(context.store.state(workspace, &self.key).await?);
        } else {
            loop {
                let page = context.store.states(&list).await?;
                entries.extend(page.items.into_iter().filter(|entry| entry.key == self.key));
                match page.next {
                    None => break,
                    next => list.after = next,
                }
            }
        }
        if entries.is_empty() {
            return Err(Error::not_found("key", &self.key).into());
        }
        context.out.rows(View::Text, &entries)
    }
}

/// Put a value under a key
#[derive(Args)]
struct Set {
    /// The key
    #[arg(value_name = "KEY")]
    key: String,
    /// The value
    #[arg(value_name = "JSON", value_parser = parse::json::<Json>, allow_negative_numbers = true)]
    value: Json,
    /// Only if the entry is of this version
    #[arg(long, value_name = "N", value_parser = parse::version, allow_negative_numbers = true, conflicts_with = "if_absent")]
    if_version: Option<u64>,
    /// Only if there is no entry
    #[arg(long)]
    if_absent: bool,
    /// How long it can be read, such as 12h or 30d
    #[arg(long, value_name = "DUR", allow_hyphen_values = true, value_parser = parse::duration)]
    ttl: Option<Duration>,
}

impl Set {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut put = PutState::new(self.key, self.value);
        put.expected = match self.if_version {
            Some(version) => Some(Expected::Version(version)),
            None => self.if_absent.then_some(Expected::Absent),
        };
        if let Some(ttl) = self.ttl {
            put = put.ttl(ttl);
        }
        let entry = context.commit(put).await?.into_state()?;
        context.out.record(&entry)
    }
}

/// Delete the value under a key
#[derive(Args)]
struct Delete {
    /// The key
    #[arg(value_name = "KEY")]
    key: String,
}

impl Delete {
    async fn run(self, context: &mut Context) -> Result<(), Failure> {
        delete::commit(context, DeleteState::new(self.key)).await
    }
}

use clap::Args;
use memkeep::{
    DEFAULT_FINDS, FindTurns, Json, ListSteps, ListTurns, NewStep, NewTurn, Op, SessionId,
};

use crate::{
    context::{Context, PAGE},
    failure::Failure,
    input,
    output::View,
    parse,
};

/// Print a session's turns in order
#[derive(Args)]
pub(crate) struct List {
    /// The session
    #[arg(value_name = "ID")]
    session: String,
    /// Only the last N
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse::count)]
    last: Option<usize>,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let session = SessionId::new(self.session);
        let scope = context.scope.clone();
        if let Some(n) = self.last {
            let turns = context.store.last_turns(&scope, &session, n).await?;
            return context.out.rows(View::Text, &turns);
        }
        let list = ListTurns::new(session).scope(scope).limit(PAGE);
        let read = async |store: &dyn memkeep::MemoryBackend, after| {
            store.turns(&list.clone().after(after)).await
        };
        context.list(View::Text, read).await
    }
}

/// List a session's execution steps in order
#[derive(Args)]
pub(crate) struct Steps {
    /// The session
    #[arg(value_name = "ID")]
    session: String,
}

impl Steps {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let list = ListSteps::new(self.session).scope(context.scope.clone()).limit(PAGE);
        let read = async |store: &dyn memkeep::MemoryBackend, after| {
            store.steps(&list.clone().after(after)).await
        };
        context.list(View::Table, read).await
    }
}

/// Find a literal text in turns, newest first
#[derive(Args)]
pub(crate) struct Find {
    /// The text; there are no wildcards
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// At most so many
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = DEFAULT_FINDS, value_parser = parse::count)]
    limit: usize,
    /// Only turns of this role
    #[arg(long, value_name = "R")]
    role: Option<String>,
}

impl Find {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let find = FindTurns::new(self.text)
            .scope(context.scope.clone())
            .role(self.role)
            .limit(self.limit);
        let turns = context.store.find_turns(&find).await?;
        context.out.rows(View::Table, &turns)
    }
}

/// Record a turn, and print its id
#[derive(Args)]
pub(crate) struct Record {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Who speaks: user, assistant, system, tool, or any other
    #[arg(value_name = "ROLE")]
    role: String,
    /// What is said; all of stdin if it is `-` or absent
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
}

impl Record {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let turn = NewTurn::new(self.session, self.role, input::text(self.text)?);
        let turn = context.commit(turn).await?.into_turn()?;
        context.out.created(&turn)
    }
}

/// Record an execution step, and print its id
#[derive(Args)]
pub(crate) struct Step {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// What is done
    #[arg(value_name = "NAME")]
    name: String,
    /// How it goes: running, success, failed, or any other
    #[arg(value_name = "STATUS")]
    status: String,
    /// What goes in and comes out
    #[arg(value_name = "JSON", value_parser = parse::json::<Json>, allow_negative_numbers = true)]
    payload: Option<Json>,
}

impl Step {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut step = NewStep::new(self.session, self.name, self.status);
        step.payload = self.payload;
        let step = context.commit(step).await?.into_step()?;
        context.out.created(&step)
    }
}

/// Set a tag of a turn
#[derive(Args)]
pub(crate) struct Tag {
    /// The turn
    #[arg(value_name = "TURN")]
    turn: String,
    /// The tag's name
    #[arg(value_name = "NAME")]
    name: String,
    /// The tag's value
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    value: Option<String>,
}

impl Tag {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let Self { turn, name, value } = self;
        change(context, Op::TagTurn { turn: turn.into(), name, value }).await
    }
}

/// Remove a tag of a turn
#[derive(Args)]
pub(crate) struct Untag {
    /// The turn
    #[arg(value_name = "TURN")]
    turn: String,
    /// The tag's name
    #[arg(value_name = "NAME")]
    name: String,
}

impl Untag {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        change(context, Op::UntagTurn { turn: self.turn.into(), name: self.name }).await
    }
}

async fn change(context: &mut Context, op: Op) -> Result<(), Failure> {
    let turn = context.commit(op).await?.into_turn()?;
    context.out.record(&turn)
}

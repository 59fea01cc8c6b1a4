use clap::{Args, ValueEnum};
use memkeep::{DEFAULT_LIMIT, Error, ListSessions, NewSession, Op, SessionId, SessionOrder};

use crate::{context::Context, failure::Failure, input, output::View, parse};

/// List sessions, newest first
#[derive(Args)]
pub(crate) struct List {
    /// At most so many
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = DEFAULT_LIMIT, value_parser = parse::count)]
    limit: usize,
    /// What newest means
    #[arg(long, value_enum, default_value_t = Order::Started)]
    order: Order,
}

#[derive(Clone, Copy, ValueEnum)]
enum Order {
    /// Began last
    Started,
    /// Had the latest turn or step
    Active,
}

impl List {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let order = match self.order {
            Order::Started => SessionOrder::Started,
            Order::Active => SessionOrder::Active,
        };
        let list = ListSessions::new().scope(context.scope.clone()).order(order).limit(self.limit);
        let sessions = context.store.sessions(&list).await?.items;
        context.out.rows(View::Table, &sessions)
    }
}

/// Show a session
#[derive(Args)]
pub(crate) struct Show {
    /// The session
    #[arg(value_name = "ID")]
    id: String,
}

impl Show {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let id = SessionId::new(self.id);
        let session = context.store.session(&context.scope, &id).await?;
        context.out.record(&session.ok_or_else(|| Error::not_found("session", &id))?)
    }
}

/// Start a session, and print its id
#[derive(Args)]
pub(crate) struct Start {
    /// The model that speaks
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// The mode the agent runs in
    #[arg(long, value_name = "M")]
    mode: Option<String>,
    /// Its id, instead of a generated one
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

impl Start {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let mut session = NewSession::new();
        session.id = self.id.map(SessionId::new);
        session.model = self.model;
        session.mode = self.mode;
        let session = context.commit(Op::StartSession(session)).await?.into_session()?;
        context.out.created(&session)
    }
}

/// Set a session's summary
#[derive(Args)]
pub(crate) struct Summarize {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// The summary; all of stdin if it is `-`
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
}

impl Summarize {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let op = Op::SetSummary {
            session: self.session.into(),
            summary: Some(input::text(Some(self.text))?),
        };
        change(context, op).await
    }
}

/// End a session: no turn or step is recorded after that
#[derive(Args)]
pub(crate) struct End {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

impl End {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        change(context, Op::EndSession { session: self.session.into(), at: None }).await
    }
}

/// Open an ended session again
#[derive(Args)]
pub(crate) struct Resume {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
}

impl Resume {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        change(context, Op::ResumeSession { session: self.session.into() }).await
    }
}

async fn change(context: &mut Context, op: Op) -> Result<(), Failure> {
    let session = context.commit(op).await?.into_session()?;
    context.out.record(&session)
}

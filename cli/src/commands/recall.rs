use clap::{ArgGroup, Args, ValueEnum};
use memkeep::{DEFAULT_RECALL, Error, Hit, RecallQuery, Timestamp, recall};

use crate::{
    context::Context,
    failure::Failure,
    input,
    output::{Found, Named, View},
    parse,
};

/// Recall what fits a question best, ranked
#[derive(Args)]
#[command(group = ArgGroup::new("question").required(true).args(["query", "queries"]))]
pub(crate) struct Recall {
    /// The question: any text
    #[arg(value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    /// Read one JSON string a line from stdin; print one JSON array of hits a line
    #[arg(long, value_name = "-", value_parser = ["-"])]
    queries: Option<String>,
    /// At most so many hits
    #[arg(short, value_name = "K", allow_negative_numbers = true, default_value_t = DEFAULT_RECALL, value_parser = parse::count)]
    k: usize,
    /// What to search
    #[arg(long = "in", value_enum, default_value_t = Kind::Episodes)]
    kind: Kind,
    /// How to score [default: overlap for episodes, context for turns, bm25 for notes]
    #[arg(long, value_enum)]
    scorer: Option<Scorer>,
    /// Episodes: only open ones
    #[arg(long)]
    open: bool,
    /// Turns: only of this role
    #[arg(long, value_name = "R")]
    role: Option<String>,
    /// Turns: only those with this tag
    #[arg(long, value_name = "T")]
    tag: Option<String>,
    /// Only from this date or RFC 3339 time on
    #[arg(long, value_name = "TIME", value_parser = parse::time)]
    since: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Episodes,
    Turns,
    Notes,
}

#[derive(Clone, Copy, ValueEnum)]
enum Scorer {
    /// Distinct words in common
    Overlap,
    /// Okapi BM25 over stems
    Bm25,
    /// BM25 with evidence from neighbouring turns
    Context,
}

impl Recall {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        self.check()?;
        match self.kind {
            Kind::Episodes => {
                self.answer(context, async |context, query| context.store.recall(query).await).await
            }
            Kind::Turns => {
                self.answer(context, async |context, query| context.store.recall_turns(query).await)
                    .await
            }
            Kind::Notes => {
                self.answer(context, async |context, query| context.store.recall_notes(query).await)
                    .await
            }
        }
    }

    /// A filter that would be ignored is a mistake.
    fn check(&self) -> Result<(), Error> {
        let filters = [
            ("--open", self.open, Kind::Episodes, "episodes"),
            ("--role", self.role.is_some(), Kind::Turns, "turns"),
            ("--tag", self.tag.is_some(), Kind::Turns, "turns"),
        ];
        for (filter, given, kind, name) in filters {
            if given && self.kind != kind {
                return Err(Error::invalid(filter, format_args!("only with --in {name}")));
            }
        }
        Ok(())
    }

    fn query(&self, context: &Context, text: String) -> RecallQuery {
        let mut query = RecallQuery::new(text)
            .k(self.k)
            .scope(context.scope.clone())
            .open(self.open.then_some(true))
            .role(self.role.clone())
            .tag(self.tag.clone())
            .since(self.since);
        query.scorer = self.scorer.map(|scorer| match scorer {
            Scorer::Overlap => recall::Scorer::Overlap,
            Scorer::Bm25 => recall::Scorer::Bm25,
            Scorer::Context => recall::Scorer::Context,
        });
        query
    }

    async fn answer<T: Named>(
        self,
        context: &mut Context,
        ask: impl AsyncFn(&Context, &RecallQuery) -> memkeep::Result<Vec<Hit<T>>>,
    ) -> Result<(), Failure> {
        if let Some(text) = &self.query {
            let hits = ask(context, &self.query(context, text.clone())).await?;
            return context.out.rows(View::Table, &found(hits));
        }
        for value in input::values() {
            let (line, text) = value?;
            let hits = ask(context, &self.query(context, text))
                .await
                .map_err(|error| Failure::Input(input::at_line(&error, line)))?;
            context.out.json_line(&found(hits))?;
            // Who asks line by line may wait for this answer before the next question.
            context.out.flush()?;
        }
        Ok(())
    }
}

fn found<T: Named>(hits: Vec<Hit<T>>) -> Vec<Found<T>> {
    hits.into_iter().map(Found::from).collect()
}

use std::collections::BTreeMap;

use async_trait::async_trait;
use memkeep_core::{
    Batch, Error, ErrorKind, ListTurns, NewSession, NewTurn, Outcome, Result, Scope,
};

use super::object::Object;
use crate::{Handle, clauses::random::Random};

/// The turns of one session.
pub(crate) struct TurnIndexes;

/// The next index, and the turns by index: each is a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Turns {
    next: u64,
    there: BTreeMap<u64, u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Record(u64),
    /// Two turns in one batch.
    RecordTwo(u64),
    Delete(u64),
    List,
    Session,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Indexes(Vec<u64>),
    Existed(bool),
    Turns(Vec<(u64, u64)>),
    Counts { turns: u64, next: u64 },
}

/// The second turn of a batch has the number of the first and this.
const SECOND: u64 = 1 << 32;

impl Turns {
    fn record(&mut self, number: u64) -> u64 {
        self.there.insert(self.next, number);
        self.next += 1;
        self.next - 1
    }
}

#[async_trait]
impl Object for TurnIndexes {
    type State = Turns;
    type Call = Call;
    type Answer = Answer;

    fn start() -> Turns {
        Turns::default()
    }

    fn step(state: &Turns, call: &Call, answer: &Answer) -> Option<Turns> {
        let mut state = state.clone();
        let says = match *call {
            Call::Record(number) => Answer::Indexes(vec![state.record(number)]),
            Call::RecordTwo(number) => {
                Answer::Indexes(vec![state.record(number), state.record(number + SECOND)])
            }
            Call::Delete(number) => {
                let before = state.there.len();
                state.there.retain(|_, there| *there != number);
                Answer::Existed(state.there.len() < before)
            }
            Call::List => Answer::Turns(state.there.clone().into_iter().collect()),
            Call::Session => Answer::Counts { turns: state.there.len() as u64, next: state.next },
        };
        (says == *answer).then_some(state)
    }

    fn draw(random: &mut Random, number: u64, _: Option<&Answer>) -> Call {
        let some_before = random.below(usize::try_from(number).unwrap_or(0) + 1) as u64;
        match random.below(10) {
            0..=3 => Call::Record(number),
            4 => Call::RecordTwo(number),
            5 | 6 => Call::Delete(some_before),
            7 | 8 => Call::List,
            _ => Call::Session,
        }
    }

    async fn make(handle: &Handle, name: &str) -> Result<()> {
        let store = handle.sessions.as_deref().ok_or_else(lack)?;
        store.start_session(NewSession::new().id(name)).await.map(|_| ())
    }

    async fn call(handle: &Handle, name: &str, call: &Call) -> Result<Answer> {
        let store = handle.sessions.as_deref().ok_or_else(lack)?;
        let id = |number: u64| format!("{name}/{number}");
        let new = |number: u64| NewTurn::new(name, "user", number.to_string()).id(id(number));
        let index = |outcome: &Outcome| match outcome {
            Outcome::Turn(turn) => turn.index,
            _ => u64::MAX,
        };
        Ok(match *call {
            Call::Record(number) => {
                Answer::Indexes(vec![store.record_turn(new(number)).await?.index])
            }
            Call::RecordTwo(number) => {
                let batch = Batch::new().with(new(number)).with(new(number + SECOND));
                let outcomes = store.commit(batch).await?.outcomes;
                Answer::Indexes(outcomes.iter().map(index).collect())
            }
            Call::Delete(number) => {
                Answer::Existed(store.delete_turn(&id(number).into()).await?.existed)
            }
            Call::List => {
                let list = ListTurns::new(name).limit(usize::MAX);
                let turns = store.turns(&list).await?.items.into_iter();
                let turns = turns.map(|t| (t.index, t.content.parse().unwrap_or(u64::MAX)));
                Answer::Turns(turns.collect())
            }
            Call::Session => {
                let session = store.session(&Scope::All, &name.into()).await?;
                let session = session.ok_or_else(|| Error::not_found("session", name))?;
                Answer::Counts { turns: session.turn_count, next: session.next_turn }
            }
        })
    }
}

fn lack() -> Error {
    Error::new(ErrorKind::Unsupported, "the handle has no SessionStore")
}

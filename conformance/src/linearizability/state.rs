use async_trait::async_trait;
use memkeep_core::{
    Batch, DeleteState, Error, ErrorKind, Expected, ListStates, Outcome, PutState, Result,
    StateEntry,
};

use super::object::Object;
use crate::{Handle, clauses::random::Random};

/// Two state keys.
pub(crate) struct StateKeys;

const KEYS: [&str; 2] = ["a", "b"];

/// A value, and the version it has.
type Entry = Option<(u64, u64)>;

/// A key: its last version, and its value if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    version: u64,
    value: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) enum Call {
    Put { key: usize, value: u64, expected: Expected },
    PutBoth { value: u64 },
    Delete { key: usize },
    Get { key: usize },
    List,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Version(u64),
    Versions([u64; 2]),
    Conflict,
    Existed(bool),
    Entry(Entry),
    Entries([Entry; 2]),
}

impl Slot {
    fn entry(self) -> Entry {
        self.value.map(|value| (value, self.version))
    }

    fn put(&mut self, value: u64) -> u64 {
        self.version += 1;
        self.value = Some(value);
        self.version
    }

    fn fits(self, expected: Expected) -> bool {
        match expected {
            Expected::Any => true,
            Expected::Absent => self.value.is_none(),
            Expected::Version(version) => self.value.is_some() && self.version == version,
        }
    }
}

#[async_trait]
impl Object for StateKeys {
    type State = [Slot; 2];
    type Call = Call;
    type Answer = Answer;

    fn start() -> Self::State {
        Default::default()
    }

    fn step(state: &Self::State, call: &Call, answer: &Answer) -> Option<Self::State> {
        let mut state = *state;
        let says = match *call {
            Call::Put { key, expected, .. } if !state[key].fits(expected) => Answer::Conflict,
            Call::Put { key, value, .. } => Answer::Version(state[key].put(value)),
            Call::PutBoth { value } => {
                Answer::Versions(state.each_mut().map(|slot| slot.put(value)))
            }
            Call::Delete { key } => Answer::Existed(state[key].value.take().is_some()),
            Call::Get { key } => Answer::Entry(state[key].entry()),
            Call::List => Answer::Entries(state.map(Slot::entry)),
        };
        (says == *answer).then_some(state)
    }

    fn draw(random: &mut Random, number: u64, last: Option<&Answer>) -> Call {
        let key = random.below(2);
        let put = |expected| Call::Put { key, value: number, expected };
        let known = match last {
            Some(Answer::Version(version) | Answer::Entry(Some((_, version)))) => *version,
            _ => 1,
        };
        match random.below(10) {
            0 => put(Expected::Any),
            1 => put(Expected::Absent),
            2..=4 => put(Expected::Version(known)),
            5 => Call::PutBoth { value: number },
            6 => Call::Delete { key },
            7 | 8 => Call::Get { key },
            _ => Call::List,
        }
    }

    async fn make(_: &Handle, _: &str) -> Result<()> {
        Ok(())
    }

    async fn call(handle: &Handle, name: &str, call: &Call) -> Result<Answer> {
        let store = handle.reflective.as_deref().ok_or_else(lack)?;
        let put = |key: usize, value: u64| PutState::new(KEYS[key], value).workspace(name);
        Ok(match *call {
            Call::Put { key, value, expected } => {
                match store.put_state(put(key, value).expected(expected)).await {
                    Ok(entry) => Answer::Version(entry.version),
                    Err(error) if error.kind() == ErrorKind::Conflict => Answer::Conflict,
                    Err(error) => return Err(error),
                }
            }
            Call::PutBoth { value } => {
                let batch = Batch::new().with(put(0, value)).with(put(1, value));
                let version = |outcome: &Outcome| match outcome {
                    Outcome::State(entry) => entry.version,
                    _ => 0,
                };
                let outcomes = store.commit(batch).await?.outcomes;
                Answer::Versions([0, 1].map(|at| outcomes.get(at).map_or(0, version)))
            }
            Call::Delete { key } => {
                let delete = DeleteState::new(KEYS[key]).workspace(name);
                Answer::Existed(store.delete_state(delete).await?.existed)
            }
            Call::Get { key } => {
                Answer::Entry(store.state(&name.into(), KEYS[key]).await?.as_ref().map(shown))
            }
            Call::List => {
                let entries = store.states(&ListStates::new().scope(name)).await?.items;
                let of = |key| entries.iter().find(|entry| entry.key == key).map(shown);
                Answer::Entries(KEYS.map(of))
            }
        })
    }
}

fn shown(entry: &StateEntry) -> (u64, u64) {
    (entry.value.as_u64().unwrap_or(u64::MAX), entry.version)
}

fn lack() -> Error {
    Error::new(ErrorKind::Unsupported, "the handle has no ReflectiveStore")
}

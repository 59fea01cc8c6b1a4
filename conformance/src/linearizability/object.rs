use std::{fmt::Debug, hash::Hash};

use async_trait::async_trait;
use memkeep_core::Result;

use crate::{Handle, clauses::random::Random};

/// A part of a store, as it behaves when it is called once at a time.
#[async_trait]
pub(crate) trait Object: Send + Sync + 'static {
    /// What it holds.
    type State: Clone + Eq + Hash;
    /// What is asked of it.
    type Call: Clone + Debug + Send + Sync;
    /// What it says.
    type Answer: Clone + Debug + Send + Sync;

    /// What it holds at first.
    fn start() -> Self::State;

    /// What it holds after `call`, if it would say `answer` to it in `state`.
    fn step(state: &Self::State, call: &Self::Call, answer: &Self::Answer) -> Option<Self::State>;

    /// Some call. `number` is that of no other call of the history, and about as many numbers are
    /// lower as there were calls before. `last` is what the task was told last.
    fn draw(random: &mut Random, number: u64, last: Option<&Self::Answer>) -> Self::Call;

    /// Makes the object `name` in a store.
    async fn make(handle: &Handle, name: &str) -> Result<()>;

    /// Calls the object `name` of a store.
    async fn call(handle: &Handle, name: &str, call: &Self::Call) -> Result<Self::Answer>;
}

/// A call that was made, and when it began and ended: numbers that grow.
#[derive(Clone, Debug)]
pub(crate) struct Made<O: Object> {
    pub(super) call: O::Call,
    pub(super) answer: O::Answer,
    pub(super) began: u64,
    pub(super) ended: u64,
}

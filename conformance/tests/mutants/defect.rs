use std::{any::Any, future::Future, pin::Pin, sync::Arc};

use memkeep_core::{
    BackendInfo, Batch, Clock, Error, Feed, MemoryBackend, Op, Outcome, Receipt, Result, Session,
    StateSlot,
    decide::{Change, Loaded},
};
use serde_json::Value;

use crate::{broken::OneOp, shared_map::SharedMap};

pub(crate) type Store = Arc<dyn MemoryBackend>;
type Answer<A> = Pin<Box<dyn Future<Output = Result<A>> + Send>>;

// What a hook does is told from its type: calls are known by their argument and their answer.
pub(crate) struct Before<Q>(pub(crate) Box<dyn Fn(&mut Q) + Send + Sync>);
pub(crate) struct Instead<Q, A>(pub(crate) Box<dyn Fn(Store, Q) -> Answer<A> + Send + Sync>);
pub(crate) struct After<Q, A>(pub(crate) Box<dyn Fn(&Q, &mut Result<A>) + Send + Sync>);
pub(crate) struct OnLoad(pub(crate) Box<dyn Fn(&mut Loaded) + Send + Sync>);
pub(crate) struct OnChanges(pub(crate) Box<dyn Fn(&mut Vec<Change>) + Send + Sync>);
pub(crate) struct OnClock(pub(crate) Box<dyn Fn(Arc<dyn Clock>) -> Arc<dyn Clock> + Send + Sync>);
pub(crate) struct OnInfo(pub(crate) fn(&mut BackendInfo));
pub(crate) struct OnFeed(pub(crate) Box<dyn Fn(&Store) -> Result<Feed> + Send + Sync>);
pub(crate) struct OnOpen(pub(crate) Box<dyn Fn(&SharedMap) + Send + Sync>);

/// What a mutant does wrong: hooks around the calls of a sound backend, and inside its commit.
/// Made anew for each run of a clause; its handles share it.
#[derive(Default)]
pub(crate) struct Defect(Vec<Box<dyn Any + Send + Sync>>);

impl Defect {
    /// The hooks of one type.
    pub(crate) fn hooks<T: Any>(&self) -> impl Iterator<Item = &T> {
        self.0.iter().filter_map(|hook| hook.downcast_ref())
    }

    /// Goes on with `f`, where a macro adds hooks.
    pub(crate) fn pipe(self, f: impl FnOnce(Self) -> Self) -> Self {
        f(self)
    }

    fn with(mut self, hook: impl Any + Send + Sync) -> Self {
        self.0.push(Box::new(hook));
        self
    }

    /// Changes what is asked.
    pub(crate) fn before<Q: Any>(self, f: impl Fn(&mut Q) + Send + Sync + 'static) -> Self {
        self.with(Before(Box::new(f)))
    }

    /// Answers in the store's place.
    pub(crate) fn instead<Q: Any, A: Any, F>(
        self,
        f: impl Fn(Store, Q) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<A>> + Send + 'static,
    {
        self.with(Instead::<Q, A>(Box::new(move |store, query| Box::pin(f(store, query)))))
    }

    /// Changes what is answered, unless it is an error.
    pub(crate) fn after<Q: Any, A: Any>(
        self,
        f: impl Fn(&Q, &mut A) + Send + Sync + 'static,
    ) -> Self {
        self.result(move |query: &Q, result: &mut Result<A>| {
            if let Ok(answer) = result {
                f(query, answer);
            }
        })
    }

    /// Changes what is answered, errors included.
    pub(crate) fn result<Q: Any, A: Any>(
        self,
        f: impl Fn(&Q, &mut Result<A>) + Send + Sync + 'static,
    ) -> Self {
        self.with(After(Box::new(f)))
    }

    /// Changes each op of a batch.
    pub(crate) fn op(self, f: impl Fn(&mut Op) + Send + Sync + 'static) -> Self {
        self.before(move |batch: &mut Batch| batch.ops.iter_mut().for_each(&f))
    }

    /// Changes the op of each call that does one, other than `commit_one`.
    pub(crate) fn one_op(self, f: impl Fn(&mut Op) + Send + Sync + 'static) -> Self {
        self.before(move |one: &mut OneOp| f(&mut one.0))
    }

    /// Changes each outcome of a receipt.
    pub(crate) fn outcome(self, f: impl Fn(&mut Outcome) + Send + Sync + 'static) -> Self {
        self.after(move |_: &Batch, receipt: &mut Receipt| receipt.outcomes.iter_mut().for_each(&f))
    }

    /// Changes the fields of this name wherever they stand in a batch.
    pub(crate) fn field(
        self,
        name: &'static str,
        f: impl Fn(&mut Value) + Send + Sync + 'static,
    ) -> Self {
        self.before(move |batch: &mut Batch| {
            let mut json = serde_json::to_value(&*batch).unwrap();
            each_field(&mut json, name, &f);
            *batch = serde_json::from_value(json).unwrap();
        })
    }

    /// Changes the rows that a commit decides upon.
    pub(crate) fn load(self, f: impl Fn(&mut Loaded) + Send + Sync + 'static) -> Self {
        self.with(OnLoad(Box::new(f)))
    }

    /// Changes what a commit stores.
    pub(crate) fn changes(self, f: impl Fn(&mut Vec<Change>) + Send + Sync + 'static) -> Self {
        self.with(OnChanges(Box::new(f)))
    }

    /// Changes each row that a commit stores.
    pub(crate) fn change(self, f: impl Fn(&mut Change) + Send + Sync + 'static) -> Self {
        self.changes(move |changes| changes.iter_mut().for_each(&f))
    }

    /// Keeps from a commit's changes those that `f` is true of.
    pub(crate) fn keep(self, f: impl Fn(&Change) -> bool + Send + Sync + 'static) -> Self {
        self.changes(move |changes| changes.retain(&f))
    }

    /// Gives the store another clock.
    pub(crate) fn clock(
        self,
        f: impl Fn(Arc<dyn Clock>) -> Arc<dyn Clock> + Send + Sync + 'static,
    ) -> Self {
        self.with(OnClock(Box::new(f)))
    }

    /// Changes what the store says of itself.
    pub(crate) fn info(self, f: fn(&mut BackendInfo)) -> Self {
        self.with(OnInfo(f))
    }

    /// Subscribes in the store's place.
    pub(crate) fn feed(self, f: impl Fn(&Store) -> Result<Feed> + Send + Sync + 'static) -> Self {
        self.with(OnFeed(Box::new(f)))
    }

    /// Meddles with what is stored each time a place is opened, before the store is.
    pub(crate) fn open(self, f: impl Fn(&SharedMap) + Send + Sync + 'static) -> Self {
        self.with(OnOpen(Box::new(f)))
    }

    /// Changes the error of a refused commit.
    pub(crate) fn refusal(self, f: impl Fn(&Error) -> Error + Send + Sync + 'static) -> Self {
        self.result(move |_: &Batch, result: &mut Result<Receipt>| {
            if let Err(error) = result {
                *error = f(error);
            }
        })
    }

    /// Changes each row of sessions that a commit stores.
    pub(crate) fn session_rows(self, f: impl Fn(&mut Session) + Send + Sync + 'static) -> Self {
        self.change(move |change| {
            if let Change::PutSession(put) = change {
                f(&mut put.row.record);
            }
        })
    }

    /// Changes each row of state that a commit stores.
    pub(crate) fn state_rows(self, f: impl Fn(&mut StateSlot) + Send + Sync + 'static) -> Self {
        self.change(move |change| {
            if let Change::PutState(put) = change {
                f(&mut put.row);
            }
        })
    }
}

fn each_field(json: &mut Value, name: &str, f: &impl Fn(&mut Value)) {
    match json {
        Value::Object(fields) => fields.iter_mut().for_each(|(field, value)| {
            if field == name {
                f(value);
            } else {
                each_field(value, name, f);
            }
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| each_field(item, name, f)),
        _ => {}
    }
}

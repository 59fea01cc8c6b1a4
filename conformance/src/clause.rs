use std::{fmt, future::Future, pin::Pin};

use crate::{Case, Verdict};

/// One rule of the contract, and the test of it.
#[derive(Clone, Copy)]
pub struct Clause {
    /// Its stable id, such as `TURN-ORDER-02`. It also stands in the documentation of the traits.
    pub id: &'static str,
    /// The rule, in one sentence.
    pub rule: &'static str,
    /// The part of the contract it belongs to.
    pub part: Part,
    /// What the factory must be able to do.
    pub need: Need,
    pub(crate) test: Test,
}

impl fmt::Debug for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clause").field(&self.id).finish()
    }
}

pub(crate) type Test =
    for<'a> fn(&'a mut Case) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// The part of the contract that a clause belongs to: which traits it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// `EpisodicBackend`.
    Episodic,
    /// `SessionStore`.
    Sessions,
    /// `ReflectiveStore`.
    Reflective,
    /// `EpisodicBackend` and `ReflectiveStore` together: notes and the episodes they are drawn from.
    EpisodicReflective,
    /// Any of them: what holds of every `Backend`, whatever kinds of records it keeps.
    Any,
}

impl Part {
    /// Those that are one trait each.
    pub const SINGLE: [Self; 3] = [Self::Episodic, Self::Sessions, Self::Reflective];

    /// The part's name, as in the macro line: `episodic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Episodic => "episodic",
            Self::Sessions => "sessions",
            Self::Reflective => "reflective",
            Self::EpisodicReflective => "episodic_reflective",
            Self::Any => "any",
        }
    }

    /// The single parts that it takes.
    pub(crate) fn single(self) -> &'static [Self] {
        match self {
            Self::Episodic => &[Self::Episodic],
            Self::Sessions => &[Self::Sessions],
            Self::Reflective => &[Self::Reflective],
            Self::EpisodicReflective => &[Self::Episodic, Self::Reflective],
            Self::Any => &[],
        }
    }

    /// The trait of a single part.
    pub(crate) fn trait_name(self) -> &'static str {
        match self {
            Self::Episodic => "EpisodicBackend",
            Self::Sessions => "SessionStore",
            Self::Reflective => "ReflectiveStore",
            Self::EpisodicReflective | Self::Any => "Backend",
        }
    }
}

/// What a factory must be able to do for a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Open fresh stores.
    Fresh,
    /// See [`Abilities::reopen`](crate::Abilities::reopen).
    Reopen,
    /// See [`Abilities::second_handle`](crate::Abilities::second_handle).
    SecondHandle,
    /// See [`Abilities::kill`](crate::Abilities::kill).
    Kill,
    /// See [`Abilities::faults`](crate::Abilities::faults).
    Faults,
    /// See [`Abilities::damage`](crate::Abilities::damage).
    Damage,
    /// See [`Abilities::copy`](crate::Abilities::copy).
    Copy,
}

impl Need {
    /// Those that are an ability, which a factory may lack.
    pub const ABILITIES: [Self; 6] =
        [Self::Reopen, Self::SecondHandle, Self::Kill, Self::Faults, Self::Damage, Self::Copy];

    /// The need's name, as in the macro line: `second_handle`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Reopen => "reopen",
            Self::SecondHandle => "second_handle",
            Self::Kill => "kill",
            Self::Faults => "faults",
            Self::Damage => "damage",
            Self::Copy => "copy",
        }
    }
}

macro_rules! registry {
    ({} $($part:ident $need:ident $name:ident $id:literal $($path:ident)::+ $rule:literal;)*) => {
        /// All clauses, in the order of the report.
        pub const CLAUSES: &[Clause] = &[$(Clause {
            id: $id,
            rule: $rule,
            part: $crate::clause::part!($part),
            need: $crate::clause::need!($need),
            test: |case| Box::pin($crate::clauses::$($path)::+(case)),
        }),*];
    };
}

macro_rules! part {
    (episodic) => {
        Part::Episodic
    };
    (sessions) => {
        Part::Sessions
    };
    (reflective) => {
        Part::Reflective
    };
    (episodic_reflective) => {
        Part::EpisodicReflective
    };
    (any) => {
        Part::Any
    };
}
pub(crate) use part;

macro_rules! need {
    (fresh) => {
        Need::Fresh
    };
    (reopen) => {
        Need::Reopen
    };
    (second_handle) => {
        Need::SecondHandle
    };
    (kill) => {
        Need::Kill
    };
    (faults) => {
        Need::Faults
    };
    (damage) => {
        Need::Damage
    };
    (copy) => {
        Need::Copy
    };
}
pub(crate) use need;

crate::__memkeep_clauses!(registry, {});

#![doc = include_str!("../README.md")]

mod call;
mod case;
mod child;
mod clause;
mod clauses;
mod crash;
mod damage;
mod factory;
mod failure;
mod handle;
mod linearizability;
mod macro_line;
mod model;
mod one_op;
mod place;
mod record;
mod repeats;
mod report;
mod run;
mod suite;
mod table;

pub use case::Case;
pub use clause::{CLAUSES, Clause, Need, Part};
pub use damage::Damage;
pub use factory::{Abilities, Factory};
pub use failure::{Failure, Verdict};
pub use handle::Handle;
pub use place::Place;
pub use record::{Log, from_json};
pub use report::{Level, Matrix, Outcome, Report, run_all};
pub use run::{run_clause, run_clause_by_id};

/// What the macros need and nobody else.
#[doc(hidden)]
pub mod __private {
    pub use crate::{
        child::child,
        factory::Site,
        macro_line::{MacroLine, lacks},
        report::{expect_suite, run_suite},
        run::run_on_site,
    };
}

//! Running all clauses at once, for a report instead of a test run.

mod level;
mod matrix;
mod outcome;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde::{Serialize, Serializer, ser::SerializeStruct};

pub use level::Level;
pub use matrix::Matrix;
pub use outcome::Outcome;

use crate::{
    CLAUSES, Clause, Factory, Handle, Need, Part,
    factory::Site,
    macro_line::{Lack, MacroLine},
    run::run_on_site,
};

/// What every clause came to on one backend.
#[derive(Clone, Debug)]
pub struct Report {
    /// The backend's name, as its `info` has it.
    pub backend: String,
    /// The clauses in the order of [`CLAUSES`], each with its outcome.
    pub results: Vec<(Clause, Outcome)>,
}

impl Report {
    /// Whether the backend may call itself so: every clause of the level ran and passed, and there
    /// was at least one.
    pub fn grants(&self, level: Level) -> bool {
        let of_level = || self.results.iter().filter(|(clause, _)| level.includes(clause.part));
        // What holds of every backend makes none of them a store of sessions.
        of_level().any(|(clause, _)| clause.part != Part::Any)
            && of_level().all(|(_, outcome)| *outcome == Outcome::Passed)
    }

    /// What did not run, by id, and why.
    pub fn gaps(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.results.iter().filter_map(|(clause, outcome)| match outcome {
            Outcome::Gap(reason) => Some((clause.id, reason.as_str())),
            _ => None,
        })
    }

    /// What failed, by id, with the whole text of the failure.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.results.iter().filter_map(|(clause, outcome)| match outcome {
            Outcome::Failed(text) => Some((clause.id, text.as_str())),
            _ => None,
        })
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Row<'a> {
            id: &'a str,
            rule: &'a str,
            part: Part,
            need: Need,
            #[serde(flatten)]
            outcome: &'a Outcome,
        }
        let row = |(clause, outcome): &'_ (Clause, Outcome)| {
            let Clause { id, rule, part, need, .. } = *clause;
            serde_json::to_value(Row { id, rule, part, need, outcome })
        };
        let clauses = self.results.iter().map(row).collect::<Result<Vec<_>, _>>();
        let clauses = clauses.map_err(serde::ser::Error::custom)?;
        let levels: Vec<Level> = Level::ALL.into_iter().filter(|l| self.grants(*l)).collect();
        let mut report = serializer.serialize_struct("Report", 3)?;
        report.serialize_field("backend", &self.backend)?;
        report.serialize_field("levels", &levels)?;
        report.serialize_field("clauses", &clauses)?;
        report.end()
    }
}

/// Runs every clause. What the factory cannot do is a gap.
///
/// A program that makes a report of the factory in a `suite!` line calls `conformance::report()`
/// instead: the module that the macro writes knows the reasons, and how to start the process that
/// the crash clauses kill.
// A caller has no other use for it.
#[allow(clippy::needless_pass_by_value)]
pub fn run_all(factory: Arc<dyn Factory>) -> Report {
    run_suite(&factory, &Site::default(), &MacroLine::SUITE)
}

/// Runs every clause with the child of `site`, and gives the lacks of `line` as the reasons of gaps.
#[doc(hidden)]
pub fn run_suite(factory: &Arc<dyn Factory>, site: &Site, line: &MacroLine) -> Report {
    report_by(factory, site, line, |clause| {
        run_on_site(factory.clone(), site, clause)
            .map_or_else(Outcome::Failed, |()| Outcome::Passed)
    })
}

/// What [`run_suite`] says if no clause fails: only what cannot be run is looked for.
#[doc(hidden)]
pub fn expect_suite(factory: &Arc<dyn Factory>, site: &Site, line: &MacroLine) -> Report {
    report_by(factory, site, line, |_| Outcome::Passed)
}

fn report_by(
    factory: &Arc<dyn Factory>,
    site: &Site,
    line: &MacroLine,
    run: impl Fn(&Clause) -> Outcome + Sync,
) -> Report {
    let handle = match Handle::of_fresh_store(factory) {
        Ok(handle) => handle,
        Err(text) => {
            let outcome = Outcome::Failed(text);
            let results = CLAUSES.iter().map(|clause| (*clause, outcome.clone())).collect();
            return Report { backend: "unknown".to_owned(), results };
        }
    };
    let backend = handle.backend.info().name.to_owned();
    let outcome = |clause: &Clause| match gap(&**factory, site, &handle, line, clause) {
        Some(reason) => Outcome::Gap(reason),
        None => run(clause),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(clause) = CLAUSES.get(at) else { return done };
            done.push((at, (*clause, outcome(clause))));
        }
    };
    let mut results = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        // A clause's own panic is its failure; none is left to reach a worker.
        workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    results.sort_by_key(|(at, _)| *at);
    Report { backend, results: results.into_iter().map(|(_, result)| result).collect() }
}

/// Why a clause cannot be run.
fn gap(
    factory: &dyn Factory,
    site: &Site,
    handle: &Handle,
    line: &MacroLine,
    clause: &Clause,
) -> Option<String> {
    let there = handle.parts();
    if let Some(part) = clause.part.single().iter().find(|part| !there.contains(part)) {
        let reason = line.reason(Lack::Part(*part)).unwrap_or("the handle has none");
        return Some(format!("{}: {reason}", part.as_str()));
    }
    if !factory.abilities().include(clause.need) {
        let reason = line.reason(Lack::Need(clause.need)).unwrap_or("the factory cannot");
        return Some(format!("{}: {reason}", clause.need.as_str()));
    }
    (clause.need == Need::Kill && site.binary.is_none())
        .then(|| "kill: only `conformance::report()` can start the process".to_owned())
}

#[cfg(test)]
mod tests;

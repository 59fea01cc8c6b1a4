//! The proof that the suite is worth something: backends with one defect each, every one of which
//! must fail the clauses that are meant to find it, and which between them leave no clause out.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "what some mutants do wrong"
)]
#![allow(
    clippy::collapsible_if,
    clippy::match_same_arms,
    clippy::needless_for_each,
    clippy::redundant_closure_for_method_calls,
    clippy::semicolon_if_nothing_returned,
    clippy::type_complexity,
    reason = "a mutant is a few lines, each of one shape"
)]

mod broken;
mod defect;
mod engine;
mod mutant;
mod mutants;
mod shared_map;

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use memkeep_conformance::{
    __private::{self, Site},
    Abilities, CLAUSES, Clause, Factory, Handle, Need, Place,
};
use memkeep_core::{Clock, Result};

use mutant::{Breaking, Mutant};

/// Where the process begins that the crash clauses kill: the mutant that its parent is.
#[test]
fn child() {
    __private::child(Arc::new(LikeParent));
}

struct LikeParent;

#[async_trait]
impl Factory for LikeParent {
    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Result<Handle> {
        let name = fs::read_to_string(mutant::name_file(place)).unwrap_or_default();
        let mutant = mutants::all().find(|mutant| mutant.name == name);
        Breaking::new(mutant, Need::Kill).open(place, clock).await
    }

    fn abilities(&self) -> Abilities {
        Breaking::new(None, Need::Kill).abilities()
    }
}

/// What is run: a clause, on a mutant that it must find or on the sound backend.
struct Run {
    clause: &'static Clause,
    mutant: Option<&'static Mutant>,
}

impl Run {
    /// What is wrong, if something is.
    fn complaint(&self) -> Option<String> {
        let Self { clause, mutant } = self;
        let factory = Arc::new(Breaking::new(*mutant, clause.need));
        let site = Site::here(concat!(module_path!(), "::child"));
        match (mutant, __private::run_on_site(factory, &site, clause)) {
            (None, Ok(())) => None,
            (None, Err(text)) => Some(format!("The sound backend fails.\n{text}")),
            (Some(mutant), Ok(())) => Some(format!("{} lets live: {}", clause.id, mutant.name)),
            (Some(mutant), Err(text)) if text.contains("the factory opens a fresh store") => {
                Some(format!("{} was not run on: {}\n{text}", clause.id, mutant.name))
            }
            (Some(_), Err(_)) => None,
        }
    }
}

#[test]
fn every_mutant_is_killed_and_every_clause_kills() {
    let only = std::env::var("MEMKEEP_MUTANTS").unwrap_or_default();
    let asked = |text: &str| text.contains(&only);
    let clause = |id: &str| CLAUSES.iter().find(|clause| clause.id == id);

    let mut complaints = Vec::new();
    let (mut runs, mut mutants, mut names) = (Vec::new(), 0, BTreeSet::new());
    for mutant in mutants::all() {
        if !names.insert(mutant.name) || mutant.kills.is_empty() {
            complaints.push(format!("of two mutants or for no clause: {}", mutant.name));
        }
        let meant = |id: &&&str| asked(id) || asked(mutant.name);
        let before = runs.len();
        for id in mutant.kills.iter().filter(meant) {
            match clause(id) {
                Some(clause) => runs.push(Run { clause, mutant: Some(mutant) }),
                None => complaints.push(format!("{id} is no clause: {}", mutant.name)),
            }
        }
        mutants += usize::from(runs.len() > before);
    }
    for clause in CLAUSES.iter().filter(|clause| asked(clause.id)) {
        if !runs.iter().any(|run| run.clause.id == clause.id) {
            complaints.push(format!("{} kills no mutant", clause.id));
        }
        runs.push(Run { clause, mutant: None });
    }

    let (found, slow) = run_all(&runs);
    let failed = |of: &dyn Fn(&Run) -> bool| -> BTreeSet<&str> {
        found.iter().map(|(run, _)| *run).filter(|run| of(run)).map(|r| r.clause.id).collect()
    };
    let alive: BTreeSet<&str> =
        found.iter().filter_map(|(run, _)| run.mutant.map(|mutant| mutant.name)).collect();
    let unproved = failed(&|_| true);
    complaints.extend(found.iter().map(|(_, complaint)| complaint.clone()));

    let clauses: BTreeSet<&str> = runs.iter().map(|run| run.clause.id).collect();
    let killing: BTreeSet<&str> =
        runs.iter().filter(|run| run.mutant.is_some()).map(|run| run.clause.id).collect();
    let proved = killing.difference(&unproved).count();
    for (took, what) in slow {
        say(&format!("{took:>6.1?} {what}"));
    }
    say(&format!(
        "mutants killed: {} of {mutants}; clauses proved: {proved} of {}",
        mutants - alive.len(),
        clauses.len(),
    ));
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n\n"));
}

/// Past the test harness, which shows what a test prints only if it fails.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

type Complaints<'r> = Vec<(&'r Run, String)>;

/// The complaints, and the runs that took longest.
fn run_all(runs: &[Run]) -> (Complaints<'_>, Vec<(Duration, String)>) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(at) else { return done };
            let began = Instant::now();
            done.push((run, run.complaint(), began.elapsed()));
        }
    };
    // Mutants that panic are expected to; what they say then would bury the rest.
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let done: Vec<_> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(2, |n| n.get() + 1);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    std::panic::set_hook(loud);

    let mut slow: Vec<_> = done
        .iter()
        .map(|(run, _, took)| (*took, format!("{} {}", run.clause.id, name(run.mutant))))
        .filter(|(took, _)| *took > Duration::from_secs(3))
        .collect();
    slow.sort();
    (done.into_iter().filter_map(|(run, complaint, _)| Some((run, complaint?))).collect(), slow)
}

fn name(mutant: Option<&Mutant>) -> &str {
    mutant.map_or("(sound)", |mutant| mutant.name)
}

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use memkeep_core::Error;

use crate::{CLAUSES, Case, Clause, Factory, Failure, Log, Verdict, factory::Site, repeats};

/// Stands above the calls.
const FRAME: &str =
    "// The calls. To run them, paste them into the frame that docs/run-the-suite.md shows.\n";

/// Runs one clause on a fresh store; the text of what failed, with everything needed to see why.
///
/// `MEMKEEP_SEED` repeats a run that drew random numbers.
pub fn run_clause(factory: Arc<dyn Factory>, clause: &Clause) -> Result<(), String> {
    run_on_site(factory, &Site::default(), clause)
}

/// Runs one clause, which may start the child of `site`; see [`run_clause`].
#[doc(hidden)]
pub fn run_on_site(factory: Arc<dyn Factory>, site: &Site, clause: &Clause) -> Result<(), String> {
    let seed = seed();
    let log = Log::default();
    let name = clause.id;
    let test = site.test(name);
    let failed = |failure: Failure| {
        let Failure { expected, actual } = failure;
        format!(
            "{name}: {rule}\n\nexpected  {expected}\n  actual  {actual}\n\nagain: MEMKEEP_SEED={seed} cargo test {test}\n\n{FRAME}{program}",
            rule = clause.rule,
            program = log.program(),
        )
    };
    verdict(factory, site, clause, seed, &log).map_err(failed)
}

fn verdict(
    factory: Arc<dyn Factory>,
    site: &Site,
    clause: &Clause,
    seed: u64,
    log: &Log,
) -> Verdict {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Failure::new("a runtime", e.to_string()))?;
    let (site, log) = (site.clone(), log.clone());
    let patience = factory.patience() * repeats::patience();
    let (part, test) = (clause.part, clause.test);
    let run = async move {
        let open = |e: Error| Failure::new("the factory opens a fresh store", format!("{e:?}"));
        let mut case = Case::new(factory, site, seed, log).await.map_err(open)?;
        case.has(part)?;
        let verdict = test(&mut case).await;
        if verdict.is_err() {
            case.log.close();
        }
        let destroyed = case.destroy().await;
        verdict?;
        destroyed.map_err(Into::into)
    };
    let run = async { tokio::time::timeout(patience, run).await };
    // A panic of a backend is a failure of the clause like any other.
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| runtime.block_on(run)));
    runtime.shutdown_background();
    match result {
        Ok(Ok(verdict)) => verdict,
        Ok(Err(_)) => Err(Failure::new("an answer in time", format!("none after {patience:?}"))),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()));
            Err(Failure::new("no panic", message.unwrap_or_default()))
        }
    }
}

fn seed() -> u64 {
    if let Some(given) = repeats::variable_set("MEMKEEP_SEED") {
        // Another seed would repeat another run.
        return given.parse().unwrap_or_else(|_| panic!("MEMKEEP_SEED is {given:?}, not a seed"));
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ since.as_secs()
}

/// Runs the clause with this id; for the tests that the macros write.
#[doc(hidden)]
pub fn run_clause_by_id(factory: Arc<dyn Factory>, site: &Site, id: &str) {
    let clause = CLAUSES.iter().find(|clause| clause.id == id);
    let clause = clause.unwrap_or_else(|| panic!("no such clause: {id}"));
    if let Err(text) = run_on_site(factory, site, clause) {
        panic!("{text}");
    }
}

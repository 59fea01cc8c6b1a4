use std::{cell::RefCell, sync::Arc, time::Duration};

use memkeep_core::RecordKind;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use tokio::runtime::Handle;

use super::{
    command::{Command, Program},
    play::play,
    regressions, strategy,
};
use crate::{Case, Factory, Failure, Log, Verdict, factory::Site, repeats};

/// How many programs are tried in search of a shorter one that fails too.
const SHRINKS: u32 = 1_000;
/// A program that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What programs do beyond commits and reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beyond {
    /// Nothing.
    Nothing,
    /// They reopen the store.
    Reopening,
    /// They use a second handle.
    SecondHandle,
}

/// Runs the regressions, then random programs, each on a fresh store, and compares the store with
/// the model. The first that fails is made as short as possible; its calls are those that the
/// failure shows.
pub(crate) async fn check(case: &mut Case, beyond: Beyond) -> Verdict {
    let kinds = case.backend().info().kinds;
    let stores =
        Stores { factory: Arc::clone(&case.factory), site: case.site.clone(), seed: case.seed };
    let mut failed = regression(&stores, &kinds, beyond).await?;
    if failed.is_none() {
        // proptest's values cannot be sent between threads: they get one for themselves.
        let runtime = Handle::current();
        let random = move || random(&stores, &kinds, beyond, &runtime);
        let ended = tokio::task::spawn_blocking(random).await;
        failed = ended.map_err(|e| Failure::new("random programs", e.to_string()))??;
    }
    let Some((Failed { failure, log, program }, of)) = failed else { return Ok(()) };
    case.log.replace(&log);
    let json = serde_json::to_string(&program).unwrap_or_default();
    case.log.note(&format!("// {of}; as a file for conformance/regressions:\n// {json}"));
    Err(failure)
}

/// A program that failed.
struct Failed {
    failure: Failure,
    log: Log,
    /// As far as it came, without what was not done because it named nothing.
    program: Program,
}

async fn regression(
    stores: &Stores,
    kinds: &[RecordKind],
    beyond: Beyond,
) -> Result<Option<(Failed, String)>, Failure> {
    for (name, program) in regressions::all()? {
        if fits(&program, kinds, beyond)
            && let Err(failed) = stores.run(&program).await
        {
            return Ok(Some((failed, format!("{name}.json"))));
        }
    }
    Ok(None)
}

fn random(
    stores: &Stores,
    kinds: &[RecordKind],
    beyond: Beyond,
    runtime: &Handle,
) -> Result<Option<(Failed, String)>, Failure> {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&stores.seed.to_le_bytes());
    let config = Config {
        cases: repeats::cases(),
        max_shrink_iters: SHRINKS,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, rng);
    // Of the programs that fail, proptest settles for the last.
    let last = RefCell::new(None);
    let ran = runner.run(&strategy::program(kinds, beyond), |program| {
        runtime.block_on(stores.run(&program)).map_err(|failed| {
            last.replace(Some(failed));
            TestCaseError::fail("the store does otherwise")
        })
    });
    match (ran, last.into_inner()) {
        (Ok(()), _) => Ok(None),
        (Err(TestError::Fail(..)), Some(failed)) => {
            Ok(Some((failed, "a random program, shrunk".to_owned())))
        }
        (Err(error), _) => Err(Failure::new("random programs", error.to_string())),
    }
}

/// What fresh stores are made with.
struct Stores {
    factory: Arc<dyn Factory>,
    site: Site,
    seed: u64,
}

impl Stores {
    /// Runs a program on a fresh store, in a task of its own: a panic is a failure like any other.
    async fn run(&self, program: &Program) -> Result<(), Failed> {
        let log = Log::default();
        let (factory, site, seed) = (Arc::clone(&self.factory), self.site.clone(), self.seed);
        let (inner, played) = (log.clone(), program.clone());
        let play = async move {
            let opened = Case::new(factory, site, seed, inner).await;
            let mut case = opened.map_err(|error| (error.into(), played.clone()))?;
            let verdict = play(&mut case, &played).await;
            if verdict.is_err() {
                case.log.close();
            }
            let destroyed = case.destroy().await;
            verdict?;
            destroyed.map_err(|error| (error.into(), played))
        };
        let (failure, program) = match tokio::spawn(tokio::time::timeout(PATIENCE, play)).await {
            Ok(Ok(Ok(()))) => return Ok(()),
            Ok(Ok(Err(failed))) => failed,
            Ok(Err(_)) => {
                let failure = Failure::new("an answer in time", format!("none after {PATIENCE:?}"));
                (failure, program.clone())
            }
            Err(panic) => (Failure::new("no panic", panic.to_string()), program.clone()),
        };
        Err(Failed { failure, log, program })
    }
}

/// Whether a store of these kinds can run the program as it is.
fn fits(program: &Program, kinds: &[RecordKind], beyond: Beyond) -> bool {
    let all = RecordKind::ALL.iter().all(|kind| kinds.contains(kind));
    all && program.steps.iter().all(|step| match step.command {
        Command::Reopen => beyond == Beyond::Reopening,
        _ => !step.second || beyond == Beyond::SecondHandle,
    })
}

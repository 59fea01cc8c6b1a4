//! The process that the crash clauses kill.

use std::{
    io::{Read as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use memkeep_core::{
    Batch, NewAudit, NewEpisode, NewNote, NewSession, NewStep, NewTurn, Op, PutState, RecordKind,
    Result, SystemClock,
};
use serde_json::json;

use crate::{Factory, Handle, Place};

/// Where the folder of the store stands that a child is to write to. Without it this is no child.
pub(crate) const FOLDER: &str = "MEMKEEP_CONFORMANCE_CHILD";
/// Where the name of the store's place stands.
pub(crate) const NAME: &str = "MEMKEEP_CONFORMANCE_CHILD_NAME";
/// Where the number of the first batch stands.
pub(crate) const FIRST: &str = "MEMKEEP_CONFORMANCE_CHILD_FIRST";

/// A line of the child: this, the number of a batch that was acknowledged, and [`END`]. A line that
/// the kill cut short does not end so.
pub(crate) const ACKNOWLEDGED: &str = "memkeep-acknowledged ";
/// How a line ends.
pub(crate) const END: &str = " .";
/// A line of the child: this, and what failed.
pub(crate) const FAILED: &str = "memkeep-failed ";

/// How many tasks commit at once: so many batches can be on their way at the kill.
pub(crate) const TASKS: usize = 3;
/// The session that all batches add to.
pub(crate) const SESSION: &str = "shared";

/// Runs the child, if this process is one; it ends by being killed.
pub fn child(factory: Arc<dyn Factory>) {
    let (Some(folder), Ok(name)) = (std::env::var_os(FOLDER), std::env::var(NAME)) else {
        return;
    };
    // The parent holds the other end as long as it lives.
    thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(1);
    });
    let place = Place::of_parent(Path::new(&folder), name);
    let first = std::env::var(FIRST).ok().and_then(|first| first.parse().ok()).unwrap_or(0);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let ended = match runtime {
        Ok(runtime) => match runtime.block_on(write(factory, &place, first)) {
            Ok(()) => "it ended by itself".to_owned(),
            Err(error) => format!("{error:?}"),
        },
        Err(error) => error.to_string(),
    };
    say(&format!("{FAILED}{ended}"));
    std::process::exit(1);
}

/// Commits batches until the first error.
async fn write(factory: Arc<dyn Factory>, place: &Place, first: u64) -> Result<()> {
    let store = factory.open(place, Arc::new(SystemClock)).await?;
    let number = Arc::new(AtomicU64::new(first));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..TASKS {
        tasks.spawn(task(store.clone(), Arc::clone(&number)));
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap_or(Ok(()))?;
    }
    Ok(())
}

async fn task(store: Handle, numbers: Arc<AtomicU64>) -> Result<()> {
    let kinds = store.backend.info().kinds;
    let mut previous = None;
    loop {
        let number = numbers.fetch_add(1, Ordering::SeqCst);
        store.backend.commit(batch(number, previous, &kinds)).await?;
        say(&format!("{ACKNOWLEDGED}{number}{END}"));
        previous = Some(number);
    }
}

/// Past the capture of test output, which is not read while the test runs.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Who cannot be told has gone, and then so does this process.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// The batch of this number: records of all kinds, each with the number in its id, and the deletion
/// of the note of the `previous` batch of the same task.
fn batch(number: u64, previous: Option<u64>, kinds: &[RecordKind]) -> Batch {
    let has = |kind| kinds.contains(&kind);
    let mut batch = Batch::new();
    if has(RecordKind::Session) {
        batch.push(Op::EnsureSession(NewSession::new().id(SESSION)));
    }
    if has(RecordKind::Turn) {
        let turn =
            |half| NewTurn::new(SESSION, "user", "text ".repeat(40)).id(format!("{number}-{half}"));
        batch.push(turn(0).tokens(1));
        batch.push(turn(1).tokens(1));
    }
    if has(RecordKind::Step) {
        batch.push(NewStep::new(SESSION, "plan", "success").id(number.to_string()));
    }
    if has(RecordKind::Episode) {
        batch.push(NewEpisode::new("problem", "summary").id(number.to_string()));
    }
    if has(RecordKind::Note) {
        let mut note = NewNote::new("lesson").id(number.to_string());
        if has(RecordKind::Episode) {
            note = note.sources([number.to_string().into()]);
        }
        batch.push(note);
    }
    if has(RecordKind::State) {
        batch.push(PutState::new(number.to_string(), json!({ "previous": previous })));
        if let Some(previous) = previous.filter(|_| has(RecordKind::Note)) {
            batch.push(Op::DeleteNote { note: previous.to_string().into() });
        }
    }
    if has(RecordKind::Audit) {
        batch.push(NewAudit::new("run", "allow").id(number.to_string()));
    }
    batch
}

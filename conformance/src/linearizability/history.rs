use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{
    checker,
    object::{Made, Object},
};
use crate::{Case, Failure, Handle, Verdict, clauses::random::Random, repeats};

/// How many tasks call at once, and how often each.
const TASKS: u64 = 5;
const CALLS: u64 = 12;

/// Makes histories of concurrent calls of an object and checks each; the tasks take the handles in
/// turn.
pub(crate) async fn check_histories<O: Object>(case: &Case, handles: &[Handle]) -> Verdict {
    for number in 0..u64::from(repeats::histories()) {
        let name = format!("history-{number}");
        let history = record::<O>(case.seed ^ number, handles, &name).await?;
        checker::check(&history).map_err(|why| {
            let expected = format!("an order of the concurrent calls ({name}) that explains all");
            Failure::new(expected, why)
        })?;
    }
    Ok(())
}

/// Written down while the calls go on.
struct Recorder<O: Object> {
    instant: AtomicU64,
    number: AtomicU64,
    made: Mutex<Vec<Made<O>>>,
}

async fn record<O: Object>(
    seed: u64,
    handles: &[Handle],
    name: &str,
) -> Result<Vec<Made<O>>, Failure> {
    O::make(&handles[0], name).await?;
    let recorder = Arc::new(Recorder::<O> {
        instant: AtomicU64::new(0),
        number: AtomicU64::new(0),
        made: Mutex::default(),
    });
    let mut tasks = Vec::new();
    for (task, handle) in (0..TASKS).zip(handles.iter().cycle().cloned()) {
        let random = Random::new(seed.wrapping_mul(TASKS).wrapping_add(task));
        let (recorder, name) = (Arc::clone(&recorder), name.to_owned());
        tasks.push(tokio::spawn(async move { recorder.task(random, &handle, &name).await }));
    }
    for task in tasks {
        task.await.map_err(|e| Failure::new("no panic", e.to_string()))??;
    }
    let mut made = recorder.made.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *made))
}

impl<O: Object> Recorder<O> {
    async fn task(&self, mut random: Random, handle: &Handle, name: &str) -> Verdict {
        let mut last = None;
        for _ in 0..CALLS {
            let number = self.number.fetch_add(1, Ordering::SeqCst);
            let call = O::draw(&mut random, number, last.as_ref());
            let began = self.instant.fetch_add(1, Ordering::SeqCst);
            let answer = O::call(handle, name, &call).await?;
            let ended = self.instant.fetch_add(1, Ordering::SeqCst);
            last = Some(answer.clone());
            let made = Made { call, answer, began, ended };
            self.made.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        }
        Ok(())
    }
}

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use super::{
    Engine, Reader,
    tender::{Due, Tender},
};
use crate::{Error, ErrorKind, Result, Timestamp};

/// A thread that works out what keeps the recall indexes in step and in shape, while the writer writes:
/// one answer for each time it is asked.
pub(super) struct Background {
    /// None once it is to end.
    asks: Option<mpsc::Sender<Ask>>,
    answers: mpsc::Receiver<Result<Vec<Due>>>,
    is_asked: bool,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is asked for: the next steps over the state that the store is in then.
pub(super) struct Ask {
    pub(super) now: Timestamp,
    /// Whether nothing else is waiting to be done.
    pub(super) is_idle: bool,
    /// Whether something was committed since it was last asked.
    pub(super) has_committed: bool,
    /// Whether what it answered was not all written.
    pub(super) is_lost: bool,
}

impl Background {
    /// Starts the thread, which calls `wake` after each answer.
    pub(super) fn start<E: Engine>(
        engine: Arc<E>,
        mut tender: Tender,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self> {
        let (asks, asked) = mpsc::channel::<Ask>();
        let (answer, answers) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let run = move || {
            let mut reader = None;
            for ask in asked {
                if answer.send(work(&*engine, &mut reader, &mut tender, &ask, &over)).is_err() {
                    break;
                }
                wake();
            }
        };
        let thread = thread::Builder::new().name("memkeep-indexer".to_owned()).spawn(run);
        let thread = thread
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no indexer thread").caused_by(e))?;
        let (asks, thread) = (Some(asks), Some(thread));
        Ok(Self { asks, answers, is_asked: false, is_over, thread })
    }

    /// Whether an answer is still to come.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        // It ends before it is told to only if it panicked.
        self.is_asked = self.asks.as_ref().is_some_and(|asks| asks.send(ask).is_ok());
    }

    /// The answer, if it is there; `waits` for it.
    pub(super) fn answer(&mut self, waits: bool) -> Option<Result<Vec<Due>>> {
        if !self.is_asked {
            return None;
        }
        let answer = match self.answers.try_recv() {
            Err(mpsc::TryRecvError::Empty) if waits => self.answers.recv().ok(),
            Err(mpsc::TryRecvError::Empty) => return None,
            answer => answer.ok(),
        };
        self.is_asked = false;
        answer
    }
}

impl Drop for Background {
    /// Lets go of the engine.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

fn work<E: Engine>(
    engine: &E,
    reader: &mut Option<E::Reader>,
    tender: &mut Tender,
    ask: &Ask,
    is_over: &AtomicBool,
) -> Result<Vec<Due>> {
    if ask.is_lost {
        tender.reset();
    }
    if ask.has_committed {
        tender.has_committed();
    }
    let reader = match reader {
        Some(reader) => reader,
        None => reader.insert(engine.reader()?),
    };
    let mut steps = Vec::new();
    reader.snapshot(&mut |view| {
        steps = tender.steps(view, ask.now, ask.is_idle, is_over)?;
        Ok(())
    })?;
    Ok(steps)
}

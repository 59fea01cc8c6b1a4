use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
};

use super::{
    Engine, Reader,
    tender::{Due, Tender, Urge},
};
use crate::{Error, ErrorKind, Result, Timestamp};

/// A thread that works out what keeps the recall indexes in step and in shape, while the writer writes:
/// one answer for each time it is asked.
pub(super) struct Background {
    /// None once it is to end.
    asks: Option<mpsc::Sender<Ask>>,
    answers: mpsc::Receiver<Result<Vec<Due>>>,
    is_asked: bool,
    /// What is to be told with the next question.
    has_committed: bool,
    is_lost: bool,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What is asked for: the next steps over the state that the store is in then.
struct Ask {
    now: Timestamp,
    urge: Urge,
    /// Whether something was committed since it was last asked.
    has_committed: bool,
    /// Whether what it answered was not all written.
    is_lost: bool,
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
        Ok(Self {
            asks,
            answers,
            is_asked: false,
            has_committed: false,
            is_lost: false,
            is_over,
            thread,
        })
    }

    /// Whether an answer is still to come.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether something was committed since it was last asked.
    pub(super) fn has_committed(&self) -> bool {
        self.has_committed
    }

    /// Something was committed.
    pub(super) fn note_commit(&mut self) {
        self.has_committed = true;
    }

    /// Not all that it answered was written.
    pub(super) fn note_loss(&mut self) {
        self.is_lost = true;
    }

    pub(super) fn ask(&mut self, now: Timestamp, urge: Urge) {
        let has_committed = mem::take(&mut self.has_committed);
        let ask = Ask { now, urge, has_committed, is_lost: mem::take(&mut self.is_lost) };
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
        steps = tender.steps(view, ask.now, ask.urge, is_over)?;
        Ok(())
    })?;
    Ok(steps)
}

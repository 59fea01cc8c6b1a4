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
    tender::{Due, Stake, Tender, Urge},
};
use crate::{Error, ErrorKind, Result, Timestamp};

/// A thread that works out what keeps the recall indexes in step and in shape, while the writer writes:
/// one answer for each time it is asked.
pub(super) struct Background {
    /// None once it is to end.
    asks: Option<mpsc::Sender<Ask>>,
    answers: mpsc::Receiver<Result<Vec<Due>>>,
    is_asked: bool,
    /// The answer, once it was received.
    ready: Option<Answer>,
    /// What is to be told with the next question.
    has_committed: bool,
    lost: Vec<Stake>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What came of a question.
pub(super) enum Answer {
    Steps(Result<Vec<Due>>),
    /// The thread has panicked.
    Ended,
}

/// What is asked for: the next steps over the state that the store is in then.
struct Ask {
    now: Timestamp,
    urge: Urge,
    /// Whether something was committed since it was last asked.
    has_committed: bool,
    /// What it answered that was not written.
    lost: Vec<Stake>,
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
            ready: None,
            has_committed: false,
            lost: Vec::new(),
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

    /// Something that it answered was not written.
    pub(super) fn note_loss(&mut self, lost: impl IntoIterator<Item = Stake>) {
        self.lost.extend(lost);
    }

    pub(super) fn ask(&mut self, now: Timestamp, urge: Urge) {
        let has_committed = mem::take(&mut self.has_committed);
        let ask = Ask { now, urge, has_committed, lost: mem::take(&mut self.lost) };
        if let Some(asks) = &self.asks {
            // If it has ended, the answer says so.
            let _ = asks.send(ask);
            self.is_asked = true;
        }
    }

    /// Whether there is an answer.
    pub(super) fn has_answer(&mut self) -> bool {
        if self.is_asked && self.ready.is_none() {
            self.ready = match self.answers.try_recv() {
                Ok(answer) => Some(Answer::Steps(answer)),
                Err(mpsc::TryRecvError::Empty) => None,
                Err(mpsc::TryRecvError::Disconnected) => Some(Answer::Ended),
            };
        }
        self.ready.is_some()
    }

    /// The answer, if it is there; `waits` for it.
    pub(super) fn answer(&mut self, waits: bool) -> Option<Answer> {
        if !self.has_answer() && self.is_asked && waits {
            self.ready = Some(self.answers.recv().map_or(Answer::Ended, Answer::Steps));
        }
        let answer = self.ready.take();
        self.is_asked &= answer.is_none();
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
    ask.lost.iter().for_each(|lost| tender.lose(*lost));
    if ask.has_committed {
        tender.has_committed();
    }
    let reader = match reader {
        Some(reader) => reader,
        None => reader.insert(engine.reader()?),
    };
    let mut steps = Vec::new();
    let read = reader.snapshot(&mut |view| {
        steps = tender.steps(view, ask.now, ask.urge, is_over)?;
        Ok(())
    });
    // A snapshot may also fail as it ends: nobody is told then of what was worked out.
    if let Err(error) = read {
        for due in &steps {
            tender.lose(due.stake());
        }
        return Err(error);
    }
    Ok(steps)
}

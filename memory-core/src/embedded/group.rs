use std::{
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Wake},
    thread::{self, JoinHandle, Thread},
    time::{Duration, Instant},
};

use tokio::sync::{
    Semaphore, broadcast,
    mpsc::{self, error::TryRecvError},
    oneshot,
};

use super::{Writer, indexer::Indexer, timeout::within};
use crate::{
    Clock, Error, ErrorKind, Feed, Receipt, Result,
    decide::{Prepared, decide},
};

/// How many batches, and how many bytes of text, are committed as one transaction at most. Past
/// that a larger group saves nothing more, and those at its front would wait for those at its end.
const GROUP_BATCHES: usize = 1_024;
const GROUP_BYTES: usize = 16 << 20;

/// How many events a slow subscriber may lag behind before it misses some.
const FEED_EVENTS: usize = 1_024;

/// How long the writer looks for the next job before it sleeps. Waking it again takes longer than most
/// callers need to come back with the next batch.
const LINGER: Duration = Duration::from_micros(100);

/// How long there must be nothing to do before the indexes are tended: whoever comes meanwhile waits
/// for no more than a step of that.
const IDLE: Duration = Duration::from_millis(20);

type Task<W> = Box<dyn FnOnce(&mut W, &mut Indexer) + Send>;

enum Job<W> {
    Commit(Waiting),
    Task(Task<W>),
    Close(oneshot::Sender<()>),
}

struct Waiting {
    prepared: Prepared,
    reply: oneshot::Sender<Result<Receipt>>,
}

/// The writer thread. It commits all batches that wait as one transaction; an idle writer commits at
/// once.
pub(super) struct Group<W> {
    jobs: mpsc::Sender<Job<W>>,
    /// Gone once the handle is closed, so that feeds end.
    feed: Mutex<Option<broadcast::Sender<Arc<Receipt>>>>,
    patience: Duration,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl<W: Writer> Group<W> {
    /// Starts the thread. `queue` jobs may wait; the next waits `patience` long for a place.
    pub(super) fn start(
        writer: W,
        indexer: Indexer,
        clock: Arc<dyn Clock>,
        queue: usize,
        patience: Duration,
    ) -> Result<Self> {
        let (jobs, queue) = mpsc::channel(queue.clamp(1, Semaphore::MAX_PERMITS));
        let feed = broadcast::Sender::new(FEED_EVENTS);
        let thread = Worker { writer, indexer, clock, feed: feed.clone(), is_tidy: false };
        let thread = thread::Builder::new()
            .name("memkeep-writer".to_owned())
            .spawn(move || thread.run(queue))
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no writer thread").caused_by(e))?;
        let (feed, thread) = (Mutex::new(Some(feed)), Mutex::new(Some(thread)));
        Ok(Self { jobs, feed, patience, thread })
    }

    async fn send(&self, job: Job<W>) -> Result<()> {
        within(self.patience, "the writer's queue", self.jobs.send(job))
            .await?
            .map_err(|_| Error::closed())
    }

    /// Commits a batch. Dropping the future leaves the batch committed whole or not at all.
    pub(super) async fn commit(&self, prepared: Prepared) -> Result<Receipt> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Commit(Waiting { prepared, reply })).await?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Runs `task` on the writer thread, after the batches that came before it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        task: impl FnOnce(&mut W, &mut Indexer) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let task = move |writer: &mut W, indexer: &mut Indexer| {
            // Nobody waits any more if the caller dropped its future.
            let _ = reply.send(task(writer, indexer));
        };
        self.send(Job::Task(Box::new(task))).await?;
        answer.await.map_err(|_| Error::closed())?
    }

    pub(super) fn subscribe(&self) -> Result<Feed> {
        let feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        feed.as_ref().map(|feed| Feed::new(feed.subscribe())).ok_or_else(Error::closed)
    }

    /// Ends the thread after the jobs that came before; the engine is closed when this returns.
    pub(super) async fn close(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        if self.jobs.send(Job::Close(reply)).await.is_ok() {
            // The thread drops the sender unanswered only when it is ending already.
            let _ = answer.await;
        }
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.join();
        Ok(())
    }

    fn join(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl<W> Drop for Group<W> {
    /// Lets go of the engine before the handle is gone: a file can be opened again at once.
    fn drop(&mut self) {
        let (jobs, _) = mpsc::channel(1);
        self.jobs = jobs;
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

/// The next job, if it comes within `limit`; none once the handle is gone.
fn wait<W>(queue: &mut mpsc::Receiver<Job<W>>, limit: Duration) -> Poll<Option<Job<W>>> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let started = Instant::now();
    loop {
        if let Poll::Ready(job) = queue.poll_recv(&mut context) {
            return Poll::Ready(job);
        }
        let Some(left) = limit.checked_sub(started.elapsed()) else { return Poll::Pending };
        thread::park_timeout(left);
    }
}

/// What a batch came to.
struct Answer {
    result: Result<Receipt>,
    /// Whether it changed anything: a replayed receipt was told before.
    is_news: bool,
}

impl Answer {
    fn refused(error: Error) -> Self {
        Self { result: Err(error), is_news: false }
    }
}

struct Worker<W> {
    writer: W,
    indexer: Indexer,
    /// Whether the indexes need no tending until the next commit.
    is_tidy: bool,
    clock: Arc<dyn Clock>,
    feed: broadcast::Sender<Arc<Receipt>>,
}

impl<W: Writer> Worker<W> {
    /// The next job; none once the handle is gone. While it looks, it leaves the core to others; if
    /// none comes, it tends the indexes before it sleeps.
    fn next(&mut self, queue: &mut mpsc::Receiver<Job<W>>) -> Option<Job<W>> {
        let started = Instant::now();
        loop {
            match queue.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if started.elapsed() < LINGER => thread::yield_now(),
                Err(TryRecvError::Empty) if self.is_tidy => return queue.blocking_recv(),
                Err(TryRecvError::Empty) => match wait(queue, IDLE) {
                    Poll::Ready(job) => return job,
                    Poll::Pending => self.is_tidy = !self.tend(true),
                },
            }
        }
    }

    /// Does a bit of what keeps the indexes in shape; returns whether there was anything to do. A
    /// failure leaves them as they are, in no less order than before; the next commit will tell what is
    /// wrong.
    fn tend(&mut self, is_idle: bool) -> bool {
        let now = self.clock.now();
        self.indexer.tend(&mut self.writer, now, is_idle).unwrap_or(false)
    }

    /// After a commit that was indexed: merging gets as long as that took, so that it keeps up with
    /// whoever writes without a pause.
    fn keep_up(&mut self, took: Duration) {
        let started = Instant::now();
        while self.indexer.has_extended() && started.elapsed() < took {
            if !self.tend(false) {
                self.indexer.caught_up();
            }
        }
    }

    fn run(mut self, mut queue: mpsc::Receiver<Job<W>>) {
        let mut held = None;
        while let Some(job) = held.take().or_else(|| self.next(&mut queue)) {
            match job {
                Job::Task(task) => task(&mut self.writer, &mut self.indexer),
                Job::Commit(first) => {
                    let mut bytes = first.prepared.bytes();
                    let mut group = vec![first];
                    while group.len() < GROUP_BATCHES && bytes < GROUP_BYTES {
                        match queue.try_recv() {
                            Ok(Job::Commit(next)) => {
                                bytes += next.prepared.bytes();
                                group.push(next);
                            }
                            Ok(other) => {
                                held = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    let started = Instant::now();
                    self.group(group);
                    self.keep_up(started.elapsed());
                }
                Job::Close(reply) => {
                    drop(queue);
                    drop(self.writer);
                    let _ = reply.send(());
                    return;
                }
            }
        }
    }

    /// If the engine fails, nobody in the group is acknowledged; each is then tried alone, so that
    /// one batch that the engine cannot take does not fail its neighbours. A lock that was not to be
    /// had is no batch's fault: waiting for it again for each would only add up.
    fn group(&mut self, group: Vec<Waiting>) {
        match self.transaction(&group) {
            Ok(answers) => {
                for (waiting, answer) in group.into_iter().zip(answers) {
                    self.answer(waiting.reply, answer);
                }
            }
            Err(error) if group.len() == 1 || error.is_retryable() => {
                for waiting in group {
                    self.answer(waiting.reply, Answer::refused(error.clone()));
                }
            }
            Err(_) => {
                for waiting in group {
                    self.group(vec![waiting]);
                }
            }
        }
    }

    fn answer(&self, reply: oneshot::Sender<Result<Receipt>>, answer: Answer) {
        if self.feed.receiver_count() > 0
            && answer.is_news
            && let Ok(receipt) = &answer.result
        {
            // An error only says that the last subscriber has gone meanwhile.
            let _ = self.feed.send(Arc::new(receipt.clone()));
        }
        let _ = reply.send(answer.result);
    }

    /// One transaction: the answer to each batch, or the engine's failure, with nothing stored.
    fn transaction(&mut self, group: &[Waiting]) -> Result<Vec<Answer>> {
        let during = |e: Error| e.during("commit");
        self.writer.begin().map_err(during)?;
        let answers = self.decide_all(group).and_then(|answers| {
            self.indexer.write(&mut self.writer)?;
            self.writer.commit()?;
            self.is_tidy = false;
            Ok(answers)
        });
        answers.map_err(|error| {
            self.writer.rollback();
            self.indexer.reset();
            during(error)
        })
    }

    fn decide_all(&mut self, group: &[Waiting]) -> Result<Vec<Answer>> {
        let mut answers = Vec::with_capacity(group.len());
        for Waiting { prepared, .. } in group {
            let loaded = self.writer.load(&prepared.needs())?;
            answers.push(match decide(prepared, loaded, self.clock.now()) {
                Ok(decision) => {
                    self.indexer.apply(&mut self.writer, &decision.changes)?;
                    let is_news = !decision.changes.is_empty();
                    Answer { result: Ok(decision.receipt), is_news }
                }
                Err(refused) => Answer::refused(refused),
            });
        }
        Ok(answers)
    }
}

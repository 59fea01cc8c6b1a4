use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::{Semaphore, broadcast, mpsc, oneshot};

use super::{
    EmbeddedOptions, Engine, Writer, background::Background, indexer::Indexer, tender::Tender,
    timeout::within, worker::Worker,
};
use crate::{Error, ErrorKind, Feed, Receipt, Result, decide::Prepared, recall::Analyzer};

/// How many events a slow subscriber may lag behind before it misses some.
const FEED_EVENTS: usize = 1_024;

type Task<W> = Box<dyn FnOnce(&mut W, &mut Indexer) + Send>;

pub(super) enum Job<W> {
    Commit(Waiting),
    Task(Task<W>),
    /// There may be something to write that was worked out aside.
    Wake,
    Close(oneshot::Sender<()>),
}

pub(super) struct Waiting {
    pub(super) prepared: Prepared,
    pub(super) reply: oneshot::Sender<Result<Receipt>>,
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
    /// Starts the thread, and the one beside it if the engine can be read there. As many jobs may wait
    /// as the options say; the next waits for a place.
    pub(super) fn start<E: Engine<Writer = W>>(
        engine: &Arc<E>,
        writer: W,
        options: &EmbeddedOptions,
    ) -> Result<Self> {
        let EmbeddedOptions { language, find_index, .. } = *options;
        let (jobs, queue) = mpsc::channel(options.queue.clamp(1, Semaphore::MAX_PERMITS));
        let feed = broadcast::Sender::new(FEED_EVENTS);
        let analyzer = Arc::new(Analyzer::remembering(language));
        let background = if engine.readers() > 0 {
            let jobs = jobs.downgrade();
            // If there is no place, the writer is awake.
            let wake = move || drop(jobs.upgrade().map(|jobs| jobs.try_send(Job::Wake)));
            let tender = Tender::new(analyzer.clone(), find_index);
            Some(Background::start(engine.clone(), tender, wake)?)
        } else {
            None
        };
        let indexer = Indexer::new(analyzer, find_index);
        let thread = Worker::new(background, writer, indexer, options.clock.clone(), feed.clone());
        let thread = thread::Builder::new()
            .name("memkeep-writer".to_owned())
            .spawn(move || thread.run(queue))
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no writer thread").caused_by(e))?;
        let (feed, thread) = (Mutex::new(Some(feed)), Mutex::new(Some(thread)));
        Ok(Self { jobs, feed, patience: options.patience, thread })
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

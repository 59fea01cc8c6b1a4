use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::{Engine, Reader, View, timeout::within};
use crate::{Error, ErrorKind, Result};

type Idle<R> = Arc<Mutex<Vec<mpsc::Sender<Task<R>>>>>;
type Task<R> = Box<dyn FnOnce(Result<&mut R>) + Send>;

/// A bounded set of reader threads, each with a reader of its own, started when first needed.
pub(super) struct Pool<E: Engine> {
    engine: Arc<E>,
    /// A permit is the right to use a reader; closed with the pool.
    permits: Arc<Semaphore>,
    size: u32,
    idle: Idle<E::Reader>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    patience: Duration,
}

impl<E: Engine> Pool<E> {
    pub(super) fn new(engine: Arc<E>, patience: Duration) -> Self {
        let size = u32::try_from(engine.readers()).unwrap_or(u32::MAX).min(1_024);
        Self {
            engine,
            permits: Arc::new(Semaphore::new(size as usize)),
            size,
            idle: Arc::default(),
            threads: Mutex::default(),
            patience,
        }
    }

    /// Runs `read` over a snapshot on a reader thread. If all readers are busy, it waits for one,
    /// but not longer than the pool's patience: then `Timeout`.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = within(self.patience, "a reader", self.permits.clone().acquire_owned())
            .await?
            .map_err(|_| Error::closed())?;
        let (reply, answer) = oneshot::channel();
        let task = move |reader: Result<&mut E::Reader>| {
            // Nobody waits any more if the caller dropped its future.
            let _ = reply.send(reader.and_then(|reader| in_snapshot(reader, read)));
        };
        self.hand_over(Box::new(task), permit)?;
        answer.await.map_err(|_| Error::closed())?
    }

    /// Gives the task to an idle thread, or to a new one. The permit goes back with the reader.
    fn hand_over(&self, task: Task<E::Reader>, permit: OwnedSemaphorePermit) -> Result<()> {
        let worker = match self.lock().pop() {
            Some(worker) => worker,
            None => self.start()?,
        };
        let (idle, permits) = (self.idle.clone(), self.permits.clone());
        let again = worker.clone();
        let task: Task<E::Reader> = Box::new(move |reader| {
            let usable = reader.is_ok();
            task(reader);
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            if usable && !permits.is_closed() {
                idle.push(again);
            }
            drop(idle);
            drop(permit);
        });
        worker.send(task).map_err(|_| Error::closed())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<mpsc::Sender<Task<E::Reader>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) -> Result<mpsc::Sender<Task<E::Reader>>> {
        let engine = self.engine.clone();
        let (worker, tasks) = mpsc::channel::<Task<E::Reader>>();
        let thread = thread::Builder::new()
            .name("memkeep-reader".to_owned())
            .spawn(move || match engine.reader() {
                Ok(mut reader) => {
                    while let Ok(task) = tasks.recv() {
                        task(Ok(&mut reader));
                    }
                }
                Err(error) => {
                    if let Ok(task) = tasks.recv() {
                        task(Err(error));
                    }
                }
            })
            .map_err(|e| Error::new(ErrorKind::Unexpected, "no reader thread").caused_by(e))?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // One whose reader could not be opened has ended.
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(worker)
    }

    /// Waits for the reads that are running, refuses later ones, and lets go of the readers.
    pub(super) async fn close(&self) {
        // It fails only if the pool is closed already.
        let permits = self.permits.clone().acquire_many_owned(self.size).await;
        self.end();
        drop(permits);
    }

    /// Once the permits are closed no thread goes back to the idle ones, so each ends as soon as it
    /// has no task.
    fn end(&self) {
        self.permits.close();
        self.lock().clear();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A panic of the thread has been reported where it happened.
            let _ = thread.join();
        }
    }
}

impl<E: Engine> Drop for Pool<E> {
    fn drop(&mut self) {
        self.end();
    }
}

/// Calls `read` once, with a view of one state of the store.
fn in_snapshot<T>(
    reader: &mut impl Reader,
    read: impl FnOnce(&mut dyn View) -> Result<T>,
) -> Result<T> {
    let mut read = Some(read);
    let mut value = None;
    reader.snapshot(&mut |view| {
        if let Some(read) = read.take() {
            value = Some(read(view)?);
        }
        Ok(())
    })?;
    value.ok_or_else(|| Error::new(ErrorKind::Unexpected, "the engine did not read"))
}

use std::{
    mem,
    sync::Arc,
    task::{Context, Poll, Wake},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use tokio::sync::{
    broadcast,
    mpsc::{self, error::TryRecvError},
    oneshot,
};

use super::{
    Writer,
    background::{Answer, Background},
    group::{Job, Waiting},
    indexer::Indexer,
    pace::Pace,
    recent::Recent,
    tender::{Due, Stake, Urge},
    tending::{Outlook, Tending},
};
use crate::{Clock, Error, Receipt, Result, decide::decide};

/// How many batches, and how many bytes of text, are committed as one transaction at most. Past
/// that a larger group saves nothing more, and those at its front would wait for those at its end.
const GROUP_BATCHES: usize = 1_024;
const GROUP_BYTES: usize = 16 << 20;

/// How long the writer looks for the next job before it sleeps. Waking it again takes longer than most
/// callers need to come back with the next batch.
const LINGER: Duration = Duration::from_micros(100);

/// How long what is new waits for more if there is always something else to do.
const STALE: Duration = Duration::from_millis(250);

/// How long there must be nothing to do before the indexes are tended: whoever comes meanwhile waits
/// for no more than a step of that.
const IDLE: Duration = Duration::from_millis(20);

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
struct Verdict {
    result: Result<Receipt>,
    /// Whether it changed anything: a replayed receipt was told before.
    is_news: bool,
}

impl Verdict {
    fn refused(error: Error) -> Self {
        Self { result: Err(error), is_news: false }
    }
}

/// The writer thread's work.
pub(super) struct Worker<W> {
    // It lets go of the engine before the writer does.
    background: Option<Background>,
    writer: W,
    indexer: Indexer,
    clock: Arc<dyn Clock>,
    feed: broadcast::Sender<Arc<Receipt>>,
    tending: Tending,
    pace: Pace,
}

impl<W: Writer> Worker<W> {
    pub(super) fn new(
        background: Option<Background>,
        writer: W,
        indexer: Indexer,
        clock: Arc<dyn Clock>,
        feed: broadcast::Sender<Arc<Receipt>>,
    ) -> Self {
        Self {
            background,
            writer,
            indexer,
            clock,
            feed,
            tending: Tending::default(),
            pace: Pace::default(),
        }
    }

    /// The next job; none once the handle is gone. While it looks, it leaves the core to others; if
    /// none comes, it has the indexes tended before it sleeps.
    fn next(&mut self, queue: &mut mpsc::Receiver<Job<W>>) -> Option<Job<W>> {
        let started = Instant::now();
        loop {
            let is_asked = self.background.as_ref().is_some_and(Background::is_asked);
            if self.background.as_mut().is_some_and(Background::has_answer) {
                return Some(Job::Wake);
            }
            match queue.try_recv() {
                Ok(job) => return Some(job),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) if started.elapsed() < LINGER => thread::yield_now(),
                Err(TryRecvError::Empty) if is_asked || self.tending.outlook == Outlook::Tidy => {
                    return queue.blocking_recv();
                }
                Err(TryRecvError::Empty) => match wait(queue, IDLE) {
                    Poll::Ready(job) => return job,
                    Poll::Pending => {
                        self.tending.is_idle = true;
                        self.look();
                    }
                },
            }
        }
    }

    fn urge(&self) -> Urge {
        if self.tending.is_idle {
            Urge::All
        } else if self.indexer.is_waiting() && self.tending.looked.elapsed() >= STALE {
            Urge::New
        } else {
            Urge::Due
        }
    }

    /// Has the indexes tended, if there is anything to do: aside, or else here.
    fn look(&mut self) {
        let urge = self.urge();
        if urge != Urge::Due {
            self.tending.looked = Instant::now();
        }
        let Some(background) = &mut self.background else {
            self.tend(urge);
            return;
        };
        if !background.is_asked() {
            background.ask(self.clock.now(), urge);
        }
    }

    /// Does a bit of what keeps the indexes in shape, here. A failure leaves them as they are, in no less
    /// order than before; the next commit will tell what is wrong.
    fn tend(&mut self, urge: Urge) {
        let now = self.clock.now();
        let done = self.indexer.tend(&mut self.writer, now, urge).unwrap_or(false);
        if !done {
            self.indexer.give_up();
        }
        self.tending.outlook = match (done, urge) {
            (true, _) => Outlook::More,
            (false, Urge::All) => Outlook::Tidy,
            (false, _) => Outlook::Unknown,
        };
    }

    /// After a commit that took so long. Where all is done here, what is new is indexed, and merging
    /// gets as long as that commit took, so that it keeps up with whoever writes without a pause.
    fn keep_up(&mut self, took: Duration) {
        if self.indexer.is_behind() || self.urge() == Urge::New {
            self.tending.outlook = Outlook::More;
        }
        let has_more = |worker: &Self| worker.tending.outlook == Outlook::More;
        if self.background.is_some() {
            if mem::take(&mut self.tending.is_here) && self.indexer.is_behind() {
                self.tend(Urge::Behind);
            }
            if has_more(self) {
                self.look();
            }
            return;
        }
        let started = Instant::now();
        while has_more(self) && (self.indexer.is_behind() || started.elapsed() < took) {
            self.tend(self.urge());
        }
    }

    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Job<W>>) {
        let mut held = None;
        while let Some(job) = held.take().or_else(|| self.next(&mut queue)) {
            match job {
                Job::Task(task) => {
                    task(&mut self.writer, &mut self.indexer);
                    self.note_change();
                }
                Job::Wake => {
                    self.group(Vec::new());
                    match self.tending.outlook {
                        Outlook::More => self.look(),
                        Outlook::Unknown if self.tending.is_idle => self.look(),
                        Outlook::Unknown | Outlook::Tidy => {}
                    }
                }
                Job::Commit(first) => {
                    let mut bytes = first.prepared.bytes();
                    let mut group = vec![first];
                    let collecting = Instant::now();
                    while group.len() < GROUP_BATCHES && bytes < GROUP_BYTES {
                        match queue.try_recv() {
                            Ok(Job::Commit(next)) => {
                                bytes += next.prepared.bytes();
                                group.push(next);
                            }
                            // What there is to write is looked for by every group.
                            Ok(Job::Wake) => {}
                            Ok(other) => {
                                held = Some(other);
                                break;
                            }
                            Err(TryRecvError::Empty)
                                if self.pace.waits(group.len(), collecting) =>
                            {
                                thread::yield_now();
                            }
                            Err(_) => break,
                        }
                    }
                    self.tending.is_idle = false;
                    let (count, started) = (group.len(), Instant::now());
                    self.group(group);
                    self.pace = Pace { count, took: started.elapsed() };
                    self.keep_up(self.pace.took);
                }
                Job::Close(reply) => {
                    drop(queue);
                    drop(self.background);
                    drop(self.writer);
                    let _ = reply.send(());
                    return;
                }
            }
        }
    }

    /// What was worked out aside, to be written. If much waits for it, it is waited for.
    fn steps(&mut self) -> Vec<Due> {
        let is_far_behind = self.indexer.is_far_behind();
        let Some(background) = &mut self.background else { return Vec::new() };
        let steps = match background.answer(is_far_behind) {
            // A failure leaves the indexes as they are; the next commit will tell what is wrong.
            Some(Answer::Steps(steps)) => steps.unwrap_or_default(),
            Some(Answer::Ended) => {
                self.background = None;
                return Vec::new();
            }
            None => return Vec::new(),
        };
        self.tending.outlook = if !steps.is_empty() {
            Outlook::More
        } else if self.tending.is_idle && !background.has_committed() {
            Outlook::Tidy
        } else {
            Outlook::Unknown
        };
        if steps.is_empty() {
            self.indexer.give_up();
        }
        steps
    }

    /// Commits a group, and what there is to write into the indexes. These are no concern of those who
    /// wait: if it fails, the group is tried without.
    fn group(&mut self, group: Vec<Waiting>) {
        let steps = self.steps();
        if steps.is_empty() {
            return self.batches(group);
        }
        let at_stake: Vec<Stake> = steps.iter().map(Due::stake).collect();
        let error = match self.transaction(&group, steps) {
            Ok(answers) => return self.answer_all(group, answers),
            Err(error) => error,
        };
        self.tending.outlook = Outlook::Tidy;
        self.indexer.give_up();
        if let Some(background) = &mut self.background {
            background.note_loss(at_stake);
        }
        if error.is_retryable() {
            self.refuse(group, &error);
        } else {
            self.batches(group);
        }
    }

    /// Something was written: there may be work for the indexes.
    fn note_change(&mut self) {
        if self.tending.outlook == Outlook::Tidy {
            self.tending.outlook = Outlook::Unknown;
        }
        if let Some(background) = &mut self.background {
            background.note_commit();
        }
    }

    /// If the engine fails, nobody in the group is acknowledged; each is then tried alone, so that
    /// one batch that the engine cannot take does not fail its neighbours. A lock that was not to be
    /// had is no batch's fault: waiting for it again for each would only add up.
    fn batches(&mut self, group: Vec<Waiting>) {
        if group.is_empty() {
            return;
        }
        match self.transaction(&group, Vec::new()) {
            Ok(answers) => self.answer_all(group, answers),
            Err(error) if group.len() == 1 || error.is_retryable() => {
                self.refuse(group, &error);
            }
            Err(_) => {
                for waiting in group {
                    self.batches(vec![waiting]);
                }
            }
        }
    }

    fn refuse(&self, group: Vec<Waiting>, error: &Error) {
        for waiting in group {
            self.answer(waiting.reply, Verdict::refused(error.clone()));
        }
    }

    fn answer_all(&self, group: Vec<Waiting>, answers: Vec<Verdict>) {
        for (waiting, answer) in group.into_iter().zip(answers) {
            self.answer(waiting.reply, answer);
        }
    }

    fn answer(&self, reply: oneshot::Sender<Result<Receipt>>, answer: Verdict) {
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
    fn transaction(&mut self, group: &[Waiting], steps: Vec<Due>) -> Result<Vec<Verdict>> {
        let during = |e: Error| e.during("commit");
        self.writer.begin().map_err(during)?;
        let answers = self.decide_all(group).and_then(|answers| {
            self.indexer.write(&mut self.writer)?;
            let now = self.clock.now();
            let refused = self.indexer.write_steps(&mut self.writer, steps, now)?;
            self.writer.commit()?;
            self.tending.is_here |= refused.iter().any(|stake| stake.extends);
            if let Some(background) = &mut self.background {
                background.note_loss(refused);
            }
            if !group.is_empty() {
                self.note_change();
            }
            Ok(answers)
        });
        answers.map_err(|error| {
            self.writer.rollback();
            self.indexer.reset();
            during(error)
        })
    }

    fn decide_all(&mut self, group: &[Waiting]) -> Result<Vec<Verdict>> {
        let mut answers = Vec::with_capacity(group.len());
        let mut recent = Recent::default();
        for (at, Waiting { prepared, .. }) in group.iter().enumerate() {
            let is_last = at + 1 == group.len();
            let mut needs = prepared.needs();
            let known = recent.take_known(&mut needs);
            let mut loaded = self.writer.load(&needs)?;
            recent.complete(&mut loaded, known);
            answers.push(match decide(prepared, loaded, self.clock.now()) {
                Ok(decision) => {
                    let is_news = !decision.changes.is_empty();
                    let changes = recent.hold_back(decision.changes, is_last);
                    self.indexer.apply(&mut self.writer, &changes)?;
                    Verdict { result: Ok(decision.receipt), is_news }
                }
                Err(refused) => Verdict::refused(refused),
            });
        }
        let held = recent.into_held();
        if !held.is_empty() {
            self.writer.apply(&held)?;
        }
        Ok(answers)
    }
}

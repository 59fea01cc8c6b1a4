use std::time::{Duration, Instant};

/// A group waits for those of the last one for this part of the time that it took.
const PATIENCE: u32 = 4;

/// It waits no longer than this: a commit may have waited for others itself.
const LONGEST: Duration = Duration::from_millis(1);

/// The last group that was committed.
#[derive(Default)]
pub(super) struct Pace {
    /// How many batches it was.
    pub(super) count: usize,
    pub(super) took: Duration,
}

impl Pace {
    /// Whether more than the `count` batches that have come since `started` are worth waiting for: those
    /// who waited for the last group are likely to come again, and a commit takes much longer than they.
    pub(super) fn waits(&self, count: usize, started: Instant) -> bool {
        count < self.count && started.elapsed() < (self.took / PATIENCE).min(LONGEST)
    }
}

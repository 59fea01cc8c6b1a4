//! What this process takes, as Linux counts it.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

/// Bytes resident now.
pub(crate) fn now() -> Result<u64> {
    status("VmRSS:")
}

/// The most bytes that were resident since the last [`reset_peak`].
pub(crate) fn peak() -> Result<u64> {
    status("VmHWM:")
}

/// Lets [`peak`] begin anew.
pub(crate) fn reset_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("the kernel keeps no peak that can be reset")
}

fn status(field: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")).context("no such field")?;
    Ok(kib.trim().parse::<u64>()? * 1024)
}

/// Returns when nothing is done any more in the background: how long that took.
pub(crate) fn settle() -> Result<Duration> {
    let (started, mut before, mut over) = (Instant::now(), ticks()?, Duration::ZERO);
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = ticks()?;
        if now - before <= 1 {
            return Ok(over);
        }
        (before, over) = (now, started.elapsed());
    }
}

/// Processor time taken so far, in the kernel's ticks.
fn ticks() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is a name in parentheses; the third is the first after it.
    let (_, fields) = stat.rsplit_once(')').context("no such field")?;
    let mut times = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let mut next = || times.next().context("no such field")?.context("no number");
    Ok(next()? + next()?)
}

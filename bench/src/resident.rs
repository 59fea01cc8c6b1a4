//! How much memory this process takes, as Linux counts it.

use std::fs;

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

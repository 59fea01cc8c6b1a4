//! Calls to files that fail, fewer than the command makes fail.

#![cfg(can_watch)]

use memkeep_durability::{
    Subject,
    disk::Call,
    faults::{self, Fault},
    workload::Workload,
};

/// Of the calls that are made all the time, one in so many.
const EVERY: usize = 40;
/// And of the syncs.
const EVERY_SYNC: usize = 4;

/// A typed error, nothing half-done, old data there; usable again, or after it was opened again.
#[test]
fn a_call_that_fails_is_told_and_leaves_nothing_half_done() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let workload = Workload::short();
    for subject in Subject::durable() {
        let calls = runtime.block_on(faults::calls(&subject, &workload)).unwrap();
        let is_rare = |fault: &Fault| {
            !matches!(fault.call, Call::Read | Call::Write | Call::Size | Call::Lock | Call::Sync)
        };
        let mut wanted = Fault::all(&calls, 1);
        let mut syncs = 0;
        wanted.retain(|fault| {
            let is_sync = fault.call == Call::Sync;
            syncs += usize::from(is_sync);
            is_rare(fault)
                || fault.number % EVERY == 0
                || is_sync && syncs.is_multiple_of(EVERY_SYNC)
        });
        let report = faults::run(&subject, &workload, &wanted);
        assert!(report.failures.is_empty(), "{subject:?}: {report}");
        assert!(report.told > report.faults / 3, "{subject:?}: {report}");
    }
}

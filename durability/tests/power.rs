//! Power cuts, fewer than the command makes.

#![cfg(can_watch)]

use memkeep_core::Durability;
use memkeep_durability::{
    Subject,
    disk::{Image, Loss, Recorder},
    power::{Recording, Report},
    workload::Workload,
};

const SEED: u64 = 1;

fn cut(subject: &Subject, recorder: Recorder, points: u64, loss: Option<Loss>) -> Report {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let workload = Workload::full();
    let recording = runtime.block_on(Recording::of(subject, &workload, recorder)).unwrap();
    recording.run(subject, &recording.points(SEED, 0..points, loss))
}

fn honest() -> Recorder {
    Recorder::new(Image::default())
}

fn nothing_is_found(subject: &Subject, points: u64) {
    let report = cut(subject, honest(), points, None);
    assert!(report.failures.is_empty(), "{subject:?}: {report}");
}

#[test]
fn power_cuts_take_nothing_acknowledged_from_sqlite() {
    nothing_is_found(&Subject::sqlite(), 150);
}

#[test]
fn power_cuts_take_nothing_acknowledged_from_redb() {
    nothing_is_found(&Subject::redb(), 150);
}

/// What promises less loses whole batches, the last ones.
#[test]
fn power_cuts_leave_whole_batches_where_commits_do_not_wait() {
    nothing_is_found(&Subject::sqlite_normal(), 30);
    nothing_is_found(&Subject::redb_none(), 30);
}

/// What acknowledges before it syncs does not pass for what does not.
#[test]
fn a_store_that_promises_too_much_is_caught() {
    for subject in [Subject::sqlite_normal(), Subject::redb_none()] {
        let subject = subject.promising(Durability::Power);
        let report = cut(&subject, honest(), 15, Some(Loss::Everything));
        let lost = |why: &str| why.starts_with("acknowledged and not there");
        let caught = report.failures.iter().filter(|failure| lost(&failure.why)).count();
        assert!(caught > 5, "{subject:?}: {report}");
    }
}

#[test]
fn a_disk_that_lies_is_caught() {
    for subject in Subject::durable() {
        for loss in [Loss::Everything, Loss::Writes, Loss::Sectors] {
            let report = cut(&subject, honest().lying(), 12, Some(loss));
            assert!(report.failures.len() > 5, "{subject:?}, {loss:?}: {report}");
        }
    }
}

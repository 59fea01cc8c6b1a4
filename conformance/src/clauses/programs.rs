//! Random programs against the suite's own model of the contract.

use crate::{
    Case, Verdict,
    model::{Beyond, check},
};

pub(crate) async fn of_commits_and_reads(case: &mut Case) -> Verdict {
    check(case, Beyond::Nothing).await
}

pub(crate) async fn with_reopening(case: &mut Case) -> Verdict {
    check(case, Beyond::Reopening).await
}

pub(crate) async fn through_two_handles(case: &mut Case) -> Verdict {
    check(case, Beyond::SecondHandle).await
}

use serde::Serialize;

use crate::Counts;

/// What a copy did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Records that were stored. Of state, what a deletion leaves counts too.
    pub copied: Counts,
    /// Records that an earlier, unfinished copy had stored.
    pub already_there: Counts,
}

use std::ops::{AddAssign, SubAssign};

use serde::{Deserialize, Serialize};

use super::RecordKind;

/// How many records of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Sessions.
    pub sessions: u64,
    /// Turns.
    pub turns: u64,
    /// Execution steps.
    pub steps: u64,
    /// Episodes.
    pub episodes: u64,
    /// Notes.
    pub notes: u64,
    /// State keys that have a value, expired ones included until they are pruned.
    pub states: u64,
    /// Audit records.
    pub audits: u64,
}

impl Counts {
    /// One record of `kind`.
    pub const fn one(kind: RecordKind) -> Self {
        let mut counts = Self::from_fields([0; 7]);
        *counts.of_mut(kind) = 1;
        counts
    }

    /// The count of the records of `kind`.
    pub const fn of_mut(&mut self, kind: RecordKind) -> &mut u64 {
        match kind {
            RecordKind::Session => &mut self.sessions,
            RecordKind::Turn => &mut self.turns,
            RecordKind::Step => &mut self.steps,
            RecordKind::Episode => &mut self.episodes,
            RecordKind::Note => &mut self.notes,
            RecordKind::State => &mut self.states,
            RecordKind::Audit => &mut self.audits,
        }
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.fields().iter().sum()
    }

    fn fields(&self) -> [u64; 7] {
        let Self { sessions, turns, steps, episodes, notes, states, audits } = *self;
        [sessions, turns, steps, episodes, notes, states, audits]
    }

    const fn from_fields(
        [sessions, turns, steps, episodes, notes, states, audits]: [u64; 7],
    ) -> Self {
        Self { sessions, turns, steps, episodes, notes, states, audits }
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        let mut fields = self.fields();
        for (a, b) in fields.iter_mut().zip(other.fields()) {
            *a = f(*a, b);
        }
        Self::from_fields(fields)
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = self.zip(other, u64::saturating_add);
    }
}

impl SubAssign for Counts {
    fn sub_assign(&mut self, other: Self) {
        *self = self.zip(other, u64::saturating_sub);
    }
}

/// What a deletion took away. Deleting what is not there succeeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// Whether there was something to delete, as reads saw it: an expired state entry was not
    /// there, though it is counted.
    pub existed: bool,
    /// How many records went, the named one included.
    #[serde(default)]
    pub counts: Counts,
}

//! How many records of each kind.

use memkeep::{Counts, Stats, WorkspaceCounts};

use super::{Fields, Render};

fn pairs(counts: &Counts) -> [(&'static str, u64); 7] {
    let Counts { sessions, turns, steps, episodes, notes, states, audits } = *counts;
    [
        ("sessions", sessions),
        ("turns", turns),
        ("steps", steps),
        ("episodes", episodes),
        ("notes", notes),
        ("states", states),
        ("audits", audits),
    ]
}

/// What there is any of: `sessions 2, turns 17`.
pub(crate) fn summary(counts: &Counts) -> String {
    let some = pairs(counts).into_iter().filter(|(_, n)| *n > 0);
    let some: Vec<String> = some.map(|(name, n)| format!("{name} {n}")).collect();
    if some.is_empty() { "nothing".to_owned() } else { some.join(", ") }
}

fn fields(first: Fields, counts: &Counts) -> Fields {
    pairs(counts).into_iter().fold(first, |fields, (name, n)| fields.column(name, n))
}

impl Render for WorkspaceCounts {
    const NAMES: &'static str = "workspaces";

    fn fields(&self) -> Fields {
        fields(Fields::default().column("name", &self.workspace), &self.counts)
    }
}

impl Render for Stats {
    const NAMES: &'static str = "stores";

    fn fields(&self) -> Fields {
        fields(Fields::default(), &self.counts).column("bytes", self.bytes)
    }
}

use std::collections::BTreeSet;

use memkeep_core::{
    Backend, Durability, ListAudit, MemoryBackend, Record, RecordKind, Result, Scan, Scope,
    verify::Verify,
};
use memkeep_inmem::InmemConfig;
use serde::{Deserialize, Serialize};

use crate::{
    disk::Mark,
    subject::clock,
    workload::{LOG, Step, Workload, batch, number, prune},
};

/// A batch that no workload commits.
const PROBE: u64 = 1_000_001;

/// What changed the records of a store, in the order in which it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Entry {
    Batch(u64),
    Prune(u64),
}

impl Entry {
    fn number(self) -> u64 {
        match self {
            Self::Batch(number) | Self::Prune(number) => number,
        }
    }
}

/// What a run of a workload did to a store, and what must be there after any part of it: what a store in
/// memory holds that took the same batches in the same order.
#[derive(Debug, Serialize, Deserialize)]
pub struct History {
    entries: Vec<Entry>,
    copies: Vec<Copy>,
    /// The records after each number of entries.
    #[serde(skip)]
    states: Vec<Vec<Record>>,
}

/// A copy that the workload made.
#[derive(Debug, Serialize, Deserialize)]
struct Copy {
    number: u64,
    name: String,
    /// How many entries there were.
    entries: usize,
}

/// What the callers of a store know of what they asked for.
#[derive(Clone, Debug, Default)]
pub struct Known {
    started: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
}

impl<'a> FromIterator<&'a Mark> for Known {
    fn from_iter<I: IntoIterator<Item = &'a Mark>>(marks: I) -> Self {
        let mut known = Self::default();
        for mark in marks {
            match mark {
                Mark::Started(number) => drop(known.started.insert(*number)),
                Mark::Acknowledged(number) => drop(known.acknowledged.insert(*number)),
                Mark::Refused(_) => {}
            }
        }
        known
    }
}

impl History {
    /// Of a run of `workload` that left `store`.
    pub async fn of(workload: &Workload, store: &dyn MemoryBackend) -> Result<Self> {
        let mut log = log(store).await?.into_iter();
        let (mut entries, mut copies) = (Vec::new(), Vec::new());
        for step in &workload.steps {
            match step {
                Step::Commit(lists) => {
                    let batches = lists.iter().map(Vec::len).sum();
                    entries.extend(log.by_ref().take(batches).map(Entry::Batch));
                }
                Step::Prune(number) => entries.push(Entry::Prune(*number)),
                Step::Backup(number, name) => copies.push(Copy {
                    number: *number,
                    name: (*name).to_owned(),
                    entries: entries.len(),
                }),
                Step::Compact(_) | Step::Reindex(_) | Step::Reopen => {}
            }
        }
        let mut history = Self { entries, copies, states: Vec::new() };
        history.replay().await?;
        Ok(history)
    }

    /// Works out what must be there: to be called on what was read from a file.
    pub async fn replay(&mut self) -> Result<()> {
        let model = InmemConfig::new().clock(clock()).open().await?;
        self.states = vec![records(&model).await?];
        for entry in &self.entries {
            match entry {
                Entry::Batch(number) => drop(model.commit(batch(*number)).await?),
                Entry::Prune(_) => drop(model.prune(&prune()).await?),
            }
            self.states.push(records(&model).await?);
        }
        Ok(())
    }

    /// How many batches were committed.
    pub fn batches(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, Entry::Batch(_))).count()
    }

    /// How many things changed the records.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The names of the copies whose making was acknowledged, each with the number of entries in it.
    pub(crate) fn copies(&self, known: &Known) -> impl Iterator<Item = (&str, usize)> {
        let made = |copy: &&Copy| known.acknowledged.contains(&copy.number);
        self.copies.iter().filter(made).map(|copy| (copy.name.as_str(), copy.entries))
    }

    /// Checks a store that was opened after a power cut, of which callers knew `known`: it holds the first
    /// so many batches, whole, with everything that was acknowledged if it promises that; and it works.
    /// Returns how many batches it holds.
    pub async fn check(
        &self,
        store: &dyn MemoryBackend,
        known: &Known,
        durability: Durability,
    ) -> Result<usize, String> {
        let log = self.check_records(store, known, durability).await?;
        self.check_use(store, &log).await?;
        Ok(log.len())
    }

    async fn check_records(
        &self,
        store: &dyn MemoryBackend,
        known: &Known,
        durability: Durability,
    ) -> Result<Vec<u64>, String> {
        verified(store).await?;
        let log = log(store).await.map_err(|e| format!("its log cannot be read: {e:?}"))?;
        let mut wanted = self.batches_of(self.entries.len());
        wanted.truncate(log.len());
        if log != wanted {
            return Err(format!("it holds the batches {log:?} instead of the first, {wanted:?}"));
        }
        let mut entries = self.end_of(log.len());
        let pruning = self.entries.get(entries).copied().filter(
            |entry| matches!(entry, Entry::Prune(number) if known.started.contains(number)),
        );
        if let Some(prune_entry) = pruning {
            let is_done = known.acknowledged.contains(&prune_entry.number());
            if !is_done || durability != Durability::Power {
                // It prunes in several commits, so that any part may be there; doing it again does it.
                store.prune(&prune()).await.map_err(|e| format!("it does not prune: {e:?}"))?;
            }
            entries += 1;
        }
        let (there, rest) = self.entries.split_at(entries);
        let numbers = |entries: &[Entry], of: &dyn Fn(u64) -> bool| -> Vec<u64> {
            entries.iter().map(|entry| entry.number()).filter(|number| of(*number)).collect()
        };
        let missing = numbers(rest, &|number| known.acknowledged.contains(&number));
        if durability == Durability::Power && !missing.is_empty() {
            return Err(format!("acknowledged and not there: {missing:?}"));
        }
        let unasked = numbers(there, &|number| !known.started.contains(&number));
        if !unasked.is_empty() {
            return Err(format!("there and never asked for: {unasked:?}"));
        }
        self.check_state(store, entries).await?;
        Ok(log)
    }

    /// Checks that the records are those after so many entries.
    pub(crate) async fn check_state(
        &self,
        store: &dyn MemoryBackend,
        entries: usize,
    ) -> Result<(), String> {
        let records = records(store).await.map_err(|e| format!("it cannot be read: {e:?}"))?;
        difference(&records, &self.states[entries])
    }

    /// A retry of what is there changes nothing; a new batch is taken.
    async fn check_use(&self, store: &dyn MemoryBackend, there: &[u64]) -> Result<(), String> {
        let keyed = there.iter().rev().find(|number| batch(**number).key.is_some());
        for (number, grows) in keyed.map(|number| (*number, 0)).into_iter().chain([(PROBE, 1)]) {
            let before = log(store).await.map_err(|e| format!("{e:?}"))?.len();
            let committed = store.commit(batch(number)).await;
            committed.map_err(|e| format!("it does not take batch {number}: {e:?}"))?;
            let after = log(store).await.map_err(|e| format!("{e:?}"))?.len();
            if after != before + grows {
                return Err(format!("batch {number} made {before} batches {after}"));
            }
        }
        verified(store).await
    }

    /// The batches among the first so many entries.
    fn batches_of(&self, entries: usize) -> Vec<u64> {
        let number = |entry: &Entry| match entry {
            Entry::Batch(number) => Some(*number),
            Entry::Prune(_) => None,
        };
        self.entries[..entries].iter().filter_map(number).collect()
    }

    /// How many entries there are up to the batch that is number `batches`, counted from 1.
    fn end_of(&self, batches: usize) -> usize {
        let is_batch = |(_, entry): &(usize, &Entry)| matches!(entry, Entry::Batch(_));
        let ends = self.entries.iter().enumerate().filter(is_batch).map(|(n, _)| n + 1);
        [0].into_iter().chain(ends).nth(batches).unwrap_or(self.entries.len())
    }
}

/// The numbers of the batches that are there, in the order of their commits.
pub(crate) async fn log(store: &dyn MemoryBackend) -> Result<Vec<u64>> {
    let list = ListAudit::new().scope(LOG).limit(usize::MAX);
    let page = store.audit_log(&list).await?;
    Ok(page.items.iter().filter_map(number).collect())
}

/// Everything that is there.
pub(crate) async fn records(store: &dyn MemoryBackend) -> Result<Vec<Record>> {
    let mut all = Vec::new();
    for kind in RecordKind::ALL {
        all.extend(store.scan(&Scan::new(kind).scope(Scope::All).limit(usize::MAX)).await?.items);
    }
    Ok(all)
}

pub(crate) async fn verified(store: &dyn MemoryBackend) -> Result<(), String> {
    let report = store.verify(&Verify::new()).await.map_err(|e| format!("verify fails: {e:?}"))?;
    if report.is_clean() { Ok(()) } else { Err(format!("verify finds {:?}", report.problems)) }
}

/// The first difference between the records that are there and those that must be.
fn difference(there: &[Record], wanted: &[Record]) -> Result<(), String> {
    if there == wanted {
        return Ok(());
    }
    let at = there.iter().zip(wanted).take_while(|(there, wanted)| there == wanted).count();
    let name = |record: Option<&Record>| {
        record.map_or("nothing".to_owned(), |record| {
            let mut text = format!("{record:?}");
            text.truncate(text.floor_char_boundary(400));
            text
        })
    };
    Err(format!(
        "record {at} of {} is {} instead of {} of {}",
        there.len(),
        name(there.get(at)),
        name(wanted.get(at)),
        wanted.len()
    ))
}

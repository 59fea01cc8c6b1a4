//! What is left of a process that was killed while it wrote.

use std::collections::{BTreeMap, BTreeSet};

use memkeep_core::{Record, RecordKind, Scan};

use crate::{
    Case, Failure, Verdict,
    child::TASKS,
    clauses::random::Random,
    crash::kill_a_writer,
    failure::{must, must_equal},
    repeats,
};

/// More batches than a child commits.
const RUN: u64 = 1_000_000;

pub(crate) async fn writers(case: &mut Case) -> Verdict {
    let mut random = Random::new(case.seed);
    let mut acknowledged = BTreeSet::new();
    let (kills, mut told_of) = (repeats::kills(), 0);
    for run in 0..u64::from(kills) {
        case.backend().close().await?;
        let site = case.site.clone();
        let (path, name) = (case.place.path().to_owned(), case.place.name().to_owned());
        let killed = tokio::task::spawn_blocking(move || {
            let told = kill_a_writer(&site, (&path, &name), run * RUN, &mut random);
            (told, random)
        });
        let (told, rest) = killed.await.map_err(|e| Failure::new("no panic", e.to_string()))?;
        random = rest;
        let told = told?;
        case.log.note(&format!("// a child committed {} batches and was killed", told.len()));
        told_of += told.len();
        acknowledged.extend(told);
        case.open().await?;
        let left = left(case).await?;
        let missing: Vec<_> = acknowledged.difference(&left).collect();
        must_equal!(missing, Vec::<&u64>::new(), "the acknowledged batches that are missing");
        let unasked: Vec<_> =
            left.difference(&acknowledged).filter(|number| **number >= run * RUN).collect();
        must!(
            unasked.len() <= TASKS,
            unasked,
            "beyond what was acknowledged, at most {TASKS} batches that were on their way are \
             there"
        );
        acknowledged = left;
        case.verify().await?;
    }
    // Shown by `--nocapture`.
    println!(
        "{kills} kills; {} batches acknowledged before each on average",
        told_of / kills as usize
    );
    Ok(())
}

/// The numbers of the batches that are there, each of which must be whole.
async fn left(case: &Case) -> Result<BTreeSet<u64>, Failure> {
    let store = case.backend();
    let mut numbers: Option<BTreeSet<u64>> = None;
    let mut notes = BTreeSet::new();
    let mut replaced = BTreeSet::new();
    for kind in store.info().kinds {
        let records = store.scan(&Scan::new(kind)).await?.items;
        let of_kind = by_batch(&records);
        dense(kind, &records)?;
        match kind {
            RecordKind::Session => continue,
            RecordKind::Note => {
                notes = of_kind.into_keys().collect();
                continue;
            }
            RecordKind::State => replaced = records.iter().filter_map(previous).collect(),
            _ => {}
        }
        let wanted = if kind == RecordKind::Turn { 2 } else { 1 };
        let torn: Vec<_> = of_kind.iter().filter(|(_, count)| **count != wanted).collect();
        must_equal!(torn, [], "batches (and counts) that did not leave {wanted} {kind:?}");
        let of_kind: BTreeSet<u64> = of_kind.into_keys().collect();
        if let Some(others) = &numbers {
            let torn: Vec<_> = others.symmetric_difference(&of_kind).collect();
            must_equal!(
                torn,
                [] as [&u64; 0],
                "batches that are there in part, only with or without {kind:?}"
            );
        }
        numbers = Some(of_kind);
    }
    let kinds = store.info().kinds;
    let numbers = numbers.unwrap_or_else(|| notes.clone());
    if kinds.contains(&RecordKind::Note) {
        let wanted: BTreeSet<u64> = numbers.difference(&replaced).copied().collect();
        must_equal!(notes, wanted, "the batches whose notes no later batch of the task deleted");
    }
    Ok(numbers)
}

/// How many records each batch left.
fn by_batch(records: &[Record]) -> BTreeMap<u64, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        let id = record.id();
        let number = id.split_once('-').map_or(id, |(number, _)| number).parse();
        if let Ok(number) = number {
            *counts.entry(number).or_default() += 1;
        }
    }
    counts
}

/// The batch whose note the batch of this state entry deleted.
fn previous(record: &Record) -> Option<u64> {
    let Record::State(slot) = record else { return None };
    slot.value.as_ref()?.get("previous")?.as_u64()
}

/// No refused batch and no killed one takes an index.
fn dense(kind: RecordKind, records: &[Record]) -> Verdict {
    let index = |record: &Record| match record {
        Record::Turn(turn) => Some(turn.index),
        Record::Step(step) => Some(step.index),
        Record::Audit(audit) => audit.seq.checked_sub(1),
        _ => None,
    };
    let mut indexes: Vec<u64> = records.iter().filter_map(index).collect();
    indexes.sort_unstable();
    let gap = indexes.iter().zip(0..).find(|(index, wanted)| **index != *wanted);
    must_equal!(gap, None, "an index of {kind:?} that is not the one after the last");
    Ok(())
}

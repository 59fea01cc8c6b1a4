//! Whether secondary keys, counts and counters are those that the records make.

use std::collections::{BTreeMap, HashSet};

use memkeep_core::{Counts, ErrorKind, RecordKind, Result, Workspace, verify::Problem};

use crate::{
    Snapshot,
    key::{self, Key, Keys, Table},
    records::{
        Records, counted_workspace, counter_key, counter_value, counts_key, counts_value,
        read_counter, read_counts,
    },
    rows::{Pair, Row, by_kind, read_receipt, receipt_keys},
};

/// Something that is not as the records make it.
pub(crate) struct Difference {
    pub(crate) problem: Problem,
    /// What sets it right, if anything can: the value to put under a key, or none to delete it.
    pub(crate) repair: Option<(Vec<u8>, Option<Vec<u8>>)>,
}

impl Difference {
    fn put(location: String, message: &str, (key, value): Pair) -> Self {
        let problem = Problem::new(location, message);
        Self { problem, repair: Some((key, Some(value))) }
    }

    fn delete(key: &[u8], message: &str) -> Self {
        let problem = Problem::new(format!("key {}", key::hex(key)), message);
        Self { problem, repair: Some((key.to_vec(), None)) }
    }
}

/// Calls `found` with each difference. A record that cannot be read makes nothing, but keeps the
/// keys that lead to it, so that it is missed by nobody; [`View::each`] reports it.
///
/// [`View::each`]: memkeep_core::embedded::View::each
pub(crate) fn compare<S: Snapshot>(
    keys: &S,
    found: &mut dyn FnMut(Difference) -> Result<()>,
) -> Result<()> {
    let mut comparison = Comparison {
        keys,
        found,
        unreadable: HashSet::new(),
        counts: BTreeMap::new(),
        present: 0,
        wrong: HashSet::new(),
    };
    for kind in RecordKind::ALL {
        by_kind!(kind, Kept => comparison.records::<Kept>())?;
    }
    comparison.secondary()?;
    comparison.counts()?;
    comparison.receipts()
}

struct Comparison<'c, S> {
    keys: &'c S,
    found: &'c mut dyn FnMut(Difference) -> Result<()>,
    unreadable: HashSet<(RecordKind, u64)>,
    counts: BTreeMap<Workspace, Counts>,
    /// How many secondary keys are there as readable records make them.
    present: u64,
    /// Those that are there otherwise.
    wrong: HashSet<Vec<u8>>,
}

impl<S: Snapshot> Comparison<'_, S> {
    /// From the records to what leads to them.
    fn records<R: Row>(&mut self) -> Result<()> {
        let mut last = 0;
        self.keys.walk(Key::of(Table::Record).kind(R::KIND).all(), false, |key, value| {
            // What is no record's key is reported as an unreadable record.
            let Ok(number) = key::record_number(key) else { return Ok(true) };
            last = number;
            match R::open(number, value, number) {
                Ok(row) => self.record(number, &row)?,
                Err(_) => {
                    self.unreadable.insert((R::KIND, number));
                }
            }
            Ok(true)
        })?;
        let key = counter_key::<R>();
        let counter = match self.keys.get(&key)? {
            Some(value) => read_counter::<R>(&key, &value).ok(),
            None => Some(0),
        };
        if counter.is_none_or(|counter| counter < last) {
            let location = format!("counter {}", R::KIND.as_str());
            let message = "it is not above all numbers that were given";
            let value = counter_value(&key, last)?;
            (self.found)(Difference::put(location, message, (key, value)))?;
        }
        Ok(())
    }

    fn record<R: Row>(&mut self, number: u64, row: &R) -> Result<()> {
        *self.counts.entry(row.workspace().clone()).or_default() += row.counts();
        for pair in row.secondary(number) {
            let stored = self.keys.get(&pair.0)?;
            if stored.as_ref() == Some(&pair.1) {
                self.present += 1;
                continue;
            }
            let location = format!("{} {}", R::KIND.as_str(), row.name());
            if stored.is_some() {
                self.wrong.insert(pair.0.clone());
            }
            let other = stored.and_then(|value| key::target(&pair.0, &value).ok());
            let is_taken = match other {
                Some((_, other)) if other != number => self.makes::<R>(other, &pair.0)?,
                _ => false,
            };
            let key = key::hex(&pair.0);
            if is_taken {
                // Nobody can tell whose it is.
                let message = format!("its key {key} is that of another record too");
                let problem = Problem::new(location, message);
                (self.found)(Difference { problem, repair: None })?;
            } else {
                let message = format!("its key {key} is missing or wrong");
                (self.found)(Difference::put(location, &message, pair))?;
            }
        }
        Ok(())
    }

    /// From what leads to records to the records.
    fn secondary(&mut self) -> Result<()> {
        let mut others = 0;
        self.keys.walk(Keys::secondary(), false, |key, value| {
            match key::target(key, value) {
                Ok((kind, number)) if self.unreadable.contains(&(kind, number)) => {
                    // It may be a deleted state slot: nobody can tell, so it counts.
                    if key[0] == Table::Member as u8
                        && let Some((workspace, _)) = key::split_text(&key[2..])
                    {
                        *self.counts.entry(workspace.into()).or_default() += Counts::one(kind);
                    }
                }
                _ => others += 1,
            }
            Ok(true)
        })?;
        // All that records make are there once: if there are no more keys, none is too many.
        if others == self.present {
            return Ok(());
        }
        self.keys.walk(Keys::secondary(), false, |key, value| {
            if self.wrong.contains(key) {
                return Ok(true);
            }
            let Ok((kind, number)) = key::target(key, value) else {
                (self.found)(Difference::delete(key, "it leads to no record"))?;
                return Ok(true);
            };
            let made = self.unreadable.contains(&(kind, number))
                || by_kind!(kind, Kept => self.makes::<Kept>(number, key))?;
            if !made {
                let message = format!("it does not belong to the {} {number}", kind.as_str());
                (self.found)(Difference::delete(key, &message))?;
            }
            Ok(true)
        })
    }

    fn makes<R: Row>(&self, number: u64, key: &[u8]) -> Result<bool> {
        let Some(value) = self.keys.get(&key::record(R::KIND, number))? else { return Ok(false) };
        // One that cannot be read is reported where the records are.
        Ok(R::open(number, &value, number).is_ok_and(|row| row.makes(number, key)))
    }

    fn counts(&mut self) -> Result<()> {
        let mut right = std::mem::take(&mut self.counts);
        right.retain(|_, counts| counts.total() > 0);
        self.keys.walk(Key::of(Table::Count).all(), false, |key, value| {
            let should = counted_workspace(key).ok().and_then(|workspace| right.remove(&workspace));
            match should {
                None => (self.found)(Difference::delete(key, "the workspace holds nothing"))?,
                Some(should) if read_counts(key, value).ok() != Some(should) => {
                    let location = format!("counts {}", key::hex(key));
                    let message = "they are not what the workspace holds";
                    let pair = (key.to_vec(), counts_value(key, &should)?);
                    (self.found)(Difference::put(location, message, pair))?;
                }
                Some(_) => {}
            }
            Ok(true)
        })?;
        for (workspace, should) in right {
            let key = counts_key(&workspace);
            let location = format!("counts {}", key::hex(&key));
            let value = counts_value(&key, &should)?;
            (self.found)(Difference::put(location, "they are missing", (key, value)))?;
        }
        Ok(())
    }

    fn receipts(&mut self) -> Result<()> {
        self.keys.walk(Key::of(Table::Receipt).all(), false, |key, value| {
            match read_receipt(key, value) {
                Ok(receipt) => {
                    let (_, by_time) = receipt_keys(&receipt.key, receipt.at);
                    if self.keys.get(&by_time)? != Some(Vec::new()) {
                        let location = format!("receipt {}", receipt.key);
                        let message = "its key by time is missing or wrong";
                        (self.found)(Difference::put(location, message, (by_time, Vec::new())))?;
                    }
                }
                Err(error) => {
                    let problem = Problem::unreadable(&error);
                    (self.found)(Difference { problem, repair: None })?;
                }
            }
            Ok(true)
        })?;
        self.keys.walk(Key::of(Table::ReceiptTime).all(), false, |key, _| {
            let name = key.get(9..).and_then(|name| std::str::from_utf8(name).ok());
            let belongs = match name.map(|name| self.keys.receipt(name)) {
                Some(Ok(receipt)) => {
                    receipt.is_some_and(|receipt| receipt_keys(&receipt.key, receipt.at).1 == key)
                }
                // It is not known when one that cannot be read was committed.
                Some(Err(error)) if error.kind() == ErrorKind::Corrupt => true,
                Some(Err(error)) => return Err(error),
                None => false,
            };
            if !belongs {
                (self.found)(Difference::delete(key, "it leads to no receipt"))?;
            }
            Ok(true)
        })
    }
}
